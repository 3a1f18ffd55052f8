import { BUCKET, BUCKETS_A_PAGE, PAGE_BYTES } from "../../core/constants.ts";
import { type Head, type Home, headOf } from "../../core/home.ts";
import { bucketOf, isLookKey, minuteOf, sortable, timeOf } from "../../core/item-keys.ts";
import type { Item } from "../../core/items.ts";
import { afterJob, beforeTime, type Position } from "../../core/position.ts";
import { isUnreadable, jobIdIn, readHome, type Unreadable } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { readHomes, withoutBody } from "../store/read-job.ts";
import { shardsToRead } from "../store/shards.ts";
import { reportUnreadable } from "../store/unreadable.ts";

export type DueJobs = {
  /** The jobs in due order. Together with the earlier parts, these are all jobs that are due before `until`. */
  homes: Head[];
  /** Jobs that have an entry in this part, but are due at other times now. */
  gone: Head[];
  until: Position;
};

/** About how many entries and bytes of bodies all steps together read at most. */
export type ReadBound = { readonly entries: number; readonly bytes: number };

/** How many buckets one step reads, where they hold few entries, or all buckets of one minute. */
const BUCKETS_A_READ = 64;
const WIDTH = 32;

/**
 * Yields jobs in due order. Ends before `end` once it may read no more: by default as much as a list's page. `wanted`: how many jobs the
 * caller needs.
 */
export async function* dueJobs(
  ctx: Context,
  from: Position,
  end: Position,
  wanted: number,
  bound: ReadBound = { entries: ctx.sizes.listEntries, bytes: PAGE_BYTES },
): AsyncGenerator<DueJobs> {
  const shards = await shardsToRead(ctx);
  const { page: most, looks: atOnce } = ctx.sizes;
  const fewest = entriesFor(wanted / shards, most);
  const read = { buckets: 0, entries: 0, bytes: 0 };
  let position = from;
  let minutes = 1;
  let entries = fewest;
  while (position < end) {
    const pks = bucketsFrom(position, end, minutes, shards);
    const { items, cuts, bytes } = await readBuckets(ctx, pks, position, end, entries);
    const last = beforeTime(minuteOf(timeOf(position)) + (pks.length / shards) * BUCKET);
    // Up to here all buckets have been read.
    const until = cuts.map(afterJob).sort()[0] ?? (last < end ? last : end);
    const due = inDueOrder(items.filter(({ sk }) => sk < until));
    for (let done = 0; position < until; done += atOnce) {
      const part = due.slice(done, done + atOnce);
      const cut = done + atOnce < due.length ? part.at(-1) : undefined;
      position = cut ? afterJob(cut.sk) : until;
      const { bytes, ...jobs } = await homesAmong(ctx, part);
      yield { ...jobs, until: position };
      read.bytes += bytes;
      if (read.bytes >= bound.bytes) return;
    }
    read.buckets += pks.length;
    read.entries += items.length;
    read.bytes += bytes;
    // Next, read more entries of a busy minute, or the first few of more minutes.
    entries = cuts.length > 0 ? Math.min(entries * 2, most) : fewest;
    minutes = cuts.length > 0 ? 1 : Math.min(minutes * 2, Math.max(Math.floor(BUCKETS_A_READ / shards), 1));
    minutes = Math.min(minutes, Math.floor((BUCKETS_A_PAGE - read.buckets) / shards));
    if (minutes < 1 || read.entries >= bound.entries || read.bytes >= bound.bytes) return;
  }
}

/** The more buckets there are, the fewer entries of each are read. `cuts`: the last entry of each bucket that has more. */
async function readBuckets(
  ctx: Context,
  pks: readonly string[],
  from: Position,
  end: Position,
  entries: number,
): Promise<{ items: Entry[]; cuts: string[]; bytes: number }> {
  const few = Math.min(entries, Math.ceil(ctx.sizes.listEntries / pks.length));
  const pages = await inParallel(pks, WIDTH, (pk) => readEntries(ctx, pk, from, end, few));
  return {
    items: pages.flatMap(({ items }) => items),
    cuts: pages.flatMap(({ items, more }) => (more ? (items.at(-1)?.sk ?? []) : [])),
    bytes: pages.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** How many entries of each shard to read for an average of `share`: two standard deviations more. */
function entriesFor(share: number, most: number): number {
  return Math.min(Math.ceil(share + 2 * Math.sqrt(share)) + 1, most);
}

/** The partition keys of the next minutes in all shards: of `minutes` minutes at most. */
function bucketsFrom(position: Position, end: Position, minutes: number, shards: number): string[] {
  const pks: string[] = [];
  let minute = minuteOf(timeOf(position));
  for (let i = 0; i < minutes && beforeTime(minute) < end; i++, minute += BUCKET) {
    for (let shard = 0; shard < shards; shard++) pks.push(bucketOf(minute, shard));
  }
  return pks;
}

/** The sort key by which jobs are in due order. */
function placeOf(home: Head): string {
  return `${sortable(home.dueAt)}#${home.id}`;
}

export function afterDue(home: Head): Position {
  return afterJob(placeOf(home));
}

/** Leaves out looks whose homes are among the entries, and entries that name no job. */
function inDueOrder(items: readonly Entry[]): Entry[] {
  const homes = new Set(items.filter(({ sk }) => !isLookKey(sk)).map(({ sk }) => sk));
  return items
    .filter(({ sk }) => jobIdIn(sk) !== undefined)
    .filter(({ sk }) => !isLookKey(sk) || !homes.has(sk.replace("#look", "")))
    .sort((a, b) => (a.sk < b.sk ? -1 : 1));
}

function bytesOf(item: Item | Home | Unreadable | undefined): number {
  return item && "body" in item ? item.body.length : 0;
}

export type Entry = {
  readonly sk: string;
  /** The home without its body. Absent: the entry is a look, or names no job. */
  readonly home?: Head | Unreadable;
};

/** `bytes`: the size of the bodies that were read, which are dropped. */
export async function readEntries(
  ctx: Context,
  pk: string,
  from: Position,
  before: Position,
  limit: number,
): Promise<{ items: Entry[]; more: boolean; bytes: number }> {
  const { items, more } = await ctx.pool.page(pk, from, before, limit);
  return { items: items.map(entryOf), more, bytes: items.reduce((sum, item) => sum + bytesOf(item), 0) };
}

function entryOf(item: Item): Entry {
  const { sk } = item;
  const id = jobIdIn(sk);
  if (id === undefined || isLookKey(sk)) return { sk };
  const home = readHome(item, id);
  return { sk, home: isUnreadable(home) ? home : headOf(home) };
}

/** `homes`: due at an entry's time, in due order. `gone`: due at other times. `bytes`: the bodies read for looks. */
async function homesAmong(
  ctx: Context,
  items: readonly Entry[],
): Promise<{ homes: Head[]; gone: Head[]; bytes: number }> {
  const looks = items.filter(({ sk }) => isLookKey(sk));
  const ids = looks.flatMap(({ sk }) => jobIdIn(sk) ?? []);
  const looked = await readHomes(ctx, ids);
  const lookedOf = new Map(looked.map((home, i) => [ids[i], withoutBody(home)]));
  const due = new Map<string, Head>();
  const gone: Head[] = [];
  const unreadable = new Map<string, Unreadable>();
  for (const item of [...items.filter(({ sk }) => !isLookKey(sk)), ...looks]) {
    const id = jobIdIn(item.sk);
    if (id === undefined) continue;
    const home = isLookKey(item.sk) ? lookedOf.get(id) : item.home;
    if (isUnreadable(home)) unreadable.set(id, home);
    else if (home?.dueAt === timeOf(item.sk)) due.set(id, home);
    else if (home) gone.push(home);
  }
  reportUnreadable(ctx, "listing jobs", [...unreadable.values()]);
  const homes = [...due.values()].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  return { homes, gone, bytes: looked.reduce((sum, home) => sum + bytesOf(home), 0) };
}
