import { BUCKET } from "../../core/constants.ts";
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
import { beforeTime, earlierOf, justAfter, type Position } from "../../core/position.ts";
import type { Range } from "../../core/ranges.ts";
import { isUnreadable, jobIdIn, readHome, type Unreadable } from "../../core/readable.ts";
import { entriesAtOnce } from "../../core/work-sizes.ts";
import type { Context } from "../ports.ts";
import { type HomeRead, readHomesApart } from "./read-job.ts";
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
  /** Set if the job exists and this code cannot read it. */
  unreadable?: UnreadableSince;
  /** The job's id, set if DynamoDB gave no answer to the read of the job. */
  unread?: string;
};

/** A page of entries. It covers a range: the page has each entry of this range, and no other entry. */
export type EntryPage = Range & { entries: Entry[] };

/** Filled by `pages` if minutes were passed over, because DynamoDB answered the reads of other minutes, but not of these. */
export type PassedOver = {
  /** Why the last of these minutes could not be read. */
  error?: unknown;
};

/** A tick that is on time reads the buckets of two minutes: the one in which the last sweep stopped, and the next. */
const MINUTES_AT_FIRST = 2;

/**
 * Reads the entries of some ranges of a shard with their jobs, range by range, oldest first. Only so many homes of looks are read at once
 * that they fit into memory, however large they are (`core/work-sizes.ts`).
 * @param passed Absent: the error of a minute that cannot be read is thrown. Present: it is noted here, and no page covers the rest of the
 * minute. It is then thrown only if 16 minutes in a row (`ctx.sizes.minutes`) cannot be read.
 */
export async function* pages(
  ctx: Context,
  shard: number,
  ranges: readonly Range[],
  passed?: PassedOver,
): AsyncGenerator<EntryPage> {
  const { page: limit, minutes: most } = ctx.sizes;
  const maxLooks = entriesAtOnce(ctx.sizes);
  const pieces = piecesOf(ranges);
  let minutes = Math.min(MINUTES_AT_FIRST, most);
  for (let stretch = take(pieces, minutes); stretch.length > 0; stretch = take(pieces, minutes)) {
    // Several minutes are read at once, because each read is a round trip, and after an outage most minutes may be empty. If there
    // are many, only a few entries of each are read at first. These entries stay in memory until the loop reaches their minute.
    const perMinute =
      minutes > MINUTES_AT_FIRST ? Math.min(Math.ceil(maxLooks / stretch.length), limit) : limit;
    const firstPages = await Promise.allSettled(
      stretch.map(async ({ bucket, from, to }) =>
        ctx.pool.page(bucketOf(bucket, shard), from, to, perMinute),
      ),
    );
    const answered = firstPages.flatMap((first) => (first.status === "fulfilled" ? first.value : []));
    const failed = firstPages.find((first) => first.status === "rejected");
    const isSilent = answered.length === 0;
    // A few minutes may all lie in one partition that gives no answer. But if `most` minutes in a row were read at once and every read
    // failed, the whole pool gives no answer. Minutes that could not be read before may lie apart from each other.
    const isInARow = stretch.every(({ from }, i) => i === 0 || stretch[i - 1]?.to === from);
    if (failed && (!passed || (isSilent && isInARow && stretch.length >= most))) throw failed.reason;
    const isSparse =
      answered.reduce((sum, { items, more }) => sum + items.length + (more ? maxLooks : 0), 0) < maxLooks;
    const [{ from: start }] = stretch as [Piece];
    // Without a page the caller could not stop while the time passes.
    if (isSilent) yield { entries: [], from: start, to: start };
    minutes = isSilent ? most : Math.min(isSparse ? minutes * 2 : MINUTES_AT_FIRST, most);
    // The beginning of the pieces without entries that no page has covered yet.
    let empty: Position | undefined;
    for (const [i, { bucket, from, to }] of stretch.entries()) {
      const first = firstPages.shift();
      if (passed && first?.status === "rejected") {
        passed.error = first.reason;
        continue;
      }
      const isNextRead = stretch[i + 1]?.from === to && firstPages[0]?.status === "fulfilled";
      let page = first?.status === "fulfilled" ? first.value : NOTHING;
      let position = empty ?? from;
      empty = undefined;
      for (;;) {
        const last = page.items.at(-1)?.sk;
        const next = page.more && last !== undefined ? justAfter(last) : undefined;
        // The next page is read while the caller works on this one. This early read misses no job: the bound `to` is fixed, and
        // a writer that now files a job before this bound sends the job's message itself.
        const following =
          next === undefined ? undefined : ctx.pool.page(bucketOf(bucket, shard), next, to, limit);
        following?.catch(() => {});
        // rule: page-ends-where-the-next-begins
        const reached = next ?? to;
        if (page.items.length === 0 && isNextRead) empty = position;
        else yield* slicesOf(ctx, page.items, { from: position, to: reached }, maxLooks);
        position = reached;
        if (!following) break;
        try {
          page = await following;
        } catch (error) {
          if (!passed) throw error;
          passed.error = error;
          break;
        }
      }
    }
  }
}

const NOTHING = { items: [], more: false };

/** A part of a range that lies in one minute. `bucket`: the beginning of the minute, ms since the epoch. */
type Piece = Range & { readonly bucket: number };

function* piecesOf(ranges: readonly Range[]): Generator<Piece, undefined> {
  for (const range of ranges) {
    let { from } = range;
    for (let bucket = minuteOf(timeOf(from)); from < range.to; bucket += BUCKET) {
      const to = earlierOf(beforeTime(bucket + BUCKET), range.to);
      if (from < to) yield { bucket, from, to };
      from = to;
    }
  }
}

function take(pieces: Iterator<Piece, undefined>, count: number): Piece[] {
  const taken: Piece[] = [];
  while (taken.length < count) {
    const { value } = pieces.next();
    if (!value) break;
    taken.push(value);
  }
  return taken;
}

/** Yields a page of `range` in slices of at most `maxLooks` looks, with their jobs. */
async function* slicesOf(
  ctx: Context,
  items: readonly Item[],
  range: Range,
  maxLooks: number,
): AsyncGenerator<EntryPage> {
  let { from } = range;
  let rest = items;
  do {
    const end = endOfSlice(rest, maxLooks);
    const slice = rest.slice(0, end);
    rest = rest.slice(end);
    const entries = await entriesOf(ctx, slice, from);
    const last = slice.at(-1)?.sk;
    // rule: slice-ends-behind-its-last-entry
    const to = rest.length > 0 && last !== undefined ? justAfter(last) : range.to;
    yield { entries, from, to };
    from = to;
  } while (rest.length > 0);
}

/** Counts the entries up to and including the `maxLooks`th look. */
function endOfSlice(items: readonly Item[], maxLooks: number): number {
  let looks = 0;
  const at = items.findIndex((item) => isLookKey(item.sk) && ++looks === maxLooks);
  return at === -1 ? items.length : at + 1;
}

/** Makes entries of items, and reads the jobs of looks. `from`: the position before the first item. */
async function entriesOf(ctx: Context, items: readonly Item[], from: Position): Promise<Entry[]> {
  const ids = items.map(({ sk }) => jobIdIn(sk));
  const looked = items.flatMap(({ sk }, i) => (isLookKey(sk) && ids[i] !== undefined ? { id: ids[i] } : []));
  const found = looked.length === 0 ? [] : await readHomesApart(ctx, looked);
  const reads = new Map(found.map(([{ id }, read]) => [id, read]));
  reportUnknown(ctx, reads);
  let before = from;
  return items.map((item, i) => {
    const { sk } = item;
    const id = ids[i];
    const place = { sk, before };
    before = justAfter(sk);
    if (id === undefined) {
      // All versions write the job's id into the sort key. So no version has filed this entry, and there is no job to look at again.
      const error = `entry ${sk} of bucket ${item.pk} names no job`;
      ctx.report({ type: "trouble", topic: "", what: "reading a bucket", error });
      return { ...place, home: undefined };
    }
    const read = isLookKey(sk) ? reads.get(id) : undefined;
    if (read?.is === "unknown") return { ...place, home: undefined, unread: id };
    const home = isLookKey(sk) ? jobIn(read) : readHome(item, id);
    const { since } = item as Partial<Look>;
    // rule: unreadable-entry-stops-no-shard
    if (isUnreadable(home))
      return { ...place, home: undefined, unreadable: { ...home, since: since ?? timeOf(sk) } };
    return { ...place, home, ...(since !== undefined && { since }) };
  });
}

function jobIn(read: HomeRead | undefined): Home | Unreadable | undefined {
  if (read?.is === "unreadable") return read.home;
  return read?.is === "found" ? read.value : undefined;
}

/** Reports each bucket that gave no answer to the read of its jobs. */
function reportUnknown(ctx: Context, reads: ReadonlyMap<string, HomeRead>): void {
  const errors = new Map<string, string>();
  for (const [id, read] of reads) if (read.is === "unknown") errors.set(homeKey(id).pk, read.error.message);
  for (const [bucket, error] of errors)
    ctx.report({ type: "trouble", topic: "", what: `reading jobs of bucket ${bucket}`, error });
}
