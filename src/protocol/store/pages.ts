import { BUCKET } from "../../core/constants.ts";
import type { Home } from "../../core/home.ts";
import { bucketOf, homeKey, isLookKey, minuteOf, timeOf } from "../../core/item-keys.ts";
import type { Item, Look } from "../../core/items.ts";
import { beforeTime, earlierOf, justAfter, type Position } from "../../core/position.ts";
import type { Range } from "../../core/ranges.ts";
import { isUnreadable, jobIdIn, readHome, type Unreadable } from "../../core/readable.ts";
import { entriesAtOnce } from "../../core/work-sizes.ts";
import type { Context, Page } from "../ports.ts";
import { type HomeRead, readHomesApart } from "./read-job.ts";
import type { UnreadableSince } from "./unreadable.ts";

/** A home or a look, and its job. */
export type Entry = {
  sk: string;
  /** The position just before the entry. */
  before: Position;
  /** The home as it stands now. `undefined` if there is none, it is unreadable, or its bucket gave no answer. */
  home: Home | undefined;
  since?: number;
  unreadable?: UnreadableSince;
  /** The job's id, if DynamoDB gave no answer to the read of the job. */
  unread?: string;
};

/** All entries of a range. */
export type EntryPage = Range & { entries: Entry[] };

/** Filled by `pages` if some minutes could not be read while others could. */
export type PassedOver = {
  /** The error of the last of these minutes. */
  error?: unknown;
};

/** The minute in which the last sweep stopped, and the next. */
const MINUTES_AT_FIRST = 2;

/**
 * Reads the entries of some ranges of a shard with their jobs, range by range, oldest first, as fits into memory (`src/core/work-sizes.ts`).
 * @param passed Absent: the error of an unreadable minute is thrown. Present: it is noted here, no page covers the rest of the minute, and it is
 * thrown only if 16 minutes in a row (`ctx.sizes.minutes`) cannot be read.
 */
export async function* pages(
  ctx: Context,
  shard: number,
  ranges: readonly Range[],
  passed?: PassedOver,
): AsyncGenerator<EntryPage> {
  const { minutes: most } = ctx.sizes;
  const maxLooks = entriesAtOnce(ctx.sizes);
  const pieces = piecesOf(ranges);
  let minutes = Math.min(MINUTES_AT_FIRST, most);
  for (let stretch = take(pieces, minutes); stretch.length > 0; stretch = take(pieces, minutes)) {
    const firstPages = await firstPagesOf(ctx, shard, stretch, minutes);
    const answered = firstPages.flatMap((first) => (first.status === "fulfilled" ? first.value : []));
    const failed = firstPages.find((first) => first.status === "rejected");
    const isSilent = answered.length === 0;
    // A few minutes may lie in one partition that gives no answer. If every read of `most` minutes in a row fails, the whole pool is silent.
    // Minutes that could not be read before may lie apart.
    const isInARow = stretch.every(({ from }, i) => i === 0 || stretch[i - 1]?.to === from);
    if (failed && (!passed || (isSilent && isInARow && stretch.length >= most))) throw failed.reason;
    const isSparse =
      answered.reduce((sum, { items, more }) => sum + items.length + (more ? maxLooks : 0), 0) < maxLooks;
    const [{ from: start }] = stretch as [Piece];
    // Without a page the caller could not stop while the time passes.
    if (isSilent) yield { entries: [], from: start, to: start };
    minutes = isSilent ? most : Math.min(isSparse ? minutes * 2 : MINUTES_AT_FIRST, most);
    yield* pagesOfStretch(ctx, shard, stretch, firstPages, passed);
  }
}

async function* pagesOfStretch(
  ctx: Context,
  shard: number,
  stretch: readonly Piece[],
  firstPages: readonly PromiseSettledResult<Page>[],
  passed: PassedOver | undefined,
): AsyncGenerator<EntryPage> {
  // Where the pieces without entries begin that no page has covered yet.
  let empty: Position | undefined;
  for (const [i, piece] of stretch.entries()) {
    const first = firstPages[i];
    if (first?.status !== "fulfilled") {
      if (passed) passed.error = first?.reason;
      continue;
    }
    const isNextRead = stretch[i + 1]?.from === piece.to && firstPages[i + 1]?.status === "fulfilled";
    const whole = { ...piece, from: empty ?? piece.from };
    empty = yield* pagesOfPiece(ctx, shard, whole, first.value, isNextRead, passed);
  }
}

/**
 * Reads several minutes at once: each read is a round trip, and after an outage most minutes are empty. Of many minutes only a few entries are
 * read, which stay in memory until their minute's turn comes.
 */
function firstPagesOf(ctx: Context, shard: number, stretch: readonly Piece[], minutes: number) {
  const { page: limit } = ctx.sizes;
  const few = Math.min(Math.ceil(entriesAtOnce(ctx.sizes) / stretch.length), limit);
  const perMinute = minutes > MINUTES_AT_FIRST ? few : limit;
  return Promise.allSettled(
    stretch.map(async ({ bucket, from, to }) => ctx.pool.page(bucketOf(bucket, shard), from, to, perMinute)),
  );
}

/** Yields the pages of a minute. `mayBeEmpty`: answers the beginning of an empty page instead, for the next piece to cover. */
async function* pagesOfPiece(
  ctx: Context,
  shard: number,
  { bucket, from, to }: Piece,
  first: Page,
  mayBeEmpty: boolean,
  passed: PassedOver | undefined,
): AsyncGenerator<EntryPage, Position | undefined> {
  const maxLooks = entriesAtOnce(ctx.sizes);
  let page = first;
  let position = from;
  for (;;) {
    const last = page.items.at(-1)?.sk;
    const next = page.more && last !== undefined ? justAfter(last) : undefined;
    // Read early, while the caller works. It misses no job: a writer that now files one before `to` sends the message itself.
    const following =
      next === undefined ? undefined : ctx.pool.page(bucketOf(bucket, shard), next, to, ctx.sizes.page);
    following?.catch(() => {});
    // rule: page-ends-where-the-next-begins
    const reached = next ?? to;
    if (page.items.length === 0 && mayBeEmpty) return position;
    yield* slicesOf(ctx, page.items, { from: position, to: reached }, maxLooks);
    if (!following) return undefined;
    position = reached;
    try {
      page = await following;
    } catch (error) {
      if (!passed) throw error;
      passed.error = error;
      return undefined;
    }
  }
}

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

/** Slices have at most `maxLooks` looks. */
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

function endOfSlice(items: readonly Item[], maxLooks: number): number {
  let count = 0;
  const at = items.findIndex((item) => isLookKey(item.sk) && ++count === maxLooks);
  return at === -1 ? items.length : at + 1;
}

/** `from`: the position before the first item. */
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
      // All versions write the job's id into the sort key. So no version has filed this entry.
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

function reportUnknown(ctx: Context, reads: ReadonlyMap<string, HomeRead>): void {
  const errors = new Map<string, string>();
  for (const [id, read] of reads) if (read.is === "unknown") errors.set(homeKey(id).pk, read.error.message);
  for (const [bucket, error] of errors)
    ctx.report({ type: "trouble", topic: "", what: `reading jobs of bucket ${bucket}`, error });
}
