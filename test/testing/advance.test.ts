import { expect, test } from "vitest";
import { playUntil } from "../../src/testing/advance.ts";
import { memoryNotices } from "../../src/testing/notices.ts";
import { createWorld, HOUR, MINUTE, START, type World } from "../support/world.ts";

const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Plays a year of a queue whose messages nobody takes. Answers the times of its ticks, from the start, and how many pages they read. */
async function playYear(prepare: (world: World) => Promise<unknown>) {
  const world = createWorld({ shards: 1 });
  const clock = { time: START, lastTick: START };
  const now = (): number => clock.time;
  const ticks = new Set<number>();
  const ctx = { ...world.ctx, clock: now };
  ctx.report = (event) => void (event.type === "swept" && ticks.add(now() - START));
  await prepare(world);
  let pages = 0;
  world.pool.hooks.before = ({ operation }) => {
    if (operation === "page") pages += 1;
  };
  const consumer = { runs: [], consumed: [], deliver: async () => {} };
  const { pool, queues, schedules } = world;
  const played = {
    ctx,
    clock,
    pool,
    queues,
    schedules,
    ...consumer,
    notices: memoryNotices(ctx, "world"),
    apply: async () => {},
    idle: new Set<string>(),
    starts: new Map(),
  };
  await playUntil(played, START + YEAR);
  return { world, ticks: [...ticks], pages };
}

test("a year without jobs takes one tick, which reads a few minutes", async () => {
  const { ticks, pages } = await playYear(async () => {});
  expect(ticks).toEqual([YEAR]);
  expect(pages).toBeLessThan(20);
});

test.each([0, 12_345, 5 * MINUTE + 1, 200 * DAY])(
  "a year with one job, %i ms ahead, takes a few ticks: each sweeps or audits the job's minute, or is the last",
  async (delay) => {
    const { ticks, pages } = await playYear((world) => world.file({ delay, topic: "events" }));
    const minute = delay - (delay % MINUTE);
    expect(ticks.length).toBeLessThan(5);
    expect(ticks.filter((time) => time >= minute + 30 * MINUTE)).toEqual([YEAR]);
    expect(pages).toBeLessThan(100);
  },
);

test("a job in the first minute after a year of empty minutes is handed over", async () => {
  const { world } = await playYear((world) => world.file({ delay: YEAR + 2 * MINUTE }));
  expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
});
