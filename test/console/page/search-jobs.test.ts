import { expect, test } from "vitest";
import { searchOf } from "../../../console/page/job-match.ts";
import {
  partsAround,
  type Searched,
  type Searching,
  type SearchReads,
  searchJobs,
} from "../../../console/page/search-jobs.ts";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-11-26T12:00:00.000Z");
const PAGE = 2;

function jobAt(hours: number, key: string, more: Partial<JobSummary> = {}): JobSummary {
  const dueAt = new Date(NOW + hours * HOUR).toISOString();
  const job = { id: `id-${key}`, key, topic: "work", state: "scheduled", dueAt, createdAt: dueAt } as const;
  return { ...job, revision: 0, attempt: 0, maxAttempts: 3, ...more };
}

/** Lists as the API does: in due order, a page at a time. */
function readsOf(jobs: readonly JobSummary[], bodies: Readonly<Record<string, unknown>> = {}) {
  const asked: string[] = [];
  const reads: SearchReads = {
    async page({ from = "", to = "", topic }, cursor) {
      asked.push(`${from} ${to}`);
      const all = jobs
        .filter((job) => job.dueAt >= from && job.dueAt < to && job.topic === (topic ?? job.topic))
        .toSorted((a, b) => a.dueAt.localeCompare(b.dueAt));
      const at = Number(cursor ?? 0);
      const next = at + PAGE < all.length ? { cursor: String(at + PAGE) } : {};
      return { jobs: all.slice(at, at + PAGE), ...next };
    },
    dead: async (topic) => jobs.filter((job) => job.state === "dead" && job.topic === topic),
    bodyOf: async (id) => bodies[id],
  };
  return { asked, reads };
}

const asking = (text: string, more: Partial<Searching> = {}): Searching => ({
  search: searchOf(text),
  range: { from: NOW - 24 * HOUR, to: NOW + 7 * 24 * HOUR },
  now: NOW,
  deadOf: [],
  withBodies: false,
  ...more,
});

async function allOf(steps: AsyncGenerator<Searched, void>): Promise<Searched[]> {
  const all: Searched[] = [];
  for await (const step of steps) all.push(step);
  return all;
}

const keysOf = (searched: Searched | undefined) => searched?.found.map(({ job }) => job.key);

test("jobs of the whole range are found, the best match first", async () => {
  const jobs = [
    jobAt(-23, "a-order-170"),
    jobAt(-2, "order-171"),
    jobAt(5, "order-17"),
    jobAt(6, "order-18"),
    jobAt(7 * 24 - 1, "my-order-17"),
    jobAt(7 * 24 + 1, "order-172"),
  ];
  const steps = await allOf(searchJobs(asking("order-17"), readsOf(jobs).reads));
  expect(keysOf(steps.at(-1))).toEqual(["order-17", "order-171", "my-order-17", "a-order-170"]);
  expect(steps.at(-1)).toMatchObject({ jobs: 5, reached: asking("").range });
});

test("the parts of a range begin now, and double", () => {
  const parts = [...partsAround(NOW, { from: NOW - 2 * HOUR, to: NOW + 6 * HOUR })];
  expect(parts.map(({ from, to }) => [(from - NOW) / HOUR, (to - NOW) / HOUR])).toEqual([
    [0, 1],
    [-1, 0],
    [1, 3],
    [-2, -1],
    [3, 6],
  ]);
});

test("the parts of a range that is over, or still to come, cover it too, each at most 31 days long", () => {
  const covered = (from: number, to: number) => {
    const parts = [...partsAround(NOW, { from: NOW + from * HOUR, to: NOW + to * HOUR })];
    expect(Math.max(...parts.map((part) => part.to - part.from))).toBeLessThanOrEqual(31 * 24 * HOUR);
    return parts.reduce((sum, part) => sum + part.to - part.from, 0) / HOUR;
  };
  expect(covered(-50, -40)).toBe(10);
  expect(covered(40, 50)).toBe(10);
  expect(covered(-10_000, 10_000)).toBe(20_000);
});

test("a search that is stopped says truly which part of the range was compared", async () => {
  const jobs = [
    jobAt(-0.5, "past"),
    ...[0.1, 0.2, 0.3, 0.4, 0.5].map((hours) => jobAt(hours, `soon-${hours}`)),
  ];
  const reached: [number, number][] = [];
  for await (const {
    reached: { from, to },
  } of searchJobs(asking("none"), readsOf(jobs).reads)) {
    const last: [number, number] = [(from - NOW) / HOUR, (to - NOW) / HOUR];
    if (reached.at(-1)?.join() !== last.join()) reached.push(last);
  }
  expect(reached.slice(0, 5)).toEqual([
    [0, 0],
    [0, 0.2],
    [0, 0.4],
    [0, 1],
    [-1, 1],
  ]);
});

test("dead jobs are found whenever they were due, and each job once", async () => {
  const jobs = [
    jobAt(-500, "order-17-old", { state: "dead" }),
    jobAt(-1, "order-17-new", { state: "dead", lastError: "HTTP 503" }),
  ];
  const steps = await allOf(searchJobs(asking("order 17", { deadOf: ["work"] }), readsOf(jobs).reads));
  expect(keysOf(steps.at(-1))).toEqual(["order-17-old", "order-17-new"]);
  expect(steps.at(-1)).toMatchObject({ jobs: 0, dead: 2 });
});

test("bodies are read only for a search in bodies, and only of jobs that do not match without them", async () => {
  const jobs = Array.from({ length: 20 }, (_, n) => jobAt(n / 40, n === 3 ? "customer-4711" : `job-${n}`));
  const { reads } = readsOf(jobs, { "id-job-9": { customer: 4711 } });
  const without = await allOf(searchJobs(asking("customer 4711"), reads));
  expect(without.at(-1)).toMatchObject({ bodies: 0, found: [{ job: { key: "customer-4711" } }] });
  const within = await allOf(searchJobs(asking("customer 4711", { withBodies: true }), reads));
  expect(within.at(-1)?.bodies).toBe(19);
  expect(within.at(-1)?.found).toMatchObject([
    { job: { key: "customer-4711" }, match: { places: ["key"] } },
    { job: { key: "job-9" }, match: { places: ["body"] }, body: { customer: 4711 } },
  ]);
});

test("only the jobs of the chosen topic are compared", async () => {
  const jobs = [jobAt(1, "order-17"), jobAt(2, "order-17-mail", { topic: "mails" })];
  const steps = await allOf(searchJobs(asking("order", { topic: "mails" }), readsOf(jobs).reads));
  expect(keysOf(steps.at(-1))).toEqual(["order-17-mail"]);
});
