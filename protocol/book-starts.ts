import { BUCKET, DAY, WRITER_DEADLINE } from "../core/constants.ts";
import { minuteOf, startsKey, ttl } from "../core/items.ts";
import { askIn, beginOf, counterOf, type Period, periodOf, periodsIn } from "../core/limit.ts";
import { nextOpening } from "../cron/window.ts";
import type { Context, Pool } from "./ports.ts";

/** Minutes whose counters are read at once, at first, to pass over those that are full. */
const STRETCH = 4;
const LONGEST_STRETCH = 960;

/** Before which minute each topic's minutes were seen to be full from now on: counters only grow. */
const fullUntil = new WeakMap<Pool, Map<string, number>>();

/**
 * Books a start for each wanted one (ms since the epoch; a past one means now), the first that is free from then on while
 * the topic's window is open, and answers them in order. All who hand jobs over count in the same items, second by second, so that nobody waits for
 * anybody; what is counted twice, or by somebody who died, is merely a start not taken.
 */
export async function bookStarts(
  ctx: Context,
  topic: string,
  maxPerSecond: number,
  wanted: readonly number[],
  window?: string,
): Promise<number[]> {
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  const period = periodOf(maxPerSecond);
  const starts: number[] = [];
  const full = new Set<number>();
  let open = [...wanted.entries()]
    .map(([at, start]) => ({ at, start: nextOpening(window, Math.max(start, now)) }))
    .sort((a, b) => a.start - b.start);
  const hints = fullUntil.get(ctx.pool) ?? new Map<string, number>();
  fullUntil.set(ctx.pool, hints);
  const hint = hints.get(topic) ?? 0;
  let minute = hint;
  while (open.length > 0) {
    minute = Math.max(minute, minuteOf(beginOf(open[0]?.start ?? now, period)));
    const asked = askIn(
      minute,
      period,
      open.map(({ start }) => start),
      (begin) => full.has(begin) || isClosed(window, begin, period),
    );
    if (asked.size === 0) {
      minute = openMinute(window, minute + BUCKET, period);
      continue;
    }
    const amounts = Object.fromEntries(
      [...asked].map(([begin, places]) => [counterOf(begin), places.length]),
    );
    const counted = await ctx.pool.count(startsKey(topic, minute), amounts, ttl(minute + DAY), by);
    const placed = new Set<number>();
    for (const [begin, places] of asked) {
      const count = counted[counterOf(begin)] ?? 0;
      const free = Math.max(period.starts - (count - places.length), 0);
      for (const place of places.slice(0, free)) {
        const job = open[place];
        if (!job) continue;
        starts[job.at] = nextOpening(window, Math.max(job.start, begin));
        placed.add(place);
      }
      if (count >= period.starts) full.add(begin);
    }
    open = open.filter((_, place) => !placed.has(place));
    if (placed.size > 0) continue;
    // Behind others' backlog: where that ends is read, not tried second by second.
    const from = minute;
    minute = await firstOpen(ctx, topic, { period, window }, from, full);
    // One that wanted to start now has found what is left of this very minute full, too.
    const fromNow = (open[0]?.start ?? now) <= now;
    if (fromNow && from <= Math.max(minuteOf(now) + BUCKET, hint)) hints.set(topic, minute);
  }
  return starts;
}

/** Whether nothing may start in a period. */
function isClosed(window: string | undefined, begin: number, { ms }: Period): boolean {
  return nextOpening(window, begin) >= begin + ms;
}

/** The first minute from `minute` on in which a period begins that is not closed. */
function openMinute(window: string | undefined, minute: number, period: Period): number {
  return Math.max(minute, minuteOf(beginOf(nextOpening(window, minute), period)));
}

/** The first minute from `from` on with a period that is neither full nor closed. Those of it that are full join `full`. */
async function firstOpen(
  ctx: Context,
  topic: string,
  { period, window }: { period: Period; window: string | undefined },
  from: number,
  full: Set<number>,
): Promise<number> {
  let start = from;
  for (let stretch = STRETCH; ; stretch = Math.min(stretch * 2, LONGEST_STRETCH)) {
    const minutes: number[] = [];
    for (; minutes.length < stretch; start = openMinute(window, start + BUCKET, period)) minutes.push(start);
    const items = await ctx.pool.read(minutes.map((minute) => startsKey(topic, minute)));
    for (const [i, minute] of minutes.entries()) {
      const counts = (items[i] ?? {}) as Record<string, unknown>;
      const periods = periodsIn(minute, period).filter((begin) => !isClosed(window, begin, period));
      const taken = periods.filter((begin) => Number(counts[counterOf(begin)] ?? 0) >= period.starts);
      if (taken.length === periods.length) continue;
      for (const begin of taken) full.add(begin);
      return minute;
    }
  }
}
