import { describe, expect, test } from "vitest";
import { COUNT_PART } from "../../../src/core/constants.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { type Forecast, type ForecastRequest, forecast } from "../../../src/protocol/read/forecast.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const FEW = { ...SIZES, page: 20, countEntries: 100 };
const minute = { from: START + HOUR, to: START + HOUR + MINUTE };
const range = { from: START, to: START + 2 * HOUR };

/** Files jobs that are due `apart` ms after one another, from an hour from now on. */
async function flood(world: World, count: number, apart: number, topic = "orders"): Promise<void> {
  const jobs = Array.from({ length: count }, (_, i) => ({
    topic,
    body: "{}",
    dueAt: START + HOUR + i * apart,
  }));
  await enqueueMany(world.ctx, jobs);
}

async function callsFor(world: World, request: ForecastRequest): Promise<Forecast[]> {
  const calls: Forecast[] = [];
  for (let cursor = request.cursor; calls.length === 0 || cursor !== undefined; ) {
    const call = await forecast(world.ctx, { ...request, ...(cursor === undefined ? {} : { cursor }) });
    calls.push(call);
    cursor = call.cursor;
  }
  return calls;
}

const sumOf = ({ minutes }: Forecast) => minutes.reduce((sum, { count }) => sum + count, 0);

describe("a forecast of a minute with very many jobs", () => {
  test.each([1, 7, 0])("is made in calls of bounded work, if the jobs are due %i ms apart", async (apart) => {
    const world = createWorld({}, FEW);
    await flood(world, 1000, apart);
    let pages = 0;
    let most = 0;
    world.pool.hooks.before = ({ operation }) => {
      if (operation === "page") pages += 1;
    };
    const calls: Forecast[] = [];
    for (let cursor: Forecast["cursor"]; calls.length === 0 || cursor !== undefined; ) {
      const before = pages;
      const call = await forecast(world.ctx, { ...minute, ...(cursor && { cursor }) });
      calls.push(call);
      most = Math.max(most, pages - before);
      cursor = call.cursor;
    }
    expect(calls.map(sumOf).reduce((sum, count) => sum + count)).toBe(1000);
    expect(Math.max(...calls.map(sumOf))).toBeLessThanOrEqual(FEW.countEntries + 2 * FEW.page);
    expect(most).toBeLessThanOrEqual((world.ctx.policy.shards * FEW.countEntries) / FEW.page);
  });

  test("ends a call after about a second, however few jobs it has read", async () => {
    const world = createWorld({}, { ...FEW, countEntries: SIZES.countEntries });
    await flood(world, 400, 1);
    let slow = 0;
    world.pool.hooks.before = ({ operation }) => {
      if (operation === "page") slow += COUNT_PART / 4;
    };
    const ctx = { ...world.ctx, clock: () => START + slow };
    const first = await forecast(ctx, { ...range, from: START + HOUR });
    expect(sumOf(first)).toBeGreaterThan(0);
    expect(sumOf(first)).toBeLessThan(400);
    expect(first.cursor).toBeDefined();
  });

  test("counts a job once, also if it was moved within the range", async () => {
    const world = createWorld({}, FEW);
    await flood(world, 300, 1);
    const moved = await world.file({ delay: HOUR + 5 });
    for (const to of [START + HOUR + 150, START + HOUR + 299, START + HOUR + 20])
      await reschedule(world.ctx, moved.id, { dueAt: to });
    const calls = await callsFor(world, range);
    expect(calls.length).toBeGreaterThan(2);
    expect(calls.map(sumOf).reduce((sum, count) => sum + count)).toBe(301);
  });

  test("ends its calls between two milliseconds, so that a caller without cursors counts the same", async () => {
    const world = createWorld({}, FEW);
    await flood(world, 1000, 1);
    await flood(world, 1000, 1, "work");
    let sum = 0;
    for (let from: number | undefined = START + HOUR; from !== undefined; ) {
      const { cursor, ...call } = await forecast(world.ctx, { from, to: START + HOUR + MINUTE });
      sum += sumOf(call);
      const next = cursor === undefined ? undefined : Number(cursor);
      // Otherwise this test would not end.
      if (next !== undefined) expect(next).toBeGreaterThan(from);
      from = next;
    }
    expect(sum).toBe(2000);
  });
});

describe("with a step, a forecast counts by topic, state and step of time", () => {
  test("also what has run, runs, or was cancelled", async () => {
    const world = createWorld();
    await world.file({ delay: 10 * SECOND });
    await world.file({ delay: 70 * SECOND });
    await world.file({ topic: "work", delay: 75 * SECOND });
    const { counts } = await forecast(world.ctx, { ...range, step: 60 * SECOND });
    expect(counts).toEqual([
      { from: START, topic: "orders", state: "scheduled", count: 1 },
      { from: START + MINUTE, topic: "orders", state: "scheduled", count: 1 },
      { from: START + MINUTE, topic: "work", state: "scheduled", count: 1 },
    ]);
    const one = await forecast(world.ctx, { ...range, topic: "work", step: SECOND });
    expect(one.counts).toEqual([{ from: START + 75 * SECOND, topic: "work", state: "scheduled", count: 1 }]);
  });

  test("jobs that nobody starts are late", async () => {
    const world = createWorld();
    await world.file({ delay: 10 * SECOND });
    await world.pass(MINUTE);
    const { counts } = await forecast(world.ctx, { ...range, step: MINUTE });
    expect(counts).toEqual([{ from: START, topic: "orders", state: "late", count: 1 }]);
  });
});
