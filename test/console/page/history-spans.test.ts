import { describe, expect, test } from "vitest";
import type { HistoryMinute } from "../../../console/history.ts";
import {
  compare,
  countText,
  spanOf,
  spansOf,
  startsMuchLater,
  trendOf,
  trendText,
  unknownOf,
} from "../../../console/page/history-spans.ts";
import { HOUR, MINUTE } from "../../../console/page/times.ts";

const TO = Date.parse("2026-03-12T12:30:20Z");
const HISTORY = { from: TO - 3 * HOUR, to: TO };

/** A minute that began `ago` minutes before the present one. */
const minute = (
  ago: number,
  p99: number | undefined,
  counts: Partial<HistoryMinute> = {},
): HistoryMinute => ({
  at: TO - (TO % MINUTE) - ago * MINUTE,
  started: p99 === undefined ? 0 : 1,
  failed: 0,
  dead: 0,
  ...(p99 !== undefined && { late: { p50: p99 / 2, p99 } }),
  ...counts,
});

describe("a span of minutes", () => {
  test("adds up what happened, and has the lateness of its worst minute", () => {
    const minutes = [
      minute(3, 100, { started: 7, failed: 1 }),
      minute(2, 900, { started: 2, dead: 1 }),
      minute(1, undefined, { failed: 4 }),
    ];
    expect(spanOf(minutes, TO - HOUR, TO)).toEqual({
      started: 9,
      failed: 5,
      dead: 1,
      late: { p50: 50, p99: 900 },
    });
  });

  test("without a start has no lateness", () => {
    expect(spanOf([minute(1, undefined, { failed: 1 })], TO - HOUR, TO)).toEqual({
      started: 0,
      failed: 1,
      dead: 0,
    });
  });

  test("the last of several spans ends now", () => {
    const minutes = [minute(0, 10), minute(4, 20), minute(5, 40), minute(59, 80), minute(60, 160)];
    const spans = spansOf(minutes, HISTORY, 1, 12).map(({ late }) => late?.p99);
    expect(spans).toEqual([80, ...Array.from({ length: 9 }, () => undefined), 40, 20]);
  });
});

describe("now, compared with an hour ago", () => {
  test("is the last ten minutes and the ten that ended an hour ago", () => {
    const minutes = [0, 10, 11, 59, 60, 61, 70, 71].map((ago) => minute(ago, 10 ** 3 + ago));
    const { now, before } = compare(HISTORY, minutes);
    expect(now).toMatchObject({ started: 2, late: { p99: 1010 } });
    expect(before).toMatchObject({ started: 3, late: { p99: 1070 } });
  });

  test("knows nothing of an hour in which the server did not run", () => {
    expect(compare({ from: TO - HOUR, to: TO }, [minute(0, 10)]).before).toBeUndefined();
  });

  const trendFrom = (before: number, now: number) => {
    const trend = trendOf(compare(HISTORY, [minute(65, before), minute(1, now)]));
    return trend && trendText(trend);
  };

  test.each([
    [1000, 2300, "2.3 times as late"],
    [400, 20_000, "50 times as late"],
    [3000, 1000, "3 times less late"],
    [1000, 1400, "about as late"],
    [10, 150, "about as late"],
    [0, 500, "50 times as late"],
  ])("from %i ms to %i ms: %s", (before, now, text) => {
    expect(trendFrom(before, now)).toBe(text);
  });

  const then = (p50: number) => minute(65, 2 * p50);
  const now = (p50: number, started: number) => minute(1, 2 * p50, { started });
  test.each([
    ["half of 20 jobs 40 s late, and 2 s then", [then(2000), now(40_000, 20)], true],
    ["only 19 jobs", [then(2000), now(40_000, 19)], false],
    ["9 times as late", [then(4500), now(40_000, 20)], false],
    ["100 times as late, but no job is late yet", [then(50), now(5000, 20)], false],
    ["one slow minute of a few jobs", [then(20), now(90, 20), minute(2, 90_000, { started: 5 })], false],
    ["nothing is known of then", [now(40_000, 20)], false],
  ])("jobs start much later or not: %s", (_, minutes, isLater) => {
    expect(startsMuchLater(compare(HISTORY, minutes))).toBe(isLater);
  });

  test("is nothing if no job started at one of the times", () => {
    expect(trendOf(compare(HISTORY, [minute(1, 10)]))).toBeUndefined();
  });
});

test("a count that the server does not know is not 0", () => {
  const unknown = { parts: ["failed"], why: "CloudWatch gave a part" } as const;
  const history = { ...HISTORY, topics: [{ topic: "work", minutes: [], unknown }] };
  const texts = (topic: string) =>
    (["failed", "dead"] as const).map((part) => countText(0, part, unknownOf(history, topic)));
  expect(texts("work")).toEqual(["unknown", "0"]);
  expect(texts("other")).toEqual(["0", "0"]);
});
