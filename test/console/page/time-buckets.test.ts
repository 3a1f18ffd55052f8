import { expect, test } from "vitest";
import {
  barsIn,
  countJobs,
  countsText,
  kindOf,
  LONGEST,
  moved,
  NO_COUNTS,
  partsOf,
  stacked,
  stepOf,
  sumOfAll,
  tallestOf,
  withForecast,
  zoomed,
} from "../../../console/page/time-buckets.ts";
import type { JobSummary } from "../../../src/http/answers.ts";

const MINUTE = 60_000;
const NOW = Date.parse("2026-11-26T10:00:00.000Z");
const iso = (ms: number) => new Date(ms).toISOString();

const noPause = () => undefined;

function job(topic: string, dueAt: number, state: JobSummary["state"], heldUntil?: number): JobSummary {
  const held = heldUntil === undefined ? {} : { heldUntil: iso(heldUntil) };
  const same = { id: `${topic} ${dueAt}`, revision: 0, attempt: 0, maxAttempts: 3, createdAt: iso(0) };
  return { ...same, topic, state, dueAt: iso(dueAt), ...held };
}

test("jobs are counted by topic, bucket and kind", () => {
  const counts = countJobs(
    [
      job("a", NOW, "done"),
      job("a", NOW + 59_999, "dead"),
      job("a", NOW + MINUTE, "expired"),
      job("a", NOW, "cancelled"),
      job("b", NOW - MINUTE, "scheduled", NOW + MINUTE),
      job("b", NOW + MINUTE, "running"),
    ],
    MINUTE,
    NOW,
    noPause,
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
      NOW,
      noPause,
    ).get("a") ?? new Map();
  expect(countsText(sumOfAll(buckets))).toBe("3 done, 1 dead or expired");
  expect(countsText(sumOfAll(new Map()))).toBe("");
  expect(tallestOf(buckets)).toBe(2);
  expect(barsIn(buckets, { from: NOW + 1, to: NOW + 2 * MINUTE }, MINUTE)).toEqual([NOW, NOW + MINUTE]);
});

test("a job that should have started is late, as in the lists", () => {
  expect(kindOf(job("a", NOW - 10 * MINUTE, "scheduled"), NOW, undefined)).toBe("late");
  expect(kindOf(job("a", NOW + MINUTE, "scheduled"), NOW, undefined)).toBe("due");
});

test("the due jobs of a paused topic are held, and not late", () => {
  const pause = { state: "paused", since: iso(NOW - 20 * MINUTE), parked: 2 } as const;
  const jobs = ["a", "b"].map((topic) => job(topic, NOW - 10 * MINUTE, "scheduled"));
  const counts = countJobs(jobs, MINUTE, NOW, (topic) => (topic === "a" ? pause : undefined));
  expect(countsText(sumOfAll(counts.get("a") ?? new Map()))).toBe("1 held");
  expect(countsText(sumOfAll(counts.get("b") ?? new Map()))).toBe("1 late");
});

test("a forecast is added to what is counted already, and leaves that as it is", () => {
  const before = countJobs([job("a", NOW, "done")], 5 * MINUTE, NOW, noPause);
  const minutes = [NOW, NOW + MINUTE, NOW + 5 * MINUTE].map((at) => ({ minute: iso(at), count: 10 }));
  const after = withForecast(before, "a", minutes, 5 * MINUTE);
  expect(after.get("a")?.get(NOW)).toEqual({ ...NO_COUNTS, done: 1, due: 20 });
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

test("parts begin with the nearest time and cover the range without a gap", () => {
  const parts = partsOf({ from: 0, to: 1440 * MINUTE });
  expect(parts[0]).toEqual({ from: 0, to: 15 * MINUTE });
  expect(parts.at(-1)?.to).toBe(1440 * MINUTE);
  for (const [index, { from }] of parts.entries()) expect(from).toBe(parts[index - 1]?.to ?? 0);
});

test("the bars of each kind contain those below it, after an empty bar", () => {
  const counts = countJobs([job("a", NOW, "done"), job("a", NOW, "dead")], MINUTE, NOW, noPause);
  expect(stacked(counts.get("a") ?? new Map(), MINUTE)).toEqual({
    times: [NOW - MINUTE, NOW],
    sums: [
      [0, 1],
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 2],
    ],
  });
  expect(stacked(new Map(), MINUTE).times).toEqual([]);
});
