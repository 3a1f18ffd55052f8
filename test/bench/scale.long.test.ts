import { beforeAll, describe, expect, test } from "vitest";
import { BUCKET, DAY } from "../../src/core/constants.ts";
import type { Load } from "../../tools/bench/scale/jobs.ts";
import { SETUPS, type Setup } from "../../tools/bench/scale/limits.ts";
import { play, type Result, type Scenario } from "../../tools/bench/scale/run.ts";

const START = Date.UTC(2026, 2, 1, 9, 0, 0);
const COUNT = 20_000;
/** So late that two ticks run before the one that sends these jobs. */
const DUE = START + 4 * BUCKET;
const [NEW, WARM] = SETUPS as readonly [Setup, Setup];

const burst: Load = (minute) => (minute === DUE ? { count: COUNT, from: DUE + 5000, span: 1000 } : undefined);
const withPending: Load = (minute) =>
  minute >= START + DAY ? { count: 23_000, from: minute, span: BUCKET } : burst(minute);

const scenario: Scenario = {
  load: burst,
  scale: { jobs: 10, jobsARequest: 100 },
  shards: 8,
  setup: WARM,
  pollers: 200,
  // Fixed, so that the results do not depend on this machine.
  costs: { call: 0.7, swept: 0.03, audited: 0.02 },
  from: START,
  sweptAt: START - BUCKET,
  until: START + 6 * BUCKET,
};

describe("a modelled burst", () => {
  let whole: Result;
  beforeAll(async () => {
    whole = await play(scenario);
  });

  test("is in the queue before it is due, and starts after it is due", () => {
    expect(whole).toMatchObject({ missing: 0, again: 0, killed: 0, failed: 0, throttles: 0 });
    expect(whole.handedOver.max).toBeLessThan(0);
    expect(whole.mapping).toMatchObject({ missing: 0 });
    expect(whole.mapping.late.p50).toBeGreaterThan(0);
  });

  test("takes the CPU time of its jobs, and no less", () => {
    const cpu = (COUNT * scenario.costs.swept * 1769) / 1024;
    expect(whole.ticks.max).toBeGreaterThan(cpu);
    expect(whole.ticks.max).toBeLessThan(2 * cpu + 1000);
  });

  test("has the same results when it is played again, and with a billion jobs pending", async () => {
    expect(await play(scenario)).toEqual(whole);
    expect(await play({ ...scenario, load: withPending })).toEqual(whole);
  });

  test("has about the same results when each modelled job stands for fewer", async () => {
    const finer = await play({ ...scenario, scale: { jobs: 1, jobsARequest: 1 } });
    expect(finer.missing).toBe(0);
    expect(Math.abs((finer.handedOver.max ?? 0) - (whole.handedOver.max ?? 0))).toBeLessThan(500);
    expect((finer.ticks.max ?? 0) / (whole.ticks.max ?? 1)).toBeCloseTo(1, 0);
    expect(finer.cost / whole.cost).toBeCloseTo(1, 0);
  });

  test("starts no later with more shards, with a warm table, and with provisioned pollers", async () => {
    const cold = await play({ ...scenario, setup: NEW });
    const sharded = await play({ ...scenario, shards: 64 });
    const lateOf = ({ late }: Result["mapping"]): number => late.max ?? Number.POSITIVE_INFINITY;
    expect(lateOf(sharded.pollers)).toBeLessThan(lateOf(whole.pollers));
    expect(lateOf(whole.mapping)).toBeLessThan(lateOf(cold.mapping));
    expect(lateOf(sharded.pollers)).toBeLessThanOrEqual(lateOf(sharded.mapping));
  });

  test("is received by more pollers than at first, if these are few", async () => {
    const { pollers } = await play({ ...scenario, shards: 64, pollers: 2 });
    // Two pollers receive 200 messages of ten jobs in a second, so alone they would need ten seconds.
    expect(pollers.late.max).toBeLessThan(7_000);
  });
});

test("after an outage all jobs are handed over, and the reads of one hot partition are throttled", async () => {
  const load: Load = (minute) => ({ count: 60_000, from: minute, span: BUCKET });
  const outage = { ...scenario, load, sweptAt: START - 15 * BUCKET, until: START + 3 * BUCKET, shards: 1 };
  const one = await play({
    ...outage,
    setup: { ...NEW, partitions: 1 },
    costs: { call: 0, swept: 0, audited: 0 },
  });
  expect(one.throttles).toBeGreaterThan(0);
  expect(one.overdue).toBeGreaterThan(11 * 60_000);
  expect(one.missing).toBe(0);
});
