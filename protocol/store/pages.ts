import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import {
  bucketOf,
  type Home,
  homeKey,
  type Item,
  isLookKey,
  type Look,
  minuteOf,
  timeOf,
} from "../../core/items.ts";
import { beforeTime, justAfter, type Position } from "../../core/position.ts";
import { isUnreadable, jobIdIn, readHome, type Unreadable } from "../../core/readable.ts";
import { entriesAtOnce } from "../../core/work-sizes.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { readHomes } from "./read-job.ts";
import type { UnreadableSince } from "./unreadable.ts";

/** An entry of a bucket together with its job. An entry is a home or a look. */
export type Entry = {
  sk: string;
  /** The position just before the entry. */
  before: Position;
  /** The job as it stands now. `undefined` if the job does not exist, this code cannot read it, or its bucket gave no answer. */
  home: Home | undefined;
  /** The `since` of the entry, if the entry is a look. */
  since?: number;
  /** The `unsent` of the entry, if the entry is a look. */
  unsent?: true;
  /** Set if the job exists and this code cannot read it. */
  unreadable?: UnreadableSince;
  /** The job's id, set if DynamoDB gave no answer to the read of the job. */
  unread?: string;
};

export type EntryPage = {
  entries: Entry[];
  /** Every entry before this position has been on this page or an earlier one, except for minutes that were passed over. */
  position: Position;
};

/**
 * The minutes of a shard that were passed over, because DynamoDB answered the reads of other minutes, but not the reads of these
 * minutes.
 */
export type PassedOver = {
  /** The key is the beginning of a minute, ms since the epoch. The value is the position of the minute's first unread entry. */
  readonly unread: Map<number, Position>;
  /** All entries before this position are done, except for the unread ones. */
  beyond: Position;
  /** Why the last of these minutes could not be read. */
  error?: unknown;
};

/** A tick that is on time reads the buckets of two minutes: the one in which the last sweep stopped, and the next. */
const MINUTES_AT_FIRST = 2;
const WIDTH = 8;

/**
 * Reads the entries of a shard between two positions, oldest first, with their jobs. An entry that is a home is the job itself. The
 * home of a look is read in addition. Only so many homes are read at once that they fit into memory, however large they are
 * (`core/work-sizes.ts`).
 *
 * When the caller asks for the next page, the page before counts as done.
 * @param passed Absent: the error of a minute that cannot be read is thrown. Present: a minute that cannot be read is noted in
 * `passed` and passed over, and the next call with the same `passed` reads only entries that are not done. The error is then thrown
 * only if 16 minutes in a row (`ctx.sizes.minutes`) cannot be read.
 */
export async function* pages(
  ctx: Context,
  shard: number,
  from: Position,
  before: Position,
  passed?: PassedOver,
): AsyncGenerator<EntryPage> {
  const { page: limit, minutes: most } = ctx.sizes;
  const silent = passed && new Set<string>();
  const maxLooks = entriesAtOnce(ctx.sizes);
  let position = from;
  let minutes = Math.min(MINUTES_AT_FIRST, most);
  while (position < before) {
    const stretch = minutesFrom(position, before, minutes);
    // Several minutes are read at once, because each read is a round trip, and after an outage most minutes may be empty. If there
    // are many, only a few entries of each are read at first. These entries stay in memory until the loop reaches their minute.
    const perMinute =
      minutes > MINUTES_AT_FIRST ? Math.min(Math.ceil(maxLooks / stretch.length), limit) : limit;
    const endOf = (start: number): Position =>
      beforeTime(start + BUCKET) < before ? beforeTime(start + BUCKET) : before;
    const firstPages = await Promise.allSettled(
      stretch.map(async (start) => {
        const first = unreadFrom(start, position, passed);
        if (first >= endOf(start)) return NOTHING;
        return ctx.pool.page(bucketOf(start, shard), first, before, perMinute);
      }),
    );
    const answered = firstPages.flatMap((first) => (first.status === "fulfilled" ? first.value : []));
    const failed = firstPages.find((first) => first.status === "rejected");
    const isSilent = answered.length === 0;
    // A few minutes may all lie in one partition that gives no answer. But if `most` minutes were read at once and every read failed,
    // the whole pool gives no answer.
    if (failed && (!passed || (isSilent && stretch.length >= most))) throw failed.reason;
    const isSparse =
      answered.reduce((sum, { items, more }) => sum + items.length + (more ? maxLooks : 0), 0) < maxLooks;
    minutes = isSilent ? most : Math.min(isSparse ? minutes * 2 : MINUTES_AT_FIRST, most);
    for (const [i, start] of stretch.entries()) {
      const first = firstPages.shift();
      const end = endOf(start);
      if (passed && first?.status === "rejected") {
        passed.unread.set(start, unreadFrom(start, position, passed));
        passed.error = first.reason;
        position = end;
        continue;
      }
      let page = first?.status === "fulfilled" ? first.value : NOTHING;
      for (;;) {
        const last = page.items.at(-1)?.sk;
        const next = page.more && last !== undefined ? justAfter(last) : undefined;
        // The next page is read while the caller works on this one. This early read misses no job: the bound `before` is fixed, and
        // a writer that now files a job before this bound sends the job's message itself.
        const following =
          next === undefined ? undefined : ctx.pool.page(bucketOf(start, shard), next, before, limit);
        following?.catch(() => {});
        // rule: page-ends-where-the-next-begins
        const reached = next ?? end;
        if (page.items.length > 0 || i === stretch.length - 1)
          yield* slicesOf(ctx, page.items, position, reached, maxLooks, silent);
        position = reached;
        if (passed?.unread.has(start)) passed.unread.set(start, position);
        if (passed && position > passed.beyond) passed.beyond = position;
        if (!following) {
          passed?.unread.delete(start);
          break;
        }
        try {
          page = await following;
        } catch (error) {
          if (!passed) throw error;
          passed.unread.set(start, position);
          passed.error = error;
          position = end;
          break;
        }
      }
    }
  }
}

const NOTHING = { items: [], more: false };

/** Answers the position from which a minute is still to be read. */
function unreadFrom(start: number, position: Position, passed: PassedOver | undefined): Position {
  const from = passed?.unread.get(start) ?? passed?.beyond ?? position;
  return from > position ? from : position;
}

/** Answers the beginnings of up to `count` minutes, from the minute of `position` on, that start earlier than the bound `before`. */
function minutesFrom(position: Position, before: Position, count: number): number[] {
  const first = minuteOf(timeOf(position));
  const minutes = Array.from({ length: count }, (_, i) => first + i * BUCKET);
  return minutes.filter((start) => beforeTime(start) < before);
}

/**
 * Divides a page into slices of at most `maxLooks` looks, and reads the jobs of each slice when the caller asks for it.
 * @param reached the position at the end of the page
 * @param silent the buckets that have given no answer; further ones are added. Absent: the error of a bucket that gives no answer is thrown.
 */
async function* slicesOf(
  ctx: Context,
  items: readonly Item[],
  from: Position,
  reached: Position,
  maxLooks: number,
  silent: Set<string> | undefined,
): AsyncGenerator<EntryPage> {
  let position = from;
  let rest = items;
  do {
    const end = endOfSlice(rest, maxLooks);
    const slice = rest.slice(0, end);
    rest = rest.slice(end);
    const entries = await entriesOf(ctx, slice, position, silent);
    const last = slice.at(-1)?.sk;
    // rule: slice-ends-behind-its-last-entry
    position = rest.length > 0 && last !== undefined ? justAfter(last) : reached;
    yield { entries, position };
  } while (rest.length > 0);
}

/** Counts the entries up to and including the `maxLooks`th look. */
function endOfSlice(items: readonly Item[], maxLooks: number): number {
  let looks = 0;
  const at = items.findIndex((item) => isLookKey(item.sk) && ++looks === maxLooks);
  return at === -1 ? items.length : at + 1;
}

/** Makes entries of items, and reads the jobs of looks. `from`: the position before the first item. `silent`: as in `slicesOf`. */
async function entriesOf(
  ctx: Context,
  items: readonly Item[],
  from: Position,
  silent: Set<string> | undefined,
): Promise<Entry[]> {
  const ids = items.map(({ sk }) => jobIdIn(sk));
  const looked = items.flatMap(({ sk }, i) => (isLookKey(sk) ? (ids[i] ?? []) : []));
  const homeOf = silent ? await homesApart(ctx, looked, silent) : await homesOf(ctx, looked);
  let before = from;
  return items.map((item, i) => {
    const { sk } = item;
    const id = ids[i];
    const place = { sk, before };
    before = justAfter(sk);
    if (id === undefined) {
      // All versions write the job's id into the sort key, so no version has filed such an entry. So there is no job that needs
      // another look.
      const error = `entry ${sk} of bucket ${item.pk} names no job`;
      ctx.report({ type: "trouble", topic: "", what: "reading a bucket", error });
      return { ...place, home: undefined };
    }
    if (isLookKey(sk) && !homeOf.has(id)) return { ...place, home: undefined, unread: id };
    const home = isLookKey(sk) ? homeOf.get(id) : readHome(item, id);
    const { since, unsent } = item as Partial<Look>;
    // rule: unreadable-entry-stops-no-shard
    if (isUnreadable(home))
      return { ...place, home: undefined, unreadable: { ...home, since: since ?? timeOf(sk) } };
    return { ...place, home, ...(since !== undefined && { since }), ...(unsent && { unsent }) };
  });
}

type Homes = Map<string, Home | Unreadable | undefined>;

async function homesOf(ctx: Context, ids: readonly string[]): Promise<Homes> {
  const homes = await readHomes(ctx, ids);
  return new Map(ids.map((id, i) => [id, homes[i]]));
}

/**
 * Reads homes as `homesOf`, but leaves out the homes of buckets that give no answer, and adds these buckets to `silent`. The whole
 * pool cannot be the cause, because it has just answered the read of the page.
 */
async function homesApart(ctx: Context, ids: readonly string[], silent: Set<string>): Promise<Homes> {
  const buckets = Map.groupBy(ids, (id) => homeKey(id).pk);
  for (const bucket of silent) buckets.delete(bucket);
  try {
    return await homesOf(ctx, [...buckets.values()].flat());
  } catch (error) {
    if (buckets.size > 1) return await homesByBucket(ctx, buckets, silent);
    for (const bucket of buckets.keys()) markSilent(ctx, bucket, error, silent);
    return new Map();
  }
}

async function homesByBucket(
  ctx: Context,
  buckets: ReadonlyMap<string, readonly string[]>,
  silent: Set<string>,
): Promise<Homes> {
  const found = await inParallel([...buckets], WIDTH, async ([bucket, ids]) => {
    try {
      return [...(await homesOf(ctx, ids))];
    } catch (error) {
      markSilent(ctx, bucket, error, silent);
      return [];
    }
  });
  return new Map(found.flat());
}

function markSilent(ctx: Context, bucket: string, error: unknown, silent: Set<string>): void {
  silent.add(bucket);
  const what = `reading jobs of bucket ${bucket}`;
  ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
}
