import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startMinuteClock } from "../../../local/functions/minute-clock.ts";

const NOON = Date.UTC(2026, 2, 12, 12);

beforeEach(() => vi.useFakeTimers({ now: NOON + 59_000 }));
afterEach(() => vi.useRealTimers());

test("each minute of the wall clock is called once, at its beginning", () => {
  const minutes: number[] = [];
  const clock = startMinuteClock((minute) => minutes.push(minute - NOON));
  vi.advanceTimersByTime(999);
  expect(minutes).toEqual([]);
  vi.advanceTimersByTime(1 + 120_000);
  expect(minutes).toEqual([60_000, 120_000, 180_000]);
  clock.stop();
  vi.advanceTimersByTime(120_000);
  expect(minutes).toHaveLength(3);
});

test("after a sleep of the machine only the latest minute is called", () => {
  const minutes: number[] = [];
  const clock = startMinuteClock((minute) => minutes.push(minute - NOON));
  vi.setSystemTime(NOON + 600_500);
  vi.advanceTimersByTime(1_000);
  expect(minutes).toEqual([600_000]);
  vi.advanceTimersByTime(60_000);
  expect(minutes).toEqual([600_000, 660_000]);
  clock.stop();
});

test("minutes are called after the clock was set back, by an hour or by more than a timer can wait", () => {
  for (const back of [3_600_000, 30 * 86_400_000]) {
    vi.setSystemTime(NOON + 30_000);
    const minutes: number[] = [];
    const clock = startMinuteClock((minute) => minutes.push(minute - NOON));
    vi.setSystemTime(NOON + 30_000 - back);
    vi.advanceTimersByTime(90_000);
    expect(minutes).toEqual([60_000 - back, 120_000 - back]);
    clock.stop();
  }
});
