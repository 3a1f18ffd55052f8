import { expect, test } from "vitest";
import { attemptsOf } from "../../../console/page/attempts.ts";

const at = (second: number) => new Date(Date.UTC(2026, 10, 26, 10, 0, second)).toISOString();

test("each attempt says when it started, how late, how long it took and how it ended, the newest first", () => {
  const timeline = [
    { at: at(0), event: "filed" as const, dueAt: at(1) },
    { at: at(2), event: "claimed" as const, attempt: 1, lateness: 1 },
    { at: at(3), event: "failed" as const, attempt: 1, error: "no" },
    { at: at(3), event: "retried" as const, dueAt: at(4) },
    { at: at(4), event: "claimed" as const, attempt: 2, lateness: 0 },
    { at: at(9), event: "asked-to-retry" as const, attempt: 2 },
    { at: at(9), event: "retried" as const, dueAt: at(10) },
    { at: at(10), event: "claimed" as const, attempt: 3, lateness: 0 },
  ];
  expect(attemptsOf({ timeline, state: "running" })).toEqual([
    { attempt: 3, started: at(10), lateness: 0, outcome: "running" },
    { attempt: 2, started: at(4), lateness: 0, took: 5000, outcome: "asked to run again" },
    { attempt: 1, started: at(2), lateness: 1, took: 1000, outcome: "failed", error: "no" },
  ]);
  // The API calls a job scheduled whose run has lost its lease.
  expect(attemptsOf({ timeline, state: "scheduled" })[0]).toMatchObject({ outcome: "not heard of" });
});

test("an attempt whose start the timeline has dropped has no start", () => {
  const timeline = [
    { at: at(3), event: "failed" as const, attempt: 7, error: "no" },
    { at: at(3), event: "moved" as const, dueAt: at(4) },
    { at: at(5), event: "dead" as const, error: "SQS refused the message" },
  ];
  expect(attemptsOf({ timeline, state: "dead" })).toEqual([{ attempt: 7, outcome: "failed", error: "no" }]);
});

test("a run that a throttled target did not start is no failed attempt", () => {
  const timeline = [
    { at: at(2), event: "claimed" as const, attempt: 1, lateness: 1 },
    { at: at(17), event: "failed" as const, attempt: 1, error: "throttled: Rate Exceeded." },
  ];
  expect(attemptsOf({ timeline, state: "scheduled" })).toMatchObject([{ attempt: 1, outcome: "throttled" }]);
});
