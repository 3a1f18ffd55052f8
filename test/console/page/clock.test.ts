import { beforeEach, expect, test, vi } from "vitest";
import { ahead, clock, learnTime, queueTime, wrong } from "../../../console/page/clock.ts";

const NOW = Date.parse("2026-11-26T10:00:00.000Z");
const HOUR = 3_600_000;
const iso = (ms: number) => new Date(NOW + ms).toISOString();

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  ahead.value = 0;
  wrong.value = 0;
  return () => vi.useRealTimers();
});

test("a clock that is an hour ahead is set back, and stays", () => {
  learnTime(iso(-HOUR), NOW - 100);
  expect(clock()).toBe(NOW - HOUR + 100);
  learnTime(iso(-HOUR), NOW - 100);
  expect(clock()).toBe(NOW - HOUR + 100);
});

test("a clock that is an hour behind is set ahead", () => {
  learnTime(iso(HOUR), NOW - 100);
  expect(queueTime(NOW)).toBe(NOW + HOUR);
});

test.each([-30_000, -10_000, 0])("a slow answer from %i ms ago says nothing about the clock", (answered) => {
  learnTime(iso(answered), NOW - 30_000);
  expect(clock()).toBe(NOW);
});

test("a move of the local stack's clock counts once", () => {
  learnTime(iso(HOUR), NOW - 100);
  ahead.value = HOUR;
  expect(clock()).toBe(NOW + HOUR);
  learnTime(iso(HOUR), NOW - 100);
  expect(wrong.value).toBe(0);
});
