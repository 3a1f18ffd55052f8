import { BUCKET, DAY } from "../../core/constants.ts";
import { type Key, minuteOf, startsKey, ttl } from "../../core/items.ts";
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
  /** A job gets a later start than it wants only if this start lies before `until`: ms since the epoch. */
  readonly until: number;
  /** Set if other jobs wait. Then no start is given at or after `until`, and the counters are read first: most periods are full. */
  readonly isCrowded?: boolean;
  /** Set if a job must get a start in the period that it wants, or none. */
  readonly exact?: boolean;
  /** How many starts each period has left, by its beginning, as far as a caller with several calls knows. Each call updates it. */
  readonly room?: Map<number, number>;
};

const askCounters = askUnlessSilent();
/** Answers the key of the item that counts the starts, or the turns, of a minute. */
type KeyOf = (minute: number) => Key;
/** How long a counter may take to answer: ms. Jobs of other topics wait meanwhile. */
const PATIENCE = 10_000;
/** A job that has no start yet. `at`: its place in `wanted`. */
type Open = Wanted & { readonly at: number };

/** How many rounds one booking has at most. In a round a job takes a start, or finds that others have just filled its period. */
const ROUNDS = 20;
const WIDTH = 4;

/**
 * Books a start of a limited topic for each of these jobs. Answers the starts (ms since the epoch) in the order of `wanted`,
 * `undefined` for a job that gets none.
 * - A job gets the first free start at or after the one that it wants, before `until`, while the window is open, and not after its
 *   `last`. A wanted start in the past means now.
 * - A job that wants a start at or after `until` gets a start in its own period or none, and only while less than half of the
 *   starts of that minute are taken.
 *
 * All processes count their starts in the same items, second by second, so that none waits for another. A start that is counted twice, or
 * by a process that then dies, is wasted. A call reads and writes the items of about three minutes, however many jobs wait.
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
  const { window, until, isCrowded = false, exact = false, room = new Map<number, number>() } = limit;
  const keyOf: KeyOf = (minute) => startsKey(topic, minute, limit.counters);
  // Only a release passes `room`. It books the starts of many jobs, and few others book at the same time.
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
    takeStarts(ctx, keyOf, { period, isAlone }, asked, room, place);

  let near = open.filter(({ start }) => start < until);
  const periods = near[0]
    ? periodsIn(beginOf(near[0].start, period), until, period).filter(
        (begin) => nextOpening(window, begin) < begin + period.ms,
      )
    : [];
  // How long the counters took to answer last: ms. A period that ends within that time would be over when they answer.
  let waited = 0;
  for (let round = 0, isRead = room.size > 0; round < ROUNDS && near.length > 0; round++) {
    // If no other jobs wait, the first round asks for the wanted starts without reading the counters.
    if (!isRead && (isCrowded || round > 0)) {
      await readRoom(ctx, keyOf, periods, period, room);
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

  // A job whose window opens only at or after `until` gets no start here: it is parked until the opening.
  const isOwn = ({ at, start, last }: Open): boolean => start === wanted[at]?.start && start <= last;
  const far = isCrowded ? [] : open.filter((one) => one.start >= until && isOwn(one));
  if (far.length > 0) await take(await selectFarAhead(ctx, keyOf, period, far));
  return starts;
}

/** Counts the jobs in their periods, with one call for each minute. Calls `place` for each job whose period had room. Updates `room`. */
async function takeStarts(
  ctx: Context,
  keyOf: KeyOf,
  { period, isAlone }: { period: Period; isAlone: boolean },
  asked: ReadonlyMap<number, readonly Open[]>,
  room: Map<number, number>,
  place: (job: Open, begin: number) => void,
): Promise<void> {
  const by = ctx.clock() + PATIENCE;
  const minutes = Map.groupBy(asked, ([begin]) => minuteOf(begin));
  await inParallel([...minutes], WIDTH, async ([minute, these]) => {
    const amounts = Object.fromEntries(these.map(([begin, jobs]) => [counterOf(begin), jobs.length]));
    const counted = await ctx.pool.count(keyOf(minute), amounts, ttl(minute + DAY), by);
    for (const [begin, jobs] of these) {
      // rule: starts-of-others-count
      const count = counted[counterOf(begin)] ?? 0;
      const before = count - jobs.length;
      const free = isPast(ctx, begin, period) ? 0 : Math.max(period.starts - before, 0);
      for (const job of jobs.slice(0, free)) place(job, begin);
      const hadRoom = (room.get(begin) ?? 0) > 0;
      room.set(begin, Math.max(period.starts - count, 0));
      if (isAlone || !hadRoom) continue;
      // The period had room when the counters were read, so other callers have filled it since. They go on to the next periods. This call
      // skips as many periods as they fill, and so does not compete with them in each one.
      for (let i = 1; (i + 1) * period.starts <= before; i++) room.set(begin + i * period.ms, 0);
    }
  });
}

/**
 * Says whether a period will be over in `ahead` ms. No job gets a start in such a period: all jobs that waited for a throttled counter would
 * start in the second in which it answers.
 */
function isPast(ctx: Context, begin: number, period: Period, ahead = 0): boolean {
  return begin + period.ms <= ctx.clock() + ahead;
}

/** Notes in `room` how many starts these periods have left. A smaller number that `room` has stays. */
async function readRoom(
  ctx: Context,
  keyOf: KeyOf,
  periods: readonly number[],
  period: Period,
  room: Map<number, number>,
): Promise<void> {
  const counts = await readCounts(ctx, keyOf, periods);
  for (const begin of periods) {
    const left = Math.max(period.starts - counts(begin), 0);
    room.set(begin, Math.min(left, room.get(begin) ?? left));
  }
}

/** Reads the counters of these periods. Answers a function from a period's beginning to its count. */
async function readCounts(
  ctx: Context,
  keyOf: KeyOf,
  periods: readonly number[],
): Promise<(begin: number) => number> {
  const minutes = [...new Set(periods.map(minuteOf))];
  const keys = minutes.map(keyOf);
  const items = await ctx.pool.read(keys);
  const counted = items.map((item, i) => requireReadable(item, `the counter ${keys[i]?.pk}`) ?? {});
  const counts = new Map(minutes.map((minute, i) => [minute, counted[i] as Record<string, unknown>]));
  return (begin) => Number(counts.get(minuteOf(begin))?.[counterOf(begin)] ?? 0);
}

/**
 * Selects the jobs that may get a start far ahead, by period: their own period has room, and less than half of the starts of its
 * minute are taken (`startsFarAhead`).
 */
async function selectFarAhead(
  ctx: Context,
  keyOf: KeyOf,
  period: Period,
  jobs: readonly Open[],
): Promise<Map<number, Open[]>> {
  const minutes = Map.groupBy(jobs, ({ start }) => minuteOf(beginOf(start, period)));
  const periodsOf = (minute: number) => periodsIn(minute, minute + BUCKET, period);
  const counts = await readCounts(ctx, keyOf, [...minutes.keys()].flatMap(periodsOf));
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
