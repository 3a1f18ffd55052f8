import { BUCKET } from "./constants.ts";
import { minuteOf } from "./item-keys.ts";

/** A rate limit: at most `starts` in each period of `ms`. Periods begin at whole multiples of `ms` since the epoch. */
export type Period = { readonly ms: number; readonly starts: number };

/** When a job wants to start, and the last moment at which it can use a start: ms since the epoch. */
export type Wanted = { readonly start: number; readonly last: number };

/** Converts `maxPerSecond` to whole numbers of starts and seconds, never to a higher rate. */
export function periodOf(maxPerSecond: number): Period {
  if (maxPerSecond >= 1) return { ms: 1000, starts: Math.floor(maxPerSecond) };
  // 1 / (1 / 49) is a little more than 49, because a double rounds.
  return { ms: Math.ceil(1 / maxPerSecond - 1e-9) * 1000, starts: 1 };
}

export function beginOf(time: number, { ms }: Period): number {
  return time - (time % ms);
}

/** Answers the attribute that counts a period's starts, in the item of the minute in which the period begins. */
export function counterOf(begin: number): string {
  return `s${(begin - minuteOf(begin)) / 1000}`;
}

export function periodsIn(from: number, until: number, { ms }: Period): number[] {
  const periods: number[] = [];
  for (let begin = Math.ceil(from / ms) * ms; begin < until; begin += ms) periods.push(begin);
  return periods;
}

/** Half of a minute's starts may be given far ahead, rounded up. Jobs that are filed later get the others. */
export function startsFarAhead(minute: number, period: Period): number {
  return Math.ceil((periodsIn(minute, minute + BUCKET, period).length * period.starts) / 2);
}

/**
 * Distributes jobs, in the order of their wanted starts, over periods: each gets the first one with room that does not end before its start, or
 * none after its `last`, or (`exact`) none but its own. Answers for each period the indexes in `wanted`. Both lists are sorted.
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
