import { expect, test } from "vitest";
import { enqueueMany } from "../../protocol/enqueue.ts";
import { lift, pause } from "../../protocol/pause.ts";
import type { Pool } from "../../protocol/ports.ts";
import { tick } from "../../protocol/tick.ts";
import { createWorld, MINUTE, SECOND, type World } from "./world.ts";

const FUNCTION_TIMEOUT = 180 * SECOND;
/** How long the client waits for a call that hangs, with all its tries. */
const HANGS = 15 * SECOND;

/** A tick whose changes and reads of the pool, and whose calls to Lambda, take so long. Answers how long it took, and how many jobs each topic let go. */
async function slowTick(world: World, { pool: poolTakes = 0, reads = 0, lambda = 0 }) {
  let lost = 0;
  const clock = (): number => world.now() + lost;
  // Calls at once overlap.
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
    return world.pool.read(...asked);
  };
  const enable = async (): Promise<void> => {
    await takes(lambda);
    throw new Error("TimeoutError");
  };
  world.events.length = 0;
  const ctx = { ...world.ctx, clock, pool: { ...world.pool, changeMany, read }, eventSources: { enable } };
  await tick(ctx, clock() + FUNCTION_TIMEOUT - 20 * SECOND);
  const released = new Map<string, number>();
  for (const event of world.events)
    if (event.type === "released") released.set(event.topic, (released.get(event.topic) ?? 0) + event.jobs);
  return { took: lost, released };
}

const fileMany = (world: World, topic: string, count: number, more: object = {}) =>
  enqueueMany(
    world.ctx,
    Array.from({ length: count }, () => ({ topic, body: "{}", dueAt: world.now(), ...more })),
  );

test("a limited topic's jobs start though others that are resumed have more jobs than a tick has time for", async () => {
  const world = createWorld({ shards: 1, topics: { first: {}, second: {}, slow: { maxPerSecond: 2 } } });
  await world.tick();
  for (const topic of ["first", "second"]) {
    await pause(world.ctx, topic);
    for (let i = 0; i < 2; i++) await fileMany(world, topic, 500);
  }
  await fileMany(world, "slow", 400);
  for (const topic of ["first", "second"]) await lift(world.ctx, topic, undefined);
  await world.pass(MINUTE, { ticks: false });
  const { took, released } = await slowTick(world, { pool: 8 * SECOND });
  expect(took).toBeLessThan(FUNCTION_TIMEOUT);
  for (const topic of ["first", "second"]) expect(released.get(topic) ?? 1000).toBeLessThan(1000);
  expect(released.get("slow") ?? 0).toBeGreaterThan(50);
});

test("a limited topic's jobs start though thousands before them have expired", async () => {
  const world = createWorld({ shards: 1, topics: { slow: { maxPerSecond: 2 } } });
  await world.tick();
  for (let i = 0; i < 6; i++) await fileMany(world, "slow", 500, { expiresAfter: 10 * SECOND });
  await world.pass(MINUTE, { ticks: false });
  await fileMany(world, "slow", 400);
  const { released } = await slowTick(world, { reads: SECOND / 10 });
  expect(released.get("slow")).toBeGreaterThan(100);
});

test("a limited topic's jobs start though Lambda hangs when it is told of many topics' pauses", async () => {
  const paused = Array.from({ length: 60 }, (_, i) => `paused-${i}`);
  const topics = { ...Object.fromEntries(paused.map((topic) => [topic, {}])), slow: { maxPerSecond: 2 } };
  const world = createWorld({ shards: 1, topics });
  await world.tick();
  for (const topic of paused) await pause(world.ctx, topic);
  await fileMany(world, "slow", 400);
  await world.pass(MINUTE, { ticks: false });
  const { took, released } = await slowTick(world, { lambda: HANGS });
  expect(released.get("slow") ?? 0).toBeGreaterThan(20);
  expect(took).toBeLessThan(FUNCTION_TIMEOUT);
});

test("a tick lets jobs go until shortly before the next one, which would send untracked ones again", async () => {
  const world = createWorld({ shards: 1, topics: { events: { tracking: "none" } } });
  await world.tick();
  await pause(world.ctx, "events");
  for (let i = 0; i < 2; i++) await fileMany(world, "events", 500);
  await lift(world.ctx, "events", undefined);
  await world.pass(MINUTE, { ticks: false });
  const { took, released } = await slowTick(world, { pool: 3 * SECOND });
  expect(released.get("events") ?? 0).toBeGreaterThan(100);
  expect(took).toBeLessThan(MINUTE + 5 * SECOND);
});
