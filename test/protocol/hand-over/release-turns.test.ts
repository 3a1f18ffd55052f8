import { expect, test } from "vitest";
import { STARTS_AHEAD } from "../../../src/core/constants.ts";
import { pauseKey } from "../../../src/core/item-keys.ts";
import { pauseTopic, resumeTopic } from "../../../src/protocol/change/pause.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Context, Pool } from "../../../src/protocol/ports.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

const FUNCTION_TIMEOUT = 180 * SECOND;
/** How long the client waits for a call that hangs, with all its tries. */
const HANGS = 15 * SECOND;

/**
 * Runs a tick in which each change and read of the pool, and each call to Lambda, takes so many ms. After their turns, the pauses of
 * `silent` topics cannot be read again. Answers how long the tick took, how many jobs it released for each topic, and when it released
 * each topic's first ones.
 */
async function slowTick(
  world: World,
  { pool: poolTakes = 0, reads = 0, lambda = 0, silent = [] as readonly string[] },
) {
  let lost = 0;
  const clock = (): number => world.now() + lost;
  // Calls at the same time overlap, so only the longest counts.
  const takes = async (ms: number): Promise<void> => {
    const until = lost + ms;
    await new Promise(setImmediate);
    lost = Math.max(lost, until);
  };
  const changeMany: Pool["changeMany"] = async (...asked) => {
    await takes(poolTakes);
    return world.pool.changeMany(...asked);
  };
  const read: Pool["read"] = async (...asked) => {
    if (reads > 0) await takes(reads);
    const [keys] = asked;
    if (keys.length === 1 && silent.some((topic) => keys[0]?.pk === pauseKey(topic).pk))
      throw new Error("no answer");
    return world.pool.read(...asked);
  };
  const enable = async (): Promise<void> => {
    await takes(lambda);
    throw new Error("TimeoutError");
  };
  const { released, servedAt, report } = watchReleases(clock);
  const pool = { ...world.pool, changeMany, read };
  await tick(
    { ...world.ctx, clock, report, pool, eventSources: { enable } },
    clock() + FUNCTION_TIMEOUT - 20 * SECOND,
  );
  return { took: lost, released, servedAt };
}

/** Counts by topic how many jobs were released, and notes when its first ones were. */
function watchReleases(clock: () => number) {
  const released = new Map<string, number>();
  const servedAt = new Map<string, number>();
  const report: Context["report"] = (event) => {
    if (event.type !== "released") return;
    const { topic, jobs } = event;
    if (!released.has(topic)) servedAt.set(topic, clock());
    released.set(topic, (released.get(topic) ?? 0) + jobs);
  };
  return { released, servedAt, report };
}

const fileMany = (world: World, topic: string, count: number, more: object = {}) =>
  enqueueMany(
    world.ctx,
    Array.from({ length: count }, () => ({ topic, body: "{}", dueAt: world.now(), ...more })),
  );

test("a limited topic's jobs start even if resumed topics have more jobs than a tick has time for", async () => {
  const world = createWorld({ shards: 1, topics: { first: {}, second: {}, slow: { maxPerSecond: 2 } } });
  await world.tick();
  for (const topic of ["first", "second"]) {
    await pauseTopic(world.ctx, topic);
    for (let i = 0; i < 2; i++) await fileMany(world, topic, 500);
  }
  await fileMany(world, "slow", 400);
  for (const topic of ["first", "second"]) await resumeTopic(world.ctx, topic, undefined);
  await world.pass(MINUTE, { ticks: false });
  const { took, released } = await slowTick(world, { pool: 8 * SECOND });
  expect(took).toBeLessThan(FUNCTION_TIMEOUT);
  for (const topic of ["first", "second"]) expect(released.get(topic) ?? 1000).toBeLessThan(1000);
  expect(released.get("slow") ?? 0).toBeGreaterThan(50);
});

test("limited topics' jobs start though the pauses of two other topics cannot be read again after their turns", async () => {
  const names = ["a", "b", "c", "d"];
  const topics = Object.fromEntries(names.map((name) => [name, { maxPerSecond: 1 }]));
  const world = createWorld({ shards: 1, topics });
  for (const name of names) await fileMany(world, name, 400);
  await world.pass(2 * MINUTE, { ticks: false });
  for (const silent of [
    ["a", "b"],
    ["c", "d"],
  ]) {
    const { released } = await slowTick(world, { reads: SECOND, silent });
    for (const name of names.filter((one) => !silent.includes(one)))
      expect(released.get(name)).toBeGreaterThan(0);
    await world.pass(MINUTE, { ticks: false });
  }
});

test("a limited topic's jobs start though thousands before them have expired", async () => {
  const world = createWorld({ shards: 1, topics: { slow: { maxPerSecond: 2 } } });
  await world.tick();
  for (let i = 0; i < 6; i++) await fileMany(world, "slow", 500, { expiresAfter: 10 * SECOND });
  await world.pass(MINUTE, { ticks: false });
  await fileMany(world, "slow", 400);
  const { released } = await slowTick(world, { reads: SECOND / 10 });
  expect(released.get("slow")).toBeGreaterThan(60);
});

test("a limited topic's jobs start even if Lambda hangs when ticks report many topics' pauses to it", async () => {
  const paused = Array.from({ length: 60 }, (_, i) => `paused-${i}`);
  const topics = { ...Object.fromEntries(paused.map((topic) => [topic, {}])), slow: { maxPerSecond: 2 } };
  const world = createWorld({ shards: 1, topics });
  await world.tick();
  for (const topic of paused) await pauseTopic(world.ctx, topic);
  await fileMany(world, "slow", 400);
  await world.pass(MINUTE, { ticks: false });
  const { took, released } = await slowTick(world, { lambda: HANGS });
  expect(released.get("slow") ?? 0).toBeGreaterThan(20);
  expect(took).toBeLessThan(FUNCTION_TIMEOUT);
});

test("each topic gets its turn before its starts are used up, however many topics have limits and are busy", async () => {
  const names = Array.from({ length: 21 }, (_, i) => `busy-${i}`);
  const topics = Object.fromEntries(names.map((topic) => [topic, { maxPerSecond: 1 }]));
  const world = createWorld({ shards: 1, topics });
  await world.tick();
  for (const topic of names) for (let i = 0; i < 2; i++) await fileMany(world, topic, 300);
  let before: Map<string, number> | undefined;
  for (let minute = 0; minute < 8; minute++) {
    await world.pass(MINUTE, { ticks: false });
    const { took, servedAt } = await slowTick(world, { reads: 150 });
    expect(took).toBeGreaterThan(STARTS_AHEAD - MINUTE);
    for (const topic of names) {
      const at = servedAt.get(topic) ?? Number.POSITIVE_INFINITY;
      expect(at - (before?.get(topic) ?? at)).toBeLessThan(STARTS_AHEAD);
    }
    before = servedAt;
  }
});

test("a shard whose notes cannot be read does not delay other shards' jobs", async () => {
  const world = createWorld({ shards: 2, topics: { slow: { maxPerSecond: 5 } } });
  await world.tick();
  for (let i = 0; i < 3; i++) await fileMany(world, "slow", 500);
  await world.pass(MINUTE, { ticks: false });
  world.events.length = 0;
  const page: Pool["page"] = async (pk, ...asked) => {
    if (pk === "paused#slow#1") throw new Error("DynamoDB did not answer a read");
    return world.pool.page(pk, ...asked);
  };
  await tick({ ...world.ctx, pool: { ...world.pool, page } }, world.now() + FUNCTION_TIMEOUT);
  const released = world.events.reduce((sum, event) => sum + (event.type === "released" ? event.jobs : 0), 0);
  expect(released).toBeGreaterThan(5 * 55);
  expect(world.events).toContainEqual(expect.objectContaining({ what: "reading the notes of parked jobs" }));
});

test("jobs whose homes cannot be written do not delay other jobs", async () => {
  const world = createWorld({ shards: 2, topics: { slow: { maxPerSecond: 5 } } });
  await world.tick();
  // Their homes are in the bucket of the minute in which they are due.
  await fileMany(world, "slow", 500);
  const minute = "T09:00#";
  await world.pass(MINUTE, { ticks: false });
  for (let i = 0; i < 2; i++) await fileMany(world, "slow", 500);
  await world.pass(MINUTE, { ticks: false });
  world.events.length = 0;
  let lost = 0;
  const changeMany: Pool["changeMany"] = async (changes, by) => {
    const isSick = changes.map(({ key }) => key.pk.includes(minute));
    const well = await world.pool.changeMany(
      changes.filter((_, i) => !isSick[i]),
      by,
    );
    // A write without an answer is tried again until its deadline.
    if (isSick.includes(true)) lost = Math.max(lost, by - world.now());
    return isSick.map((sick) => (sick ? new Error("throttled") : (well.shift() ?? new Error("no answer"))));
  };
  const ctx = { ...world.ctx, clock: () => world.now() + lost, pool: { ...world.pool, changeMany } };
  await tick(ctx, world.now() + FUNCTION_TIMEOUT);
  const released = world.events.reduce((sum, event) => sum + (event.type === "released" ? event.jobs : 0), 0);
  expect(released).toBeGreaterThan(5 * 45);
});

test("jobs that are due after a resume at a rate do not wait for the jobs of the pause", async () => {
  const world = createWorld({ shards: 1, topics: { t: {} } });
  const resumeIn = 30 * MINUTE;
  for (let i = 0; i < 100; i++) await world.file({ topic: "t", delay: 5 * MINUTE });
  // The sweep parks this job ahead of its time, while the topic is still paused.
  const later = await world.file({ topic: "t", delay: resumeIn + 100 * SECOND });
  await pauseTopic(world.ctx, "t");
  await world.pass(resumeIn);
  await resume(world.ctx, "t", 0.5);
  const ids: string[] = [];
  while (world.now() < later.dueAt + 2 * SECOND) {
    await world.pass(SECOND);
    ids.push(...(await consume(world, "t")).map(({ id }) => id));
  }
  expect(ids).toContain(later.id);
  expect(ids.length).toBeLessThan(60);
});

test.each([undefined, 0.5])(
  "jobs whose messages SQS refuses in a resume get other starts from the next tick (rate: %s)",
  async (rate) => {
    const topics = { t: { ifLate: { after: 20, do: "skip" } }, other: {} } as const;
    const world = createWorld({ shards: 1, topics });
    const count = 60;
    for (let i = 0; i < count; i++) await world.file({ topic: "t", delay: 5 * MINUTE });
    await pauseTopic(world.ctx, "t");
    await world.pass(20 * MINUTE + 5 * SECOND);
    world.queues.trouble({ topic: "t" }, "failing");
    await resume(world.ctx, "t", rate);
    world.queues.trouble({ topic: "t" }, undefined);
    const runs = new Map<number, number>();
    for (const end = world.now() + 10 * MINUTE; world.now() < end; ) {
      await world.pass(SECOND);
      for (let some = await consume(world, "t"); some.length > 0; some = await consume(world, "t"))
        runs.set(world.now(), (runs.get(world.now()) ?? 0) + some.length);
    }
    expect([...runs.values()].reduce((sum, some) => sum + some, 0)).toBe(count);
    if (rate !== undefined) expect(Math.max(...runs.values())).toBe(1);
  },
);
