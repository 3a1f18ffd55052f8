import { expect, test } from "vitest";
import { type Home, homeKey, parseNote } from "../../../core/items.ts";
import { SIZES } from "../../../core/work-sizes.ts";
import { pauseTopic, resumeTopic } from "../../../protocol/change/pause.ts";
import { enqueueMany } from "../../../protocol/file/enqueue.ts";
import { pauseBounds } from "../../../protocol/gate/known-pauses.ts";
import { parkForLimit } from "../../../protocol/gate/park.ts";
import { resume } from "../../../protocol/hand-over/release.ts";
import { tick } from "../../../protocol/hand-over/tick.ts";
import type { Context } from "../../../protocol/ports.ts";
import { send } from "../../../protocol/send/send.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

/** The states of three jobs, due ten seconds apart in a topic that starts one a second. */
async function statesAfter(trouble: (world: World) => Promise<void>): Promise<string[]> {
  const world = createWorld({
    topics: { t: { maxPerSecond: 1, ifLate: { after: 60, do: "skip" } } },
    shards: 1,
  });
  await world.tick();
  await world.pass(20 * SECOND);
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await world.file({ topic: "t", delay: (300 + i * 10) * SECOND })).id);
  await trouble(world);
  return statesAfterRuns(world, ids, 30 * MINUTE);
}

/** Runs consumers for `ms`. Answers the states of these jobs. */
async function statesAfterRuns(world: World, ids: readonly string[], ms: number): Promise<string[]> {
  for (const end = world.now() + ms; world.now() < end; ) {
    await world.pass(SECOND);
    await consume(world, "t");
  }
  return Promise.all(ids.map(async (id) => (await world.home(id)).state));
}

test.each<[string, (world: World) => Promise<void>]>([
  ["no tick has come", (world) => world.pass(2 * HOUR, { ticks: false })],
  [
    "its queue accepted nothing",
    async (world) => {
      world.queues.trouble({ topic: "t" }, "failing");
      await world.pass(HOUR);
      world.queues.trouble({ topic: "t" }, undefined);
    },
  ],
  ["nobody consumed, and the audit sent it again", (world) => world.pass(1080 * SECOND)],
  [
    "it was paused for an hour, and nobody consumed after that",
    async (world) => {
      await world.pass(MINUTE);
      await pauseTopic(world.ctx, "t");
      await world.pass(HOUR);
      await resume(world.ctx, "t", undefined);
      await world.pass(40 * MINUTE);
    },
  ],
])(
  "the time that a job of a limited topic lost before its start counts as lateness, when %s",
  async (_, trouble) => {
    expect(await statesAfter(trouble)).toEqual(["cancelled", "cancelled", "cancelled"]);
  },
);

test("the late note of a slow writer makes a job that waited for its limit no later", async () => {
  const world = createWorld({ topics: { t: { maxPerSecond: 1 } }, shards: 1 });
  await world.tick();
  const jobs = [];
  for (let i = 0; i < 200; i++) jobs.push(await world.file({ topic: "t", delay: MINUTE }));
  await world.pass(2 * MINUTE);
  const parked = await Promise.all(jobs.map(({ id }) => world.home(id)));
  const stale = parked.findLast(({ heldUntil }) => heldUntil === undefined);
  if (!stale) throw new Error("no job waits");
  // By now the job has its start, but the slow writer read the home before that.
  await world.pass(5 * MINUTE);
  const { heldUntil = 0 } = await world.home(stale.id);
  await parkForLimit(world.ctx, "t", [stale], world.now() + MINUTE);
  await world.pass(MINUTE);
  // No consumer works, so the job has lost only the time since its start.
  expect(await world.home(stale.id)).toMatchObject({ heldFrom: stale.dueAt + (world.now() - heldUntil) });
});

test("a sender that was frozen for an hour gives no start to a job that others have parked", async () => {
  const world = createWorld({
    topics: { t: { maxPerSecond: 1, ifLate: { after: 600, do: "skip" } } },
    shards: 1,
  });
  await world.tick();
  const jobs = [];
  for (let i = 0; i < 200; i++) jobs.push(await world.file({ topic: "t", delay: MINUTE }));
  await world.pass(2 * MINUTE);
  const homes = await Promise.all(jobs.map(({ id }) => world.home(id)));
  const parked = homes.findLast(({ heldUntil }) => heldUntil === undefined);
  if (!parked) throw new Error("no job waits");
  const pool = Object.create(world.pool);
  pool.read = async (keys: Parameters<typeof world.pool.read>[0]) => {
    delete pool.read;
    await world.pass(HOUR, { ticks: false });
    return world.pool.read(keys);
  };
  const sent = await send({ ...world.ctx, pool }, [parked]);
  expect(sent.get(parked.id)).toMatchObject({
    outcome: "failing",
    reason: expect.stringMatching(/too long ago/),
  });
  const [state] = await statesAfterRuns(world, [parked.id], 30 * MINUTE);
  expect(state).toBe("done");
});

test("the time of a pause does not count as lateness of the first jobs that a topic parks for its limit", async () => {
  const world = createWorld({
    topics: { t: { maxPerSecond: 1, ifLate: { after: 1800, do: "skip" } } },
    shards: 1,
  });
  await world.tick();
  await world.pass(20 * SECOND);
  const ids: string[] = [];
  for (let i = 0; i < 100; i++) ids.push((await world.file({ topic: "t", delay: 30 * MINUTE })).id);
  await world.pass(20 * MINUTE, { ticks: false });
  await pauseTopic(world.ctx, "t");
  await world.pass(65 * MINUTE, { ticks: false });
  await resume(world.ctx, "t", undefined);
  // No tick comes until the resume is over. The first tick parks the jobs to which it gives no start.
  await world.pass(15 * MINUTE, { ticks: false });
  const states = await statesAfterRuns(world, ids, 5 * MINUTE);
  expect(states.filter((state) => state !== "done")).toEqual([]);
});

test("the time after a release died before it sent a job, and no tick came for an hour, counts as lateness", async () => {
  const world = createWorld({
    topics: { t: { maxPerSecond: 1, ifLate: { after: 60, do: "skip" } } },
    shards: 1,
  });
  await world.tick();
  const ids: string[] = [];
  for (let i = 0; i < 200; i++) ids.push((await world.file({ topic: "t", delay: 3 * MINUTE })).id);
  await world.pass(4 * MINUTE - SECOND);
  const process: Context = { ...world.ctx, pool: Object.create(world.pool) };
  const dead = Promise.withResolvers<void>();
  world.queues.hooks.before = ({ operation }) =>
    operation === "send" ? new Promise(() => dead.resolve()) : undefined;
  await world.pass(SECOND, { ticks: false });
  void tick(process, world.now() + MINUTE);
  await dead.promise;
  delete world.queues.hooks.before;
  const homes = await Promise.all(ids.map((id) => world.home(id)));
  const started = homes.filter(({ heldUntil = 0 }) => heldUntil > world.now()).map(({ id }) => id);
  expect(started).not.toEqual([]);
  await world.pass(HOUR, { ticks: false });
  const states = await statesAfterRuns(world, started, 5 * MINUTE);
  expect(new Set(states)).toEqual(new Set(["cancelled"]));
});

test("for a job that was parked twice, the time since then does not count as lateness, whichever note a release reads first", async () => {
  const topics = { t: { maxPerSecond: 1, ifLate: { after: 600, do: "skip" } } } as const;
  const world = createWorld({ topics, shards: 1 }, { ...SIZES, released: 1 });
  await world.tick();
  const home = await world.file({ topic: "t" });
  // The first note stayed because its release died. The second note has the start that this release gave.
  await parkForLimit(world.ctx, "t", [home], world.now() + MINUTE);
  const moved = { revision: 1, heldFrom: home.dueAt, heldUntil: home.dueAt + SECOND };
  await world.pool.change({ key: homeKey(home.id), expect: {}, set: moved }, Number.POSITIVE_INFINITY);
  await world.pass(2 * SECOND, { ticks: false });
  await parkForLimit(world.ctx, "t", [{ ...home, ...moved }], world.now() + MINUTE);
  await world.pass(HOUR, { ticks: false });
  expect(await statesAfterRuns(world, [home.id], 30 * MINUTE)).toEqual(["done"]);
});

test("a parked job whose message is left by a dead consumer gets its start only from a release", async () => {
  const topics = { t: { maxPerSecond: 1, ifLate: { after: 60, do: "skip" } } } as const;
  const world = createWorld({ topics, shards: 1 });
  await world.tick();
  const { id } = await world.file({ topic: "t", delay: 0 });
  await pauseTopic(world.ctx, "t");
  await parkForLimit(world.ctx, "t", [await world.home(id)], world.now() + MINUTE);
  await world.pass(5 * MINUTE, { ticks: false });
  await resumeTopic(world.ctx, "t", undefined);
  await world.pass(4 * MINUTE, { ticks: false });
  expect(await consume(world, "t")).toEqual([]);
  expect(await statesAfterRuns(world, [id], 10 * MINUTE)).toEqual(["done"]);
});

test("a parked job whose spare message is sent outside of its window waits for its release", async () => {
  const world = punctual(60, { window: "09:00-09:05 UTC" });
  await pauseTopic(world.ctx, "t");
  const [, , id = ""] = await fileMany(world, 3, 2 * MINUTE);
  const home = await world.home(id);
  await world.pass(MINUTE);
  await resume(world.ctx, "t", 0.01);
  await world.pass(5 * MINUTE, { ticks: false });
  const sent = await send(world.ctx, [{ ...home, spare: true }]);
  expect(sent.get(home.id)).toEqual({ outcome: "held" });
  // The window opens on the next day.
  await world.pass(24 * HOUR);
  // The pause and the window have held the job all the time.
  expect(await world.home(home.id)).toMatchObject({ heldFrom: home.dueAt });
});

test("the time that a job lost before a pause counts as lateness after a resume at a rate, too", async () => {
  const world = createWorld({ topics: { orders: { ifLate: { after: 3600, do: "skip" } } } });
  const jobs = Array.from({ length: 5 }, () => ({ topic: "orders", body: "{}", dueAt: world.now() }));
  await enqueueMany(world.ctx, jobs);
  await world.pass(2 * HOUR);
  await pauseTopic(world.ctx, "orders");
  await world.pass(MINUTE);
  expect(await consume(world, "orders")).toEqual([]);
  await resume(world.ctx, "orders", 1);
  await world.pass(2 * MINUTE);
  while (world.visible("orders").length > 0) expect(await consume(world, "orders")).toEqual([]);
  const states = world.pool.items().flatMap((item) => ("dueAt" in item ? [(item as Home).state] : []));
  expect(states).toEqual(jobs.map(() => "cancelled"));
});

/** A world with a topic whose jobs may be `after` seconds late. */
const punctual = (after = 60, more: object = {}): World =>
  createWorld({ topics: { t: { ifLate: { after, do: "skip" }, ...more } }, shards: 1 });

const fileMany = async (world: World, count: number, delay: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await world.file({ topic: "t", delay })).id);
  return ids;
};

test("the wait for the rate of a resume does not count as lateness", async () => {
  const world = punctual();
  await pauseTopic(world.ctx, "t");
  const ids = await fileMany(world, 20, 5 * MINUTE);
  await world.pass(10 * MINUTE);
  await resume(world.ctx, "t", 0.02);
  expect(new Set(await statesAfterRuns(world, ids, 20 * MINUTE))).toEqual(new Set(["done"]));
});

test("the wait for a resume's rate is no lateness of jobs that SQS had before and that come two minutes after the resume", async () => {
  const world = punctual();
  const ids = await fileMany(world, 20, 5 * MINUTE);
  await world.pass(4 * MINUTE);
  await pauseTopic(world.ctx, "t");
  await world.pass(3 * MINUTE);
  await resume(world.ctx, "t", 0.02);
  await world.pass(2 * MINUTE);
  expect(new Set(await statesAfterRuns(world, ids, 25 * MINUTE))).toEqual(new Set(["done"]));
});

test("the wait of parked jobs for a tick after the resume does not count as lateness", async () => {
  const world = punctual(5);
  await pauseTopic(world.ctx, "t");
  const ids = await fileMany(world, 20, 5 * MINUTE);
  await world.pass(10 * MINUTE + 10 * SECOND);
  // The process that resumes dies before it releases any of them.
  await resumeTopic(world.ctx, "t", undefined);
  expect(new Set(await statesAfterRuns(world, ids, 5 * MINUTE))).toEqual(new Set(["done"]));
});

test("a pause during the wait for a limit does not count as lateness", async () => {
  const world = punctual(60, { maxPerSecond: 1 });
  await world.tick();
  const ids = await fileMany(world, 900, 5 * MINUTE);
  await statesAfterRuns(world, ids, 10 * MINUTE);
  await pauseTopic(world.ctx, "t");
  await world.pass(MINUTE);
  await resume(world.ctx, "t", undefined);
  expect(new Set(await statesAfterRuns(world, ids, 15 * MINUTE))).toEqual(new Set(["done"]));
});

test("the time between the end of a pause and the next pause counts as lateness", async () => {
  const world = punctual();
  const ids = await fileMany(world, 3, 5 * MINUTE);
  await world.pass(4 * MINUTE);
  await pauseTopic(world.ctx, "t");
  await world.pass(10 * MINUTE);
  await resume(world.ctx, "t", undefined);
  // No consumer works.
  await world.pass(5 * MINUTE);
  await pauseTopic(world.ctx, "t");
  await world.pass(MINUTE);
  await resume(world.ctx, "t", undefined);
  expect(new Set(await statesAfterRuns(world, ids, 5 * MINUTE))).toEqual(new Set(["cancelled"]));
});

test("jobs that were parked for their limit when they were filed wait for a release, even if a sweep comes late", async () => {
  const world = punctual(60, { maxPerSecond: 1 });
  await world.tick();
  // No sweep reads the jobs' minutes before the jobs are due. Some jobs get starts when they are filed.
  await world.pass(20 * MINUTE, { ticks: false });
  await enqueueMany(
    world.ctx,
    Array.from({ length: 300 }, () => ({ topic: "t", body: "{}", dueAt: world.now() + MINUTE })),
  );
  const parked = world.pool.items().flatMap((item) => parseNote(item)?.id ?? []);
  expect(parked.length).toBeGreaterThan(100);
  await world.pass(8 * MINUTE, { ticks: false });
  const states = await statesAfterRuns(world, parked, 30 * MINUTE);
  expect(new Set(states)).toEqual(new Set(["done"]));
});

test("a resume at a rate delays no job while ticks are missing", async () => {
  const world = punctual();
  await world.tick();
  await pauseTopic(world.ctx, "t");
  const ids = await fileMany(world, 3, 20 * MINUTE);
  await world.pass(30 * MINUTE, { ticks: false });
  await resume(world.ctx, "t", 1);
  await world.pass(3 * HOUR, { ticks: false });
  expect(new Set(await statesAfterRuns(world, ids, 5 * MINUTE))).toEqual(new Set(["cancelled"]));
});

test("a process that learns of a resume only when it parks a job again leaves the job to the release", async () => {
  const world = createWorld({ topics: { t: { window: "08:00-09:30 UTC" } }, shards: 1 });
  await world.tick();
  const home = await world.file({ topic: "t", delay: 10 * MINUTE });
  await pauseTopic(world.ctx, "t");
  await world.pass(25 * MINUTE);
  // Another process has just read that the topic is paused.
  const slow: Context = { ...world.ctx, pool: Object.create(world.pool) };
  await pauseBounds(slow, ["t"]);
  await resumeTopic(world.ctx, "t", undefined);
  const outcomes = await send(slow, [home]);
  expect(outcomes.get(home.id)).toEqual({ outcome: "held" });
  expect(await world.home(home.id)).toEqual(home);
  expect(world.pool.items().filter(({ pk }) => pk.startsWith("paused#t#"))).toHaveLength(1);
  await world.tick();
  expect((await consume(world, "t")).map(({ id }) => id)).toEqual([home.id]);
});
