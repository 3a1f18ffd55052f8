import { expect, test } from "vitest";
import { latenessByTopic } from "../../../console/page/lateness.ts";

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
