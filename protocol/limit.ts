import { BUCKET, DAY, WRITER_DEADLINE } from "../core/constants.ts";
import { isNear, startsAt } from "../core/home.ts";
import { type Home, type Item, minuteOf, startsKey, ttl } from "../core/items.ts";
import { askIn, beginOf, counterOf, type Period, periodOf, periodsIn } from "../core/limit.ts";
import { holdUntil } from "./hold.ts";
import { policyOf } from "./policy.ts";
import type { Context } from "./ports.ts";

/** A start that was booked stands for so long after it: whoever sends the job then need not book again. */
const BOOKED_FOR = BUCKET;
/** Minutes whose counters are read at once, to pass over those that are full. */
const STRETCH = 60;

/** Jobs by what a limit made of them: those that may be sent now, each saying from when on, and those it could not move. */
export type Shaped = { going: Home[]; failed: Map<string, Error> };

/**
 * Gives the jobs of limited topics their starts, at most `maxPerSecond` in a second, whoever hands them over. One
 * whose start is too far ahead to be sent is moved there in the pool, or with `file` filed there. Throws when
 * DynamoDB does not count.
 */
export async function shape(ctx: Context, homes: readonly Home[]): Promise<Shaped> {
  const shaped: Shaped = { going: [], failed: new Map() };
  for (const [topic, jobs] of Map.groupBy(homes, (home) => home.topic)) {
    const booked = await booking(ctx, topic, jobs);
    const now = ctx.clock();
    const far = booked.filter((home) => home.state === "scheduled" && !isNear(startsAt(home), now));
    shaped.going.push(...booked.filter((home) => !far.includes(home)));
    if (far.length === 0) continue;
    const outcomes = await holdUntil(
      ctx,
      far.map((home) => ({ home, start: startsAt(home) })),
    );
    for (const [i, outcome] of outcomes.entries())
      if (outcome instanceof Error) shaped.failed.set(far[i]?.id ?? "", outcome);
    ctx.report({ type: "deferred", topic, jobs: far.length });
  }
  return shaped;
}

/** These jobs of one topic, each with its start by the topic's limit, if there is one. */
export async function booking(ctx: Context, topic: string, jobs: readonly Home[]): Promise<Home[]> {
  const { maxPerSecond } = policyOf(ctx, topic);
  if (maxPerSecond === undefined) return [...jobs];
  const now = ctx.clock();
  // A crashed run is sent to be settled, not to be run.
  const free = jobs.filter(
    ({ state, heldUntil = 0 }) => state === "scheduled" && heldUntil <= now - BOOKED_FOR,
  );
  const starts = await bookStarts(ctx, topic, maxPerSecond, free.map(startsAt));
  const startOf = new Map(free.map((home, i) => [home.id, starts[i] ?? now]));
  return jobs.map((home) => {
    const start = startOf.get(home.id);
    // One that is late anyhow, or starts in the second it is due in, is not held.
    return start === undefined || start <= Math.max(home.dueAt, now) ? home : { ...home, heldUntil: start };
  });
}

/**
 * Books a start for each wanted one (ms since the epoch; a past one means now), the first that is free from then on, and
 * answers them in order. All who hand jobs over count in the same items, second by second, so that nobody waits for
 * anybody; what is counted twice, or by somebody who died, is merely a start not taken.
 */
export async function bookStarts(
  ctx: Context,
  topic: string,
  maxPerSecond: number,
  wanted: readonly number[],
): Promise<number[]> {
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  const period = periodOf(maxPerSecond);
  const starts: number[] = [];
  const full = new Set<number>();
  let open = [...wanted.entries()]
    .map(([at, start]) => ({ at, start: Math.max(start, now) }))
    .sort((a, b) => a.start - b.start);
  let minute = 0;
  while (open.length > 0) {
    minute = Math.max(minute, minuteOf(beginOf(open[0]?.start ?? now, period)));
    const asked = askIn(
      minute,
      period,
      open.map(({ start }) => start),
      (begin) => full.has(begin),
    );
    if (asked.size === 0) {
      minute = await firstOpen(ctx, topic, period, minute + BUCKET);
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
        starts[job.at] = Math.max(job.start, begin);
        placed.add(place);
      }
      if (count >= period.starts) full.add(begin);
    }
    open = open.filter((_, place) => !placed.has(place));
  }
  return starts;
}

/** The first minute from `from` on that may have a period which is not full. */
async function firstOpen(ctx: Context, topic: string, period: Period, from: number): Promise<number> {
  for (let start = from; ; start += STRETCH * BUCKET) {
    const minutes = Array.from({ length: STRETCH }, (_, i) => start + i * BUCKET);
    const items = await ctx.pool.read(minutes.map((minute) => startsKey(topic, minute)));
    const open = minutes.find((minute, i) => hasRoom(items[i], minute, period));
    if (open !== undefined) return open;
  }
}

function hasRoom(item: Item | undefined, minute: number, period: Period): boolean {
  const counts = (item ?? {}) as unknown as Record<string, number | undefined>;
  return periodsIn(minute, period).some((begin) => (counts[counterOf(begin)] ?? 0) < period.starts);
}
