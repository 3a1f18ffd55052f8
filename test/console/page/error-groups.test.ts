import { expect, test } from "vitest";
import { countsIn, groupByError, rateText } from "../../../console/page/error-groups.ts";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";

let jobs = 0;
function died(lastError: string | undefined, finishedAt = "2026-11-26T10:00:00.000Z"): JobSummary {
  jobs += 1;
  const job = {
    id: `job-${jobs}`,
    topic: "orders",
    state: "dead",
    dueAt: finishedAt,
    revision: 0,
    attempt: 3,
  } as const;
  const error = lastError === undefined ? {} : { lastError };
  return { ...job, maxAttempts: 3, createdAt: finishedAt, finishedAt, ...error };
}

const namesOf = (errors: readonly (string | undefined)[]) =>
  groupByError(errors.map((error) => died(error))).map(({ name, jobs }) => [name, jobs.length]);

test("errors that differ by ids and numbers only are one group, the largest group comes first", () => {
  expect(
    namesOf([
      "the shop is closed",
      "no order 1817 in 01M8BD7WEG00AQB55CQQHVN949",
      "no order 20 in 6f1c2f7e-3d0b-4a52-9a3f-0f8a7d1c2b3a\n    at close (a.ts:1:2)",
    ]),
  ).toEqual([
    ["no order … in …", 2],
    ["the shop is closed", 1],
  ]);
});

test("statuses of HTTP stay apart", () => {
  expect(namesOf(["answered 503", "answered 404", "answered 503"])).toEqual([
    ["answered 503", 2],
    ["answered 404", 1],
  ]);
});

test("an address with its port is one value", () => {
  expect(
    namesOf([
      "connect ECONNREFUSED 127.0.0.1:4510",
      "connect ECONNREFUSED 10.0.7.255:80",
      "no host 192.168.0.1",
    ]),
  ).toEqual([
    ["connect ECONNREFUSED …", 2],
    ["no host …", 1],
  ]);
});

test("quoted values are replaced, and a job without an error has a group", () => {
  expect(namesOf(['no user "ann"', "no user 'bob'", undefined, ""])).toEqual([
    ["no user …", 2],
    ["no error was recorded", 2],
  ]);
});

test("a group begins with its latest death", () => {
  const [group] = groupByError([
    died("x", "2026-11-26T10:00:00.000Z"),
    died("x", "2026-11-26T12:00:00.000Z"),
    died("x", "2026-11-26T11:00:00.000Z"),
  ]);
  expect(group?.jobs.map(({ finishedAt }) => finishedAt?.slice(11, 13))).toEqual(["12", "11", "10"]);
});

test("140 failures of five kinds are five groups, each from its first failure to its last", () => {
  const kinds = [
    (n: number) => `HTTP 503: no worker for order ${n}`,
    (n: number) => `HTTP 404: no order ${n}`,
    (n: number) => `connect ECONNREFUSED 10.0.${n % 7}.${n}:5432`,
    (n: number) => `Cannot read properties of undefined (reading 'price') (close.ts:${n})`,
    (n: number) => `No such customer: 'cus_${n}fK9xQ2bLmZ7t'`,
  ];
  const at = (n: number) => new Date(Date.UTC(2026, 10, 26, 10, n)).toISOString();
  const failures = Array.from({ length: 140 }, (_, n) => died(kinds[n % 5]?.(n + 100), at(n)));
  const groups = groupByError(failures);
  expect(groups.map(({ name, jobs }) => [name, jobs.length])).toEqual([
    ["HTTP 503: no worker for order …", 28],
    ["HTTP 404: no order …", 28],
    ["connect ECONNREFUSED …", 28],
    ["Cannot read properties of undefined (reading 'price') (close.ts:…)", 28],
    ["No such customer: …", 28],
  ]);
  expect([groups[1]?.first, groups[1]?.last]).toEqual([Date.parse(at(1)), Date.parse(at(136))]);
});

test("a job that waits for its retry failed when its last attempt began", () => {
  const { finishedAt: _, ...job } = died("x", "2026-11-26T10:00:00.000Z");
  const [group] = groupByError([
    { ...job, claimedAt: "2026-11-26T09:00:00.000Z", dueAt: "2026-11-26T11:00:00.000Z" },
  ]);
  expect(group?.last).toBe(Date.parse("2026-11-26T09:00:00.000Z"));
});

const titlesOf = (errors: readonly string[]) =>
  groupByError(errors.map((error) => died(error))).map(({ title }) => title);

test("a value that all jobs of a group share is shown, and one that differs is not", () => {
  const refused = (host: string, order: number) => `connect ECONNREFUSED ${host}:5432 for order ${order}`;
  expect(titlesOf([refused("10.0.7.1", 17), refused("10.0.7.1", 18)])).toEqual([
    "connect ECONNREFUSED 10.0.7.1:5432 for order …",
  ]);
  expect(titlesOf([refused("10.0.7.1", 17), refused("10.0.7.2", 17)])).toEqual([
    "connect ECONNREFUSED … for order 17",
  ]);
  const thrown = (id: string) => `no price of "${id}" (close.ts:12)\n    at close (close.ts:12:3)`;
  expect(titlesOf([thrown("a b"), thrown("c")])).toEqual(["no price of … (close.ts:12)"]);
  expect(titlesOf(["no order 17", "no order 18", "no order 17"])).toEqual(["no order …"]);
  expect(titlesOf(["no order 17"])).toEqual(["no order 17"]);
});

test("an error that was cut, or a long value, leaves its sign", () => {
  const long = `the answer was ${"x1".repeat(60)} today`;
  expect(titlesOf([long, long])).toEqual(["the answer was … today"]);
  const cut = `no order 17 ${"because the shop is closed ".repeat(8)}until 18`;
  expect(titlesOf([cut, cut])[0]).toMatch(/^no order 17 because/);
});

const noon = Date.parse("2026-11-26T12:00:00.000Z");
const groupAt = (...minutes: readonly number[]) => {
  const [group] = groupByError(
    minutes.map((minute) => died("x", new Date(noon - minute * 60_000).toISOString())),
  );
  if (group === undefined) throw new Error("no group");
  return group;
};

test.each([
  ["30 new in the last hour", Array.from({ length: 30 }, (_, n) => n / 2)],
  ["2 new in the last hour", [1, 50, 200]],
  ["12 within a minute", Array.from({ length: 12 }, (_, n) => 10 + n / 12)],
  ["3 within 2 min", [180, 181, 181.5]],
  ["4 an hour while it lasted", [60, 80, 100, 120]],
  ["2 within a minute", [60, 60.5]],
  ["2.9 a day while it lasted", [60, 60 + 24 * 60, 60 + 41 * 60, 60 + 33 * 60, 60 + 12 * 60]],
  ["", [60]],
  ["", [1]],
])("the rate of a group is told as %s", (text, minutes) => {
  expect(rateText(groupAt(...minutes), noon)).toBe(text);
});

test("the failures of a group are counted by parts of a range", () => {
  const { jobs } = groupAt(0, 1, 59, 30);
  expect(countsIn(jobs, { from: noon - 60 * 60_000, to: noon }, 4)).toEqual([1, 0, 1, 2]);
});
