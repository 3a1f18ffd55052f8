import { BUCKET } from "./constants.ts";
import { minuteOf } from "./items.ts";

/** A limit's unit: at most `starts` in each period of `ms`, which begin at whole multiples of it. */
export type Period = { readonly ms: number; readonly starts: number };

/** When a job wants to start, and the last moment at which it can use a start: ms since the epoch. */
export type Wanted = { readonly start: number; readonly last: number };

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

/** Where the periods begin that begin from `from` on and before `until`, in ms since the epoch. */
export function periodsIn(from: number, until: number, { ms }: Period): number[] {
  const periods: number[] = [];
  for (let begin = Math.ceil(from / ms) * ms; begin < until; begin += ms) periods.push(begin);
  return periods;
}

/** How many starts of one minute are given far ahead: half of them, so that the others are left for what comes later. */
export function startsFarAhead(minute: number, period: Period): number {
  return Math.ceil((periodsIn(minute, minute + BUCKET, period).length * period.starts) / 2);
}

/**
 * Whom to ask for in which period: jobs in the order of their wanted starts, each in the first period with room that does
 * not end before its own start. A job is passed over where that period begins after its `last`. `wanted` and `periods` are
 * sorted. `exact`: a job is asked for in its own period or not at all. Answers the jobs' places in `wanted` by period.
 */
export function periodsToAsk(
  periods: readonly number[],
  { ms }: Period,
  wanted: readonly Wanted[],
  roomOf: (begin: number) => number,
  exact: boolean,
): Map<number, number[]> {
  const asked = new Map<number, number[]>();
  let next = 0;
  for (const begin of periods) {
    const room = roomOf(begin);
    const places: number[] = [];
    for (; next < wanted.length && places.length < room; next++) {
      const { start, last } = wanted[next] as Wanted;
      if (start >= begin + ms) break;
      if ((!exact || start >= begin) && Math.max(start, begin) <= last) places.push(next);
    }
    if (places.length > 0) asked.set(begin, places);
  }
  return asked;
}
