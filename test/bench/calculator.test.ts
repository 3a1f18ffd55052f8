import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ASSUMED } from "../../tools/bench/bill/assumed.ts";
import bill from "../../tools/bench/bill/bill.json" with { type: "json" };
import { monthOf } from "../../tools/bench/bill/calculator.ts";
import type { Plan } from "../../tools/bench/bill/plan.ts";
import { writtenBill } from "../../tools/bench/bill/table.ts";
import { costOf, type Usage } from "../../tools/bench/bill/usage.ts";

const MILLION = 1e6;
const MONTH_SECONDS = 730 * 3600;
const MINUTE = 1 / 1440;

/** The workload that most others vary: tracked jobs of a burst, filed in batches from inside AWS. */
const BURST: Plan = {
  ...{ jobs: MILLION, arrival: "bursts", kind: "tracked", filed: "inside", consumer: "lambda", workers: 1 },
  ...{ bodyBytes: bill.bodyBytes, cancelled: 0, delayDays: 15 * MINUTE, longDelayDays: 7 },
  ...{ retentionDays: bill.retentionDays, topics: 1 },
};
const steady = (rate: number, more: Partial<Plan> = {}): Plan => ({
  ...{ ...BURST, arrival: "evenly", jobs: rate * MONTH_SECONDS, delayDays: 6 * MINUTE },
  ...more,
});

const PLANS: Readonly<Record<string, Plan>> = {
  "tracked jobs, a burst filed in batches from inside AWS": BURST,
  "tracked jobs, 40 a second": steady(40),
  "tracked jobs, 12 a second": steady(12),
  "tracked jobs, one every 2.5 s": steady(0.4),
  "untracked jobs, a burst": { ...BURST, kind: "untracked" },
  "tracked jobs, one HTTP call each": { ...BURST, filed: "http" },
  "tracked jobs, HTTP calls of 500": { ...BURST, filed: "http-500" },
  "untracked jobs, one HTTP call each": { ...BURST, kind: "untracked", filed: "http" },
  "keyed jobs, filed and run": { ...BURST, kind: "keyed" },
  "untracked jobs, HTTP calls of 500": { ...BURST, kind: "untracked", filed: "http-500" },
  "keyed jobs, 12 a second": steady(12, { kind: "keyed" }),
  "keyed jobs, one HTTP call each": { ...BURST, kind: "keyed", filed: "http" },
  "keyed jobs, HTTP calls of 500": { ...BURST, kind: "keyed", filed: "http-500" },
  "keyed jobs, filed and cancelled by key": { ...BURST, kind: "keyed", cancelled: 1 },
  "tracked jobs, filed and cancelled by id": { ...BURST, cancelled: 1 },
  "far jobs": { ...BURST, longDelayDays: 5 * MINUTE },
  "far jobs, filed and cancelled by id": { ...BURST, longDelayDays: 5 * MINUTE, cancelled: 1 },
  "tracked jobs, a burst pulled over HTTP": { ...BURST, consumer: "pull" },
  "tracked jobs, one every 2.5 s, pulled over HTTP": steady(0.4, { consumer: "pull" }),
  "tracked jobs, a burst pulled directly": { ...BURST, consumer: "direct" },
  "tracked jobs, one every 2.5 s, pulled directly": steady(0.4, { consumer: "direct" }),
  "an idle queue of one topic": { ...BURST, jobs: 0 },
  "an idle queue of two topics": { ...BURST, jobs: 0, topics: 2 },
  "an idle queue with one worker that pulls over HTTP": { ...BURST, jobs: 0, consumer: "pull" },
  "an idle queue with one worker that pulls directly": { ...BURST, jobs: 0, consumer: "direct" },
};

const total = (parts: object): number => Object.values(parts).reduce((sum, part) => sum + part, 0);
const dollars = (plan: Plan): number => total(costOf(monthOf(plan)));
const usageOf = (plan: Partial<Plan>): Usage => monthOf({ ...BURST, ...plan });

/** The calculator has no field for the number of shards, nor for jobs that a topic refuses. */
const WITHOUT_PLAN = [
  "an idle queue of one topic with 64 shards",
  "jobs above maxFiledPerMinute, one HTTP call each",
];

/** The calculator adds the costs of a key in a burst to those of a steady job. Measured together, a million jobs cost 2 cents more of Lambda. */
const SUMMED = "keyed jobs, 12 a second";

test.each(writtenBill().filter(({ workload }) => !WITHOUT_PLAN.includes(workload)))(
  "$workload costs what the bill says",
  ({ workload, per, dollars: written }) => {
    const plan = PLANS[workload];
    if (!plan)
      throw new Error(`add the plan of "${workload}" here, or say why the calculator does not offer it`);
    // The bill of a burst has only what its jobs add to an idle queue.
    const without = plan.arrival === "bursts" && per !== "month" ? dollars({ ...plan, jobs: 0 }) : 0;
    const each = per === "month" ? 1 : MILLION / plan.jobs;
    // The table is rounded to cents, and the number of jobs that run in the measured time differs by a job.
    const most = workload === SUMMED ? 0.03 : 0.01;
    expect(Math.abs((dollars(plan) - without) * each - Number(written))).toBeLessThan(most);
  },
);

test("the pages name the sizes that the bill has measured", () => {
  const page = (name: string): string =>
    readFileSync(join(import.meta.dirname, "../../docs/reference", name), "utf8");
  expect(page("limits-and-cost.md")).toContain(`Bodies have ${bill.bodyBytes} bytes.`);
  const { storedGigabyteMonths, bodyStoredMonths } = bill.billed[0]?.usage ?? usageOf({});
  const beside =
    (storedGigabyteMonths * 1e9) / bodyStoredMonths - ASSUMED.bytesPerStoredItem - bill.bodyBytes;
  expect(page("calculator.md")).toContain(`a finished job has about ${Math.round(beside / 10) * 10} bytes`);
});

test.each([
  ["without a key", { kind: "tracked" }],
  ["with a key", { kind: "keyed" }],
  ["with a key, of which 80 % are cancelled by HTTP calls", { kind: "keyed", cancelled: 0.8 }],
] as const)("the page has what a month of 5 million even jobs %s costs", (name, more) => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/reference/limits-and-cost.md"), "utf8");
  const even = { ...BURST, jobs: 5e6, arrival: "evenly", filed: "http", ...more } as const;
  const [byLambda, pulled] = [even, { ...even, consumer: "pull" } as const].map((plan) => {
    return dollars(plan).toFixed(2);
  });
  expect(page).toMatch(new RegExp(`^\\| ${name} +\\| \\$${byLambda} +\\| \\$${pulled} +\\|$`, "m"));
});

describe("a larger body", () => {
  const perJob = (bodyBytes: number): number =>
    (usageOf({ bodyBytes }).writeUnits - usageOf({ jobs: 0 }).writeUnits) / MILLION;

  test("costs a further unit of each of the three writes for each KB of the whole item that has begun", () => {
    expect(perJob(bill.bodyBytes)).toBeCloseTo(3, 2);
    expect(perJob(600)).toBeCloseTo(3, 2);
    expect(perJob(1024)).toBeCloseTo(6, 2);
    expect(perJob(10 * 1024)).toBeCloseTo(33, 2);
  });

  test("costs more reads, storage and SQS requests, but no more calls from inside AWS", () => {
    const [small, large] = [usageOf({}), usageOf({ bodyBytes: 100 * 1024 })];
    expect((large.readUnits - small.readUnits) / MILLION).toBeCloseTo(25, 0);
    expect((large.sqsRequests - small.sqsRequests) / MILLION).toBeCloseTo(3.1, 1);
    expect(large.storedGigabyteMonths).toBeGreaterThan(100 * small.storedGigabyteMonths);
    expect(large.apiCalls).toBe(small.apiCalls);
  });
});

test("a longer retention and a longer delay store each job longer", () => {
  const stored = (plan: Partial<Plan>): number => usageOf(plan).storedGigabyteMonths;
  expect(stored({ retentionDays: 14 }) / stored({})).toBeCloseTo(2, 1);
  expect(stored({ delayDays: 7 }) / stored({})).toBeCloseTo(2, 1);
  expect(stored({ kind: "untracked", retentionDays: 14 })).toBe(stored({ kind: "untracked" }));
});

test("at an even rate, more jobs cost more, and each of them costs less", () => {
  const rates = [0.0001, 0.01, 0.4, 5, 12, 30, 40, 400];
  const months = rates.map((rate) => dollars(steady(rate)));
  expect(months).toEqual(months.toSorted((a, b) => a - b));
  const each = months.map((month, i) => month / (rates[i] ?? 0));
  expect(each).toEqual(each.toSorted((a, b) => b - a));
});

test("alarms cost the same at each rate, and each further topic has one", () => {
  const alarms = (plan: Partial<Plan>): number => monthOf({ ...BURST, ...plan }).alarmHours / 730;
  for (const consumer of ["lambda", "pull", "direct"] as const)
    for (const arrival of ["bursts", "evenly"] as const)
      for (const jobs of [0, 1e8]) {
        const queue = alarms({ consumer, arrival, jobs });
        expect(queue).toBeCloseTo(alarms({ jobs: 0 }));
        expect(alarms({ consumer, arrival, jobs, topics: 3 })).toBeCloseTo(queue + 2);
      }
});

test("the metrics of a topic cost the same from one job an hour on, and each topic has its own", () => {
  const metrics = (plan: Plan): number => costOf(monthOf(plan)).metrics;
  // The topic has two metrics. The queue has none while nothing is wrong.
  expect(metrics(steady(1 / 3600))).toBeCloseTo(2 * 0.3, 2);
  expect(metrics(steady(1 / 7200))).toBeCloseTo(0.3, 2);
  expect(metrics(steady(0.4, { topics: 3 }))).toBeCloseTo(6 * 0.3, 2);
});

test("each further worker that waits costs as much as the first", () => {
  const pull = (workers: number): number => dollars({ ...BURST, jobs: 0, consumer: "pull", workers });
  const withoutWorker = pull(1) - (pull(2) - pull(1));
  expect(pull(4) - pull(3)).toBeCloseTo(pull(2) - pull(1), 6);
  // A pull queue without a worker is an idle queue that Lambda does not poll.
  expect(withoutWorker).toBeLessThan(dollars({ ...BURST, jobs: 0 }));
  expect(withoutWorker).toBeGreaterThan(dollars({ ...BURST, jobs: 0 }) - 0.3);
});

test("no plan uses less than nothing of anything", () => {
  for (const arrival of ["bursts", "evenly"] as const)
    for (const kind of ["tracked", "keyed", "untracked"] as const)
      for (const filed of ["inside", "http", "http-500"] as const)
        for (const consumer of ["lambda", "pull", "direct"] as const)
          for (const [cancelled, delayDays, retentionDays] of [
            [0, 0, 1],
            [0.5, 30, 7],
            [1, 0, 1],
          ] as const) {
            const plan = { ...BURST, arrival, kind, filed, consumer, cancelled, delayDays, retentionDays };
            expect(Math.min(...Object.values(monthOf(plan))), JSON.stringify(plan)).toBeGreaterThanOrEqual(0);
          }
});
