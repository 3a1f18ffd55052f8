import { BUCKET, DAY } from "../../core/constants.ts";
import { minuteOf, startsKey, ttl } from "../../core/items.ts";
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
import { nextOpening } from "../../cron/window.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { askUnlessSilent } from "../store/silence.ts";
import { readable } from "../store/unreadable.ts";

/** A topic's limit, and where starts may be given now. */
export type Limit = {
  readonly maxPerSecond: number;
  readonly window?: string;
  /** Up to when a job is given a later start than its own: ms since the epoch. */
  readonly until: number;
  /** Other jobs wait: nothing is given beyond `until`, and its counters are likely to be full. */
  readonly isCrowded?: boolean;
  /** A job is given a start of the very period that it wants, or none. */
  readonly exact?: boolean;
  /** How many starts each period has left, as far as the caller knows; kept for its next call. */
  readonly room?: Map<number, number>;
};

/** By topic: counters. */
const askCounters = askUnlessSilent();
/** ms that a counter may take. */
const PATIENCE = 10_000;
/** A job that has no start yet, and its place among those asked for. */
type Open = Wanted & { readonly at: number };

/** Each round takes a start or finds a period full, so that this many are only needed against many others at once. */
const ROUNDS = 20;
const WIDTH = 4;

/**
 * Books a start for each wanted one (a past one means now): the first that is free from then on and before `until`, while the
 * topic's window is open, if the job can use it. A job that wants a start beyond `until` gets its own period or none, and
 * only as long as half of that minute's starts are free. Answers them in order, `undefined` for a job that gets none.
 *
 * All who hand jobs over count in the same items, second by second, so that nobody waits for anybody. What is counted
 * twice, or by somebody who died, is merely a start not taken. A call touches the items of three minutes, however many
 * jobs wait. Throws when the counters do not answer, and at once for a while after that.
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
  const { window, until, isCrowded = false, exact = false, room = new Map<number, number>() } = limit;
  // A release asks for the starts of many jobs, and few ask beside it.
  const isAlone = limit.room !== undefined;
  const now = ctx.clock();
  const period = periodOf(limit.maxPerSecond);
  const starts: (number | undefined)[] = wanted.map(() => undefined);
  const open = wanted
    .map(({ start, last }, at): Open => ({ at, start: nextOpening(window, Math.max(start, now)), last }))
    .sort((a, b) => a.start - b.start);
  const place = ({ at, start }: Open, begin: number): void => {
    starts[at] = nextOpening(window, Math.max(start, begin));
  };
  const take = (asked: ReadonlyMap<number, readonly Open[]>) =>
    takeStarts(ctx, topic, { period, isAlone }, asked, room, place);

  let near = open.filter(({ start }) => start < until);
  const periods = near[0]
    ? periodsIn(beginOf(near[0].start, period), until, period).filter(
        (begin) => nextOpening(window, begin) < begin + period.ms,
      )
    : [];
  // How long the counters took last: a period that ends before they answer again would be lost as well. ms.
  let waited = 0;
  for (let round = 0, isRead = room.size > 0; round < ROUNDS && near.length > 0; round++) {
    // Where nobody waits, the first try takes what it wants, and nothing is read.
    if (!isRead && (isCrowded || round > 0)) {
      await readRoom(ctx, topic, periods, period, room);
      isRead = true;
    }
    const roomOf = (begin: number): number =>
      isPast(ctx, begin, period, waited) ? 0 : (room.get(begin) ?? period.starts);
    const asked = periodsToAsk(periods, period, near, roomOf, exact);
    if (asked.size === 0) break;
    const asking = ctx.clock();
    await take(new Map([...asked].map(([begin, places]) => [begin, places.flatMap((at) => near[at] ?? [])])));
    waited = ctx.clock() - asking;
    near = near.filter(({ at }) => starts[at] === undefined);
  }

  // What waits for an opening is parked till then.
  const isOwn = ({ at, start, last }: Open): boolean => start === wanted[at]?.start && start <= last;
  const far = isCrowded ? [] : open.filter((one) => one.start >= until && isOwn(one));
  if (far.length > 0) await take(await askFarAhead(ctx, topic, period, far));
  return starts;
}

/** Adds to the counters of all these periods, a call a minute, and places the jobs that they had room for. */
async function takeStarts(
  ctx: Context,
  topic: string,
  { period, isAlone }: { period: Period; isAlone: boolean },
  asked: ReadonlyMap<number, readonly Open[]>,
  room: Map<number, number>,
  place: (job: Open, begin: number) => void,
): Promise<void> {
  const by = ctx.clock() + PATIENCE;
  const minutes = Map.groupBy(asked, ([begin]) => minuteOf(begin));
  await inParallel([...minutes], WIDTH, async ([minute, these]) => {
    const amounts = Object.fromEntries(these.map(([begin, jobs]) => [counterOf(begin), jobs.length]));
    const counted = await ctx.pool.count(startsKey(topic, minute), amounts, ttl(minute + DAY), by);
    for (const [begin, jobs] of these) {
      // rule: starts-of-others-count
      const count = counted[counterOf(begin)] ?? 0;
      const before = count - jobs.length;
      const free = isPast(ctx, begin, period) ? 0 : Math.max(period.starts - before, 0);
      for (const job of jobs.slice(0, free)) place(job, begin);
      const hadRoom = (room.get(begin) ?? 0) > 0;
      room.set(begin, Math.max(period.starts - count, 0));
      if (isAlone || !hadRoom) continue;
      // It was read as free, so that all who were before have come since. They find it full as well, and take the next periods:
      // who asked for the same periods as they would meet them in each of these.
      for (let i = 1; (i + 1) * period.starts <= before; i++) room.set(begin + i * period.ms, 0);
    }
  });
}

/**
 * Whether a period is over in `ahead` ms, so that its starts cannot be taken any more: where a throttled counter has kept many
 * waiting, all would start in the second in which it answers.
 */
function isPast(ctx: Context, begin: number, period: Period, ahead = 0): boolean {
  return begin + period.ms <= ctx.clock() + ahead;
}

/** What the counters of these periods leave. */
async function readRoom(
  ctx: Context,
  topic: string,
  periods: readonly number[],
  period: Period,
  room: Map<number, number>,
): Promise<void> {
  const counts = await readCounts(ctx, topic, periods);
  for (const begin of periods) {
    const left = Math.max(period.starts - counts(begin), 0);
    room.set(begin, Math.min(left, room.get(begin) ?? left));
  }
}

/** How many starts are counted in a period, of all minutes that these periods begin in. */
async function readCounts(
  ctx: Context,
  topic: string,
  periods: readonly number[],
): Promise<(begin: number) => number> {
  const minutes = [...new Set(periods.map(minuteOf))];
  const items = await ctx.pool.read(minutes.map((minute) => startsKey(topic, minute)));
  const counted = items.map((item) => readable(item, `a counter of topic ${topic}`) ?? {});
  const counts = new Map(minutes.map((minute, i) => [minute, counted[i] as Record<string, unknown>]));
  return (begin) => Number(counts.get(minuteOf(begin))?.[counterOf(begin)] ?? 0);
}

/** Those of jobs that start far ahead for whom their own period has room, and the share of its minute, too. */
async function askFarAhead(
  ctx: Context,
  topic: string,
  period: Period,
  jobs: readonly Open[],
): Promise<Map<number, Open[]>> {
  const minutes = Map.groupBy(jobs, ({ start }) => minuteOf(beginOf(start, period)));
  const periodsOf = (minute: number) => periodsIn(minute, minute + BUCKET, period);
  const counts = await readCounts(ctx, topic, [...minutes.keys()].flatMap(periodsOf));
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
