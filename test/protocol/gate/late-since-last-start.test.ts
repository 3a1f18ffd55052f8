import { describe, expect, it, test } from "vitest";
import type { Home } from "../../../src/core/home.ts";
import { parseNote } from "../../../src/core/item-keys.ts";
import { pauseTopic, resumeTopic } from "../../../src/protocol/change/pause.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { topicNow } from "../../../src/protocol/gate/known-pauses.ts";
import { parkForLimit } from "../../../src/protocol/gate/park.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { send } from "../../../src/protocol/send/send.ts";
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

test("a limit gives late jobs new starts, and the time before these starts does not count as lateness", async () => {
  const noTicks = (world: World) => world.pass(2 * HOUR, { ticks: false });
  expect(await statesAfter(noTicks)).toEqual(["done", "done", "done"]);
});

test.each<[string, (world: World) => Promise<void>]>([
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
])("the time after the start that a limit gave a job counts as lateness, when %s", async (_, trouble) => {
  expect(await statesAfter(trouble)).toEqual(["cancelled", "cancelled", "cancelled"]);
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
  const [, , id = ""] = await fileMany(world, 3, 30 * SECOND);
  const home = await world.home(id);
  await world.pass(MINUTE);
  await resume(world.ctx, "t", 0.01);
  await world.pass(5 * MINUTE, { ticks: false });
  const sent = await send(world.ctx, [{ ...home, spare: true }]);
  expect(sent.get(home.id)).toEqual({ outcome: "held" });
  expect(await world.home(home.id)).toEqual(home);
});

test("the time that a job lost before a pause does not count as lateness after a resume at a rate", async () => {
  const world = createWorld({ topics: { orders: { ifLate: { after: 3600, do: "skip" } } } });
  const jobs = Array.from({ length: 5 }, () => ({ topic: "orders", body: "{}", dueAt: world.now() }));
  await enqueueMany(world.ctx, jobs);
  await world.pass(2 * HOUR);
  await pauseTopic(world.ctx, "orders");
  await world.pass(MINUTE);
  expect(await consume(world, "orders")).toEqual([]);
  await resume(world.ctx, "orders", 1);
  await world.pass(2 * MINUTE);
  while (world.visible("orders").length > 0) await consume(world, "orders");
  const states = world.pool.items().flatMap((item) => ("dueAt" in item ? [(item as Home).state] : []));
  expect(states).toEqual(jobs.map(() => "done"));
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
  await topicNow(slow, "t");
  await resumeTopic(world.ctx, "t", undefined);
  const outcomes = await send(slow, [home]);
  expect(outcomes.get(home.id)).toEqual({ outcome: "held" });
  expect(await world.home(home.id)).toEqual(home);
  expect(world.pool.items().filter(({ pk }) => pk.startsWith("paused#t#"))).toHaveLength(1);
  await world.tick();
  expect((await consume(world, "t")).map(({ id }) => id)).toEqual([home.id]);
});

test("what an earlier version wrote about a hold and about pauses does not make a job late", async () => {
  const world = punctual();
  const { id } = await world.file({ topic: "t", delay: 5 * MINUTE });
  const home = await world.home(id);
  await pauseTopic(world.ctx, "t");
  const ofHome = { heldFrom: home.dueAt + HOUR, heldUntil: home.dueAt + SECOND, pausedMs: 5 };
  const ofNote = { from: home.dueAt + HOUR, start: home.dueAt };
  const ofPause = { earlier: [{ since: 0, until: 5 }] };
  world.pool.put({ ...home, ...ofHome });
  await world.pass(10 * MINUTE);
  expect(world.pool.items().filter(parseNote)).toHaveLength(1);
  for (const item of world.pool.items()) {
    if (parseNote(item)) world.pool.put({ ...item, ...ofNote });
    if (item.pk === "pause#t") world.pool.put({ ...item, ...ofPause });
  }
  await resume(world.ctx, "t", 1);
  expect(await statesAfterRuns(world, [id], 5 * MINUTE)).toEqual(["done"]);
});

describe("in a topic with a window and `ifLate`, a job", () => {
  const night = (): World =>
    createWorld({ topics: { orders: { window: "09:00-18:00 UTC", ifLate: { after: 7200, do: "skip" } } } });

  it("is late since the opening, if no tick came while the window was closed", async () => {
    const world = night();
    const { id } = await world.file({ delay: 21 * HOUR });
    await world.pass(20 * HOUR);
    await world.pass(4 * HOUR + 10 * MINUTE, { ticks: false });
    await world.pass(2 * MINUTE);
    await consume(world, "orders");
    expect(await world.home(id)).toMatchObject({ state: "done" });
  });

  it("keeps the start that the opening gave it when it is postponed long after that start", async () => {
    const world = night();
    const asked = {
      key: "cart",
      delay: 10 * MINUTE,
      onDuplicate: "postpone" as const,
      maxDelay: 30 * MINUTE,
    };
    await world.pass(9.5 * HOUR);
    const { id } = await world.file(asked);
    await world.pass(14.5 * HOUR);
    const { heldUntil } = await world.home(id);
    await world.pass(90 * SECOND);
    expect(await world.fileAll(asked)).toMatchObject({ outcome: "postponed", home: { id, heldUntil } });
    await world.pass(10 * SECOND);
    await consume(world, "orders");
    expect(await world.home(id)).toMatchObject({ state: "done" });
  });
});
