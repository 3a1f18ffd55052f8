import { expect, test } from "vitest";
import {
  barsIn,
  countJobs,
  countsText,
  LONGEST,
  moved,
  NO_COUNTS,
  partsOf,
  stacked,
  stepOf,
  sumOfAll,
  tallestOf,
  together,
  withCounts,
  zoomed,
} from "../../../console/page/time-buckets.ts";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";

const MINUTE = 60_000;
const NOW = Date.parse("2026-11-26T10:00:00.000Z");
const iso = (ms: number) => new Date(ms).toISOString();

function job(topic: string, dueAt: number, state: JobSummary["state"]): JobSummary {
  const same = { id: `${topic} ${dueAt}`, revision: 0, attempt: 0, maxAttempts: 3, createdAt: iso(0) };
  return { ...same, topic, state, dueAt: iso(dueAt) };
}

test("jobs are counted by topic, bucket and kind", () => {
  const counts = countJobs(
    [
      job("a", NOW, "done"),
      job("a", NOW + 59_999, "dead"),
      job("a", NOW + MINUTE, "expired"),
      job("a", NOW, "cancelled"),
      { ...job("b", NOW - MINUTE, "scheduled"), held: true },
      job("b", NOW + MINUTE, "running"),
    ],
    MINUTE,
  );
  expect([...(counts.get("a") ?? [])]).toEqual([
    [NOW, { ...NO_COUNTS, done: 1, failed: 1 }],
    [NOW + MINUTE, { ...NO_COUNTS, failed: 1 }],
  ]);
  expect(counts.get("b")?.get(NOW - MINUTE)?.held).toBe(1);
  expect(counts.get("b")?.get(NOW + MINUTE)?.running).toBe(1);
});

test("a lane says the sum of its jobs, its tallest bar, and which bars are in sight", () => {
  const at = [2 * MINUTE, 0, MINUTE, MINUTE];
  const buckets =
    countJobs(
      at.map((after, index) => job("a", NOW + after, index === 0 ? "dead" : "done")),
      MINUTE,
    ).get("a") ?? new Map();
  expect(countsText(sumOfAll(buckets))).toBe("3 done, 1 dead or expired");
  expect(countsText(sumOfAll(new Map()))).toBe("");
  expect(tallestOf(buckets)).toBe(2);
  expect(barsIn(buckets, { from: NOW + 1, to: NOW + 2 * MINUTE }, MINUTE)).toEqual([NOW, NOW + MINUTE]);
});

test("jobs are late or held as the API says, as in the lists", () => {
  const late = { ...job("a", NOW - 10 * MINUTE, "scheduled"), lateSince: iso(NOW - 10 * MINUTE) };
  const held = { ...job("b", NOW - 10 * MINUTE, "scheduled"), held: true as const };
  const counts = countJobs([late, held, job("a", NOW - 20 * MINUTE, "scheduled")], 30 * MINUTE);
  expect(countsText(sumOfAll(counts.get("a") ?? new Map()))).toBe("1 late, 1 due");
  expect(countsText(sumOfAll(counts.get("b") ?? new Map()))).toBe("1 held");
});

test("what a call has counted is added to what is counted already, and leaves that as it is", () => {
  const before = countJobs([job("a", NOW, "done")], 5 * MINUTE);
  const counts = [NOW, NOW + MINUTE, NOW + 5 * MINUTE].map((at) => ({
    from: iso(at),
    topic: "a",
    state: "scheduled" as const,
    count: 10,
  }));
  const more = { from: iso(NOW), topic: "a", count: 3 };
  const after = withCounts(
    before,
    [...counts, { ...more, state: "late" }, { ...more, state: "cancelled" }],
    5 * MINUTE,
  );
  expect(after.get("a")?.get(NOW)).toEqual({ ...NO_COUNTS, done: 1, due: 20, late: 3 });
  expect(after.get("a")?.get(NOW + 5 * MINUTE)?.due).toBe(10);
  expect(before.get("a")?.get(NOW)?.due).toBe(0);
});

test("a zoom keeps the time under the pointer in its place, within bounds", () => {
  const range = { from: 0, to: 100_000 };
  expect(zoomed(range, 0.5, 25_000)).toEqual({ from: 12_500, to: 62_500 });
  expect(zoomed(range, 0.000_001, 0)).toEqual({ from: 0, to: 10_000 });
  const { from, to } = zoomed(range, 1e9, 50_000);
  expect(to - from).toBe(LONGEST);
  expect(moved(range, -0.5)).toEqual({ from: -50_000, to: 50_000 });
});

test("a range has at most 180 bars", () => {
  for (const span of [10_000, MINUTE, 15 * MINUTE, 25 * 60 * MINUTE, LONGEST]) {
    expect(span / stepOf({ from: 0, to: span })).toBeLessThanOrEqual(180);
  }
  expect(stepOf({ from: 0, to: 25 * 60 * MINUTE })).toBe(15 * MINUTE);
});

test("the bars of each kind contain those below it, after an empty bar", () => {
  const counts = countJobs([job("a", NOW, "done"), job("a", NOW, "dead")], MINUTE);
  expect(stacked(counts.get("a") ?? new Map(), MINUTE)).toEqual({
    times: [NOW - MINUTE, NOW],
    sums: [
      [0, 1],
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 2],
    ],
  });
  expect(stacked(new Map(), MINUTE).times).toEqual([]);
});

test("a lane of all topics has the sums of the others", () => {
  const counts = countJobs(
    [job("a", NOW, "done"), job("b", NOW, "done"), { ...job("b", NOW, "scheduled"), retrying: true }],
    MINUTE,
  );
  expect([...together(counts.values())]).toEqual([[NOW, { ...NO_COUNTS, done: 2, retrying: 1 }]]);
  expect(countsText(sumOfAll(together(counts.values())))).toBe("2 done, 1 retrying");
});

test.each([
  [4, 60 * MINUTE],
  [4, 7 * MINUTE + 13],
  [4, 2 * MINUTE],
  [1, 60 * MINUTE],
])("a range is counted in about %i parts that meet where bars begin", (most, span) => {
  const range = { from: NOW + 17, to: NOW + 17 + span };
  const parts = partsOf(range, MINUTE, most);
  expect(parts.length).toBeLessThanOrEqual(most + 1);
  expect(parts[0]?.from).toBe(range.from);
  expect(parts.at(-1)?.to).toBe(range.to);
  for (const [index, { from, to }] of parts.entries()) {
    expect(to).toBeGreaterThan(from);
    if (index > 0) expect({ from, rest: from % MINUTE }).toEqual({ from: parts[index - 1]?.to, rest: 0 });
  }
});
