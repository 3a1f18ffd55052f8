import { expect, test } from "vitest";
import { groupByError } from "../../../console/page/error-groups.ts";
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
