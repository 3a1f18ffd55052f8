import { BUCKET } from "./constants.ts";
import { minuteOf } from "./items.ts";

/** A limit's unit: at most `starts` in each period of `ms`, which begin at whole multiples of it. */
export type Period = { readonly ms: number; readonly starts: number };

/** `maxPerSecond` in whole numbers: so many a second, or one in so many whole seconds; never more than was said. */
export function periodOf(maxPerSecond: number): Period {
  if (maxPerSecond >= 1) return { ms: 1000, starts: Math.floor(maxPerSecond) };
  // Such as 1 / (1 / 49), which is a little more than 49.
  return { ms: Math.ceil(1 / maxPerSecond - 1e-9) * 1000, starts: 1 };
}

/** When the period that `time` is in began. */
export function beginOf(time: number, { ms }: Period): number {
  return time - (time % ms);
}

/** The counter of a period in the item of the minute that it begins in. */
export function counterOf(begin: number): string {
  return `s${(begin - minuteOf(begin)) / 1000}`;
}

/** Where the periods of one minute begin, in ms since the epoch. */
export function periodsIn(minute: number, { ms }: Period): number[] {
  const periods: number[] = [];
  for (let begin = Math.ceil(minute / ms) * ms; begin < minute + BUCKET; begin += ms) periods.push(begin);
  return periods;
}

/**
 * Whom to ask for in the periods of one minute: jobs in the order of their wanted starts, each in the first period
 * that is not full and not before its own. `wanted` is sorted. Answers the jobs' places in it by period.
 */
export function askIn(
  minute: number,
  period: Period,
  wanted: readonly number[],
  isFull: (begin: number) => boolean,
): Map<number, number[]> {
  const asked = new Map<number, number[]>();
  let next = 0;
  for (const begin of periodsIn(minute, period)) {
    if (isFull(begin)) continue;
    const places: number[] = [];
    while (places.length < period.starts && (wanted[next] ?? Number.POSITIVE_INFINITY) < begin + period.ms)
      places.push(next++);
    if (places.length > 0) asked.set(begin, places);
  }
  return asked;
}
