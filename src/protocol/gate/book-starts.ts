import { BUCKET, DAY } from "../../core/constants.ts";
import { minuteOf, startsKey, ttl } from "../../core/item-keys.ts";
import type { Key } from "../../core/items.ts";
import {
  beginOf,
  counterOf,
  type Period,
  periodOf,
  periodsIn,
  periodsToAsk,
  startsFarAhead,
  type Wanted,
} from "../../core/limit.ts";
import { requireReadable } from "../../core/readable.ts";
import { nextOpening } from "../../cron/window.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { askUnlessSilent } from "../store/silence.ts";

/** A topic's limit, and which starts may be given now. */
export type Limit = {
  readonly maxPerSecond: number;
  /** What is counted: the starts of the topic's limit, or the turns of its resume at a rate. */
  readonly counters: "starts" | "turns";
  readonly window?: string;
  /** No job gets a later start than it wants at or after this time: ms since the epoch. */
  readonly until: number;
  /** Other jobs wait: no start is given at or after `until`, and the counters are read first, as most periods are full. */
  readonly isCrowded?: boolean;
  /** A job gets a start in the period that it wants, or none. */
  readonly exact?: boolean;
  /** How many starts each period has left, by its beginning, as far as a caller with several calls knows. Each call updates it. */
  readonly room?: Map<number, number>;
};

const askCounters = askUnlessSilent();
/** How long a counter may take to answer: ms. Jobs of other topics wait meanwhile. */
const PATIENCE = 10_000;
/** A job that has no start yet. `at`: its place in `wanted`. */
type Open = Wanted & { readonly at: number };
type Placed = readonly [at: number, start: number];
type Booking = Pick<Limit, "window"> & {
  readonly keyOf: (minute: number) => Key;
  readonly period: Period;
  /** True if a release books, which passes `room`: few others book at the same time. */
  readonly isAlone: boolean;
  readonly room: Map<number, number>;
};

/** In each round a job takes a start, or finds that others have just filled its period. */
const ROUNDS = 20;
const WIDTH = 4;

/**
 * Books a start of a limited topic for each of these jobs. Answers the starts (ms since the epoch) in the order of `wanted`,
 * `undefined` for a job that gets none.
 * - A job gets the first free start from the one that it wants on, in the window, before `until` and not after its `last`.
 * - A job that wants a start at or after `until` gets one in that period or none, while less than half of that minute's starts are taken.
 *
 * All processes count in the same items, one for each minute: docs/internals/decisions/limits.md. A start that is counted twice is wasted.
 * @throws if the counters cannot be read or written; at once, for 40 s, if the last call got no answer (`NO_ANSWER_AFTER`)
 */
export function bookStarts(
  ctx: Context,
  topic: string,
  limit: Limit,
  wanted: readonly Wanted[],
): Promise<(number | undefined)[]> {
  return askCounters(ctx, topic, () => bookAll(ctx, topic, limit, wanted));
}

async function bookAll(
  ctx: Context,
  topic: string,
  limit: Limit,
  wanted: readonly Wanted[],
): Promise<(number | undefined)[]> {
  const { window, until, isCrowded = false } = limit;
  const booking: Booking = {
    ...(window !== undefined && { window }),
    keyOf: (minute) => startsKey(topic, minute, limit.counters),
    period: periodOf(limit.maxPerSecond),
    isAlone: limit.room !== undefined,
    room: limit.room ?? new Map<number, number>(),
  };
  const now = ctx.clock();
  const open = wanted
    .map(({ start, last }, at): Open => ({ at, start: nextOpening(window, Math.max(start, now)), last }))
    .sort((a, b) => a.start - b.start);
  const near = open.filter(({ start }) => start < until);
  const placed = await bookNear(ctx, booking, limit, near);
  // A job whose window opens only at or after `until` gets no start here: it is parked until the opening.
  const isOwn = ({ at, start, last }: Open): boolean => start === wanted[at]?.start && start <= last;
  const far = isCrowded ? [] : open.filter((one) => one.start >= until && isOwn(one));
  if (far.length > 0)
    placed.push(...(await takeStarts(ctx, booking, await selectFarAhead(ctx, booking, far))));
  const starts = new Map(placed);
  return wanted.map((_, at) => starts.get(at));
}

/** Updates `room`. */
async function bookNear(
  ctx: Context,
  booking: Booking,
  { until, isCrowded = false, exact = false }: Limit,
  jobs: readonly Open[],
): Promise<Placed[]> {
  const { window, period, room } = booking;
  const [first] = jobs;
  if (!first) return [];
  const periods = periodsIn(beginOf(first.start, period), until, period).filter(
    (begin) => nextOpening(window, begin) < begin + period.ms,
  );
  const placed = new Map<number, number>();
  let left = jobs;
  // How long the counters took to answer last: ms. A period that ends within that time would be over by then.
  let waited = 0;
  for (let round = 0, isRead = room.size > 0; round < ROUNDS && left.length > 0; round++) {
    // If no other jobs wait, the first round does not read the counters.
    if (!isRead && (isCrowded || round > 0)) {
      await readRoom(ctx, booking, periods);
      isRead = true;
    }
    const roomOf = (begin: number): number =>
      isPast(ctx, begin, period, waited) ? 0 : (room.get(begin) ?? period.starts);
    const asked = periodsToAsk(periods, period, left, roomOf, exact);
    if (asked.size === 0) break;
    const asking = ctx.clock();
    const jobsAt = (places: readonly number[]): Open[] => places.flatMap((at) => left[at] ?? []);
    const jobsOf = new Map([...asked].map(([begin, places]) => [begin, jobsAt(places)]));
    for (const [at, start] of await takeStarts(ctx, booking, jobsOf)) placed.set(at, start);
    waited = ctx.clock() - asking;
    left = left.filter(({ at }) => !placed.has(at));
  }
  return [...placed];
}

/** Counts the jobs in their periods, with one call for each minute. Places those whose periods had room. */
async function takeStarts(
  ctx: Context,
  { keyOf, period, window, isAlone, room }: Booking,
  asked: ReadonlyMap<number, readonly Open[]>,
): Promise<Placed[]> {
  const by = ctx.clock() + PATIENCE;
  const minutes = Map.groupBy(asked, ([begin]) => minuteOf(begin));
  const placed = await inParallel([...minutes], WIDTH, async ([minute, these]) => {
    const amounts = Object.fromEntries(these.map(([begin, jobs]) => [counterOf(begin), jobs.length]));
    const counted = await ctx.pool.count(keyOf(minute), amounts, ttl(minute + DAY), by);
    return these.flatMap(([begin, jobs]): Placed[] => {
      // rule: starts-of-others-count
      const count = counted[counterOf(begin)] ?? 0;
      const before = count - jobs.length;
      const free = isPast(ctx, begin, period) ? 0 : Math.max(period.starts - before, 0);
      const hadRoom = (room.get(begin) ?? 0) > 0;
      room.set(begin, Math.max(period.starts - count, 0));
      // Other callers have filled the period since it was read. They go on to the next periods, so skip as many as they fill.
      if (!isAlone && hadRoom)
        for (let i = 1; (i + 1) * period.starts <= before; i++) room.set(begin + i * period.ms, 0);
      return jobs.slice(0, free).map(({ at, start }) => [at, nextOpening(window, Math.max(start, begin))]);
    });
  });
  return placed.flat();
}

/** No job gets a start in a period that is over in `ahead` ms: all jobs that waited for a throttled counter would start at once. */
function isPast(ctx: Context, begin: number, period: Period, ahead = 0): boolean {
  return begin + period.ms <= ctx.clock() + ahead;
}

/** A smaller number that `room` has stays. */
async function readRoom(ctx: Context, booking: Booking, periods: readonly number[]): Promise<void> {
  const { period, room } = booking;
  const counts = await readCounts(ctx, booking, periods);
  for (const begin of periods) {
    const left = Math.max(period.starts - counts(begin), 0);
    room.set(begin, Math.min(left, room.get(begin) ?? left));
  }
}

/** Answers a function from a period's beginning to its count. */
async function readCounts(
  ctx: Context,
  { keyOf }: Booking,
  periods: readonly number[],
): Promise<(begin: number) => number> {
  const minutes = [...new Set(periods.map(minuteOf))];
  const keys = minutes.map(keyOf);
  const items = await ctx.pool.read(keys);
  const counted = items.map((item, i) => requireReadable(item, `the counter ${keys[i]?.pk}`) ?? {});
  const counts = new Map(minutes.map((minute, i) => [minute, counted[i] as Record<string, unknown>]));
  return (begin) => Number(counts.get(minuteOf(begin))?.[counterOf(begin)] ?? 0);
}

/** The jobs that may get a start far ahead, by period: the period has room, and less than half of its minute's starts are taken. */
async function selectFarAhead(
  ctx: Context,
  booking: Booking,
  jobs: readonly Open[],
): Promise<Map<number, Open[]>> {
  const { period } = booking;
  const minutes = Map.groupBy(jobs, ({ start }) => minuteOf(beginOf(start, period)));
  const periodsOf = (minute: number) => periodsIn(minute, minute + BUCKET, period);
  const counts = await readCounts(ctx, booking, [...minutes.keys()].flatMap(periodsOf));
  const asked = new Map<number, Open[]>();
  for (const [minute, these] of minutes) {
    const taken = periodsOf(minute).reduce((sum, begin) => sum + Math.min(counts(begin), period.starts), 0);
    let left = startsFarAhead(minute, period) - taken;
    for (const job of these) {
      const begin = beginOf(job.start, period);
      const mates = asked.get(begin) ?? [];
      if (left <= 0 || counts(begin) + mates.length >= period.starts) continue;
      mates.push(job);
      asked.set(begin, mates);
      left -= 1;
    }
  }
  return asked;
}
