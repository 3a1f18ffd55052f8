import { expect, test } from "vitest";
import { alternativesTo } from "../../tools/bench/bill/alternatives.ts";
import type { Plan } from "../../tools/bench/bill/plan.ts";

const PLAN: Plan = {
  ...{ jobs: 1e6, arrival: "evenly", kind: "tracked", filed: "inside", consumer: "lambda", workers: 1 },
  ...{ bodyBytes: 100, cancelled: 0, delayDays: 4 / 1440, longDelayDays: 7, retentionDays: 7, topics: 1 },
};

/** Dollars of each part. `undefined`: the alternative cannot do it. */
function linesOf(name: string, more: Partial<Plan> = {}): Readonly<Record<string, number>> | undefined {
  const found = alternativesTo({ ...PLAN, ...more }).find((one) => one.name === name);
  if (!found) throw new Error(`no alternative is called ${name}`);
  return found.lines;
}

test("EventBridge Scheduler takes $1.00 a million jobs that run", () => {
  expect(linesOf("EventBridge Scheduler", { cancelled: 0.4 })?.Scheduler).toBeCloseTo(0.6);
});

test("SQS takes three requests for a job that comes alone, and three for ten jobs of a burst", () => {
  const polls = 2 * 3 * 60 * 730 * 0.4e-6;
  expect(linesOf("SQS alone")?.SQS).toBeCloseTo(3 * 0.4 + polls);
  expect(linesOf("SQS alone", { arrival: "bursts" })?.SQS).toBeCloseTo(0.3 * 0.4 + polls);
  expect(linesOf("SQS alone", { arrival: "bursts", filed: "http" })?.SQS).toBeCloseTo(1.2 * 0.4 + polls);
});

test("SQS counts each 64 KiB of a request, and at least one request", () => {
  const polls = 2 * 3 * 60 * 730 * 0.4e-6;
  expect(linesOf("SQS alone", { bodyBytes: 0 })?.SQS).toBeCloseTo(3 * 0.4 + polls);
  expect(linesOf("SQS alone", { bodyBytes: 100 * 1024 })?.SQS).toBeCloseTo((2 + 2 + 1) * 0.4 + polls);
});

test("Step Functions takes two transitions for a job that runs, and one for a cancelled job", () => {
  expect(linesOf("Step Functions, Standard")?.transitions).toBeCloseTo(50);
  expect(linesOf("Step Functions, Standard", { cancelled: 1 })?.transitions).toBeCloseTo(25);
});

test("an Express workflow pays for its wait", () => {
  // 240 seconds in 1/16 GB.
  expect(linesOf("Step Functions, Express")?.waiting).toBeCloseTo(15 * 16.67, 1);
});

test("a Redis costs the same with no jobs, and needs larger nodes if more jobs wait at the same time", () => {
  const redis = "A Redis that runs all month";
  expect(linesOf(redis, { jobs: 0 })).toEqual(linesOf(redis));
  expect(linesOf(redis)?.nodes).toBeCloseTo(2 * 0.0256 * 730);
  const dollars = [1e6, 1e7, 1e8, 1e9, 1e10].map(
    (jobs) => linesOf(redis, { jobs, delayDays: 30 })?.nodes ?? 0,
  );
  expect(dollars).toEqual(dollars.toSorted((a, b) => a - b));
  expect(new Set(dollars).size).toBe(dollars.length);
});

test("an alternative that cannot wait as long has no price", () => {
  const possible = (delayDays: number): string[] =>
    alternativesTo({ ...PLAN, delayDays })
      .filter(({ lines }) => lines)
      .map(({ name }) => name);
  expect(possible(5 / 1440)).toHaveLength(5);
  expect(possible(6 / 1440)).not.toContain("Step Functions, Express");
  expect(possible(15 / 1440)).toContain("SQS alone");
  expect(possible(16 / 1440)).not.toContain("SQS alone");
  expect(possible(366)).toEqual(["EventBridge Scheduler", "A Redis that runs all month"]);
});
