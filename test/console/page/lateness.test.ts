import { expect, test } from "vitest";
import { latenessByTopic, latenessOf } from "../../../console/page/lateness.ts";

const iso = (ms: number) => new Date(Date.parse("2026-11-26T10:00:00.000Z") + ms).toISOString();

test("lateness counts from the due time, or from the end of a hold, and never below 0", () => {
  const jobs = [
    { topic: "a", dueAt: iso(0), claimedAt: iso(100) },
    { topic: "a", dueAt: iso(0), heldUntil: iso(60_000), claimedAt: iso(60_050) },
    { topic: "a", dueAt: iso(1000), claimedAt: iso(0) },
    { topic: "a", dueAt: iso(0) },
    { topic: "b", dueAt: iso(0), claimedAt: iso(7) },
  ];
  const found = latenessByTopic(jobs);
  expect(found.get("a")).toEqual({ p50: 50, p99: 100, runs: 3 });
  expect(found.get("b")).toEqual({ p50: 7, p99: 7, runs: 1 });
});

test("of 100 runs, one may be later than p99", () => {
  const jobs = Array.from({ length: 100 }, (_, index) => ({
    topic: "a",
    dueAt: iso(0),
    claimedAt: iso(index + 1),
  }));
  expect(latenessByTopic(jobs).get("a")).toEqual({ p50: 50, p99: 99, runs: 100 });
});

test("a run that only the history knows yet has its lateness, and that of read jobs goes before it", () => {
  const to = Date.parse(iso(0));
  const minutes = [{ at: to - 60_000, started: 1, failed: 0, dead: 0, late: { p50: 600, p99: 626 } }];
  const history = { from: to - 7_200_000, to, topics: [{ topic: "a", minutes }] };
  const read = { p50: 1, p99: 2, runs: 9 };
  expect(latenessOf("a", new Map(), history)).toEqual({ p50: 600, p99: 626, runs: 1 });
  expect(latenessOf("a", new Map([["a", read]]), history)).toBe(read);
  expect(latenessOf("b", new Map(), history)).toBeUndefined();
  expect(latenessOf("a", new Map(), undefined)).toBeUndefined();
});
