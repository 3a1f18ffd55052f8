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
import { isUnreadable, jobIn, readHome, type Unreadable } from "../../core/readable.ts";
import { entriesAtOnce } from "../../core/work-sizes.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { readHomes } from "./read-job.ts";
import type { Met } from "./unreadable.ts";

/**
 * One entry of a bucket: its sort key, the position just before it, and its job as it stands now, if there. `unreadable`: its
 * job is there and cannot be read. `unread`: the id of a job for which DynamoDB gives no answer. `since`: what its look says.
 */
export type Entry = {
  sk: string;
  before: Position;
  home: Home | undefined;
  since?: number;
  unreadable?: Met;
  unread?: string;
};

/** What was read, and how far: every entry before `position` has been on this page or an earlier one. */
export type EntryPage = { entries: Entry[]; position: Position };

/**
 * Minutes of a shard that DynamoDB did not let be read while it did others, each with the position from which it is unread.
 * Everything else before `beyond` is done. `error`: why.
 */
export type PassedOver = { readonly unread: Map<number, Position>; beyond: Position; error?: unknown };

/** A tick in time finds its entries in two minutes. */
const MINUTES_AT_FIRST = 2;
const WIDTH = 8;

/**
 * The entries of a shard between two positions, oldest first. A home that lies in the page is not read again; a look's is,
 * so few at once that they fit into memory whatever their size (`core/work-sizes.ts`).
 *
 * With `passed` one partition's trouble is its own: a minute that cannot be read is noted there and passed over, unless all fail
 * of as many minutes as are read at once. Minutes that are done are not read again. A page is done when the next is asked for.
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
  const few = entriesAtOnce(ctx.sizes);
  let position = from;
  let minutes = Math.min(MINUTES_AT_FIRST, most);
  while (position < before) {
    const stretch = minutesFrom(position, before, minutes);
    // Several minutes at once: after an outage most may be empty, and each read is a round trip. Many are but tried, as
    // what they answer is kept till its turn.
    const perMinute = minutes > MINUTES_AT_FIRST ? Math.min(Math.ceil(few / stretch.length), limit) : limit;
    const endOf = (start: number): Position =>
      beforeTime(start + BUCKET) < before ? beforeTime(start + BUCKET) : before;
    const heads = await Promise.allSettled(
      stretch.map(async (start) => {
        const first = unreadFrom(start, position, passed);
        if (first >= endOf(start)) return NOTHING;
        return ctx.pool.page(bucketOf(start, shard), first, before, perMinute);
      }),
    );
    const answered = heads.flatMap((head) => (head.status === "fulfilled" ? head.value : []));
    const failed = heads.find((head) => head.status === "rejected");
    const isSilent = answered.length === 0;
    // Few minutes may lie in one partition that gives no answer. Where as many as are ever read at once fail, all would.
    if (failed && (!passed || (isSilent && stretch.length >= most))) throw failed.reason;
    const isSparse =
      answered.reduce((sum, { items, more }) => sum + items.length + (more ? few : 0), 0) < few;
    minutes = isSilent ? most : Math.min(isSparse ? minutes * 2 : MINUTES_AT_FIRST, most);
    for (const [i, start] of stretch.entries()) {
      const head = heads.shift();
      const end = endOf(start);
      if (passed && head?.status === "rejected") {
        passed.unread.set(start, unreadFrom(start, position, passed));
        passed.error = head.reason;
        position = end;
        continue;
      }
      let page = head?.status === "fulfilled" ? head.value : NOTHING;
      for (;;) {
        const last = page.items.at(-1)?.sk;
        const next = page.more && last !== undefined ? justAfter(last) : undefined;
        // Read while this page is worked on: the bound was fixed before, so that it does not matter when.
        const following =
          next === undefined ? undefined : ctx.pool.page(bucketOf(start, shard), next, before, limit);
        following?.catch(() => {});
        // rule: page-ends-where-the-next-begins
        const reached = next ?? end;
        if (page.items.length > 0 || i === stretch.length - 1)
          yield* slicesOf(ctx, page.items, position, reached, few, silent);
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

/** Where to go on in a minute. */
function unreadFrom(start: number, position: Position, passed: PassedOver | undefined): Position {
  const from = passed?.unread.get(start) ?? passed?.beyond ?? position;
  return from > position ? from : position;
}

function minutesFrom(position: Position, before: Position, count: number): number[] {
  const first = minuteOf(timeOf(position));
  const minutes = Array.from({ length: count }, (_, i) => first + i * BUCKET);
  return minutes.filter((start) => beforeTime(start) < before);
}

/** A page in slices of at most `few` looks. `silent`: the buckets that have given no answer, which are added to; absent: that throws. */
async function* slicesOf(
  ctx: Context,
  items: readonly Item[],
  from: Position,
  reached: Position,
  few: number,
  silent: Set<string> | undefined,
): AsyncGenerator<EntryPage> {
  let position = from;
  let rest = items;
  do {
    const end = endOfSlice(rest, few);
    const slice = rest.slice(0, end);
    rest = rest.slice(end);
    const entries = await entriesOf(ctx, slice, position, silent);
    const last = slice.at(-1)?.sk;
    // rule: slice-ends-behind-its-last-entry
    position = rest.length > 0 && last !== undefined ? justAfter(last) : reached;
    yield { entries, position };
  } while (rest.length > 0);
}

/** How many of these entries there are up to, and with, the `few`th look. */
function endOfSlice(items: readonly Item[], few: number): number {
  let looks = 0;
  const at = items.findIndex((item) => isLookKey(item.sk) && ++looks === few);
  return at === -1 ? items.length : at + 1;
}

async function entriesOf(
  ctx: Context,
  items: readonly Item[],
  from: Position,
  silent: Set<string> | undefined,
): Promise<Entry[]> {
  const ids = items.map(({ sk }) => jobIn(sk));
  const looked = items.flatMap(({ sk }, i) => (isLookKey(sk) ? (ids[i] ?? []) : []));
  const homeOf = silent ? await homesApart(ctx, looked, silent) : await homesOf(ctx, looked);
  let before = from;
  return items.map((item, i) => {
    const { sk } = item;
    const id = ids[i];
    const place = { sk, before };
    before = justAfter(sk);
    if (id === undefined) {
      // No newer version files such an entry, and there is no job to look at again.
      const error = `entry ${sk} of bucket ${item.pk} names no job`;
      ctx.report({ type: "trouble", topic: "", what: "reading a bucket", error });
      return { ...place, home: undefined };
    }
    if (isLookKey(sk) && !homeOf.has(id)) return { ...place, home: undefined, unread: id };
    const home = isLookKey(sk) ? homeOf.get(id) : readHome(item, id);
    const { since } = item as Partial<Look>;
    // rule: unreadable-entry-stops-no-shard
    if (isUnreadable(home))
      return { ...place, home: undefined, unreadable: { ...home, since: since ?? timeOf(sk) } };
    return { ...place, home, ...(since !== undefined && { since }) };
  });
}

type Homes = Map<string, Home | Unreadable | undefined>;

async function homesOf(ctx: Context, ids: readonly string[]): Promise<Homes> {
  const homes = await readHomes(ctx, ids);
  return new Map(ids.map((id, i) => [id, homes[i]]));
}

/** The same without those of buckets that give no answer: the page that names them was just read. */
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
