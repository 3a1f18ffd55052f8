import { BUCKET, BUCKETS_A_PAGE, PAGE_BYTES } from "../../core/constants.ts";
import {
  bucketOf,
  type Head,
  type Home,
  headOf,
  type Item,
  isLookKey,
  minuteOf,
  sortable,
  timeOf,
} from "../../core/items.ts";
import { afterJob, beforeTime, type Position } from "../../core/position.ts";
import { isUnreadable, jobIn, readHome, type Unreadable } from "../../core/readable.ts";
import { chunksOf, inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { readHomes, withoutBody } from "../store/read-job.ts";
import { shardsToRead } from "../store/shards.ts";
import { reportUnreadable } from "../store/unreadable.ts";

/** Jobs in due order: with those before, all that are due before `until`. `gone`: that were due among them, or may have been. */
export type DueJobs = { homes: Head[]; gone: Head[]; until: Position };

/** Buckets that are read at once where there is little in them. */
const BUCKETS_A_READ = 64;
const WIDTH = 32;

/**
 * The jobs due between two positions, as far as a page may read: it ends before `end` when that many buckets, entries or
 * bytes are read. `wanted`: how many jobs are asked for, so that a busy minute is not read much further than that.
 */
export async function* dueJobs(
  ctx: Context,
  from: Position,
  end: Position,
  wanted: number,
): AsyncGenerator<DueJobs> {
  const shards = await shardsToRead(ctx);
  const { page: most, looks, listEntries } = ctx.sizes;
  const fewest = entriesFor(wanted / shards, most);
  const read = { buckets: 0, entries: 0, bytes: 0 };
  let position = from;
  let minutes = 1;
  let entries = fewest;
  while (position < end) {
    const pks = bucketsFrom(position, end, minutes, shards);
    const pages = await inParallel(pks, WIDTH, (pk) => readEntries(ctx, pk, position, end, entries));
    const items = pages.flatMap((page) => page.items);
    const cuts = pages.flatMap(({ items, more }) => (more ? (items.at(-1)?.sk ?? []) : []));
    const last = beforeTime(minuteOf(timeOf(position)) + (pks.length / shards) * BUCKET);
    // Up to the first place where some bucket's read stopped, all of them have been read.
    const until = cuts.map(afterJob).sort()[0] ?? (last < end ? last : end);
    const due = inDueOrder(items.filter(({ sk }) => sk < until));
    for (let done = 0; position < until; done += looks) {
      const part = due.slice(done, done + looks);
      const cut = done + looks < due.length ? part.at(-1) : undefined;
      position = cut ? afterJob(cut.sk) : until;
      const { homes, gone, bytes } = await homesAmong(ctx, part);
      yield { homes, gone, until: position };
      read.bytes += bytes;
      if (read.bytes >= PAGE_BYTES) return;
    }

    read.buckets += pks.length;
    read.entries += items.length;
    read.bytes += pages.reduce((sum, { bytes }) => sum + bytes, 0);
    // Whoever goes on found too little: more of a busy minute, or more minutes that are not.
    entries = cuts.length > 0 ? Math.min(entries * 2, most) : fewest;
    minutes = cuts.length > 0 ? 1 : Math.min(minutes * 2, Math.max(Math.floor(BUCKETS_A_READ / shards), 1));
    minutes = Math.min(minutes, Math.floor((BUCKETS_A_PAGE - read.buckets) / shards));
    if (minutes < 1 || read.entries >= listEntries || read.bytes >= PAGE_BYTES) return;
  }
}

/** What to read of each shard so that `share` jobs of each are likely to be complete: they are dealt out at random. */
function entriesFor(share: number, most: number): number {
  return Math.min(Math.ceil(share + 2 * Math.sqrt(share)) + 1, most);
}

function bucketsFrom(position: Position, end: Position, minutes: number, shards: number): string[] {
  const pks: string[] = [];
  let minute = minuteOf(timeOf(position));
  for (let i = 0; i < minutes && beforeTime(minute) < end; i++, minute += BUCKET) {
    for (let shard = 0; shard < shards; shard++) pks.push(bucketOf(minute, shard));
  }
  return pks;
}

/** Where a job stands among those due. */
function placeOf(home: Head): string {
  return `${sortable(home.dueAt)}#${home.id}`;
}

/** The position after a job among those due. */
export function afterDue(home: Head): Position {
  return afterJob(placeOf(home));
}

/** As their jobs stand among those due; without looks at homes that are there too, and without what names no job. */
function inDueOrder(items: readonly Entry[]): Entry[] {
  const homes = new Set(items.filter(({ sk }) => !isLookKey(sk)).map(({ sk }) => sk));
  return items
    .filter(({ sk }) => jobIn(sk) !== undefined)
    .filter(({ sk }) => !isLookKey(sk) || !homes.has(sk.replace("#look", "")))
    .sort((a, b) => (a.sk < b.sk ? -1 : 1));
}

function bytesOf(item: Item | Home | Unreadable | undefined): number {
  return item && "body" in item ? item.body.length : 0;
}

/** An entry of a bucket, and its job without the body where the entry is a home. */
type Entry = { readonly sk: string; readonly home?: Head | Unreadable };

/** A page of a bucket. `bytes`: of the bodies that were read. */
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
  const id = jobIn(sk);
  if (id === undefined || isLookKey(sk)) return { sk };
  const home = readHome(item, id);
  return { sk, home: isUnreadable(home) ? home : headOf(home) };
}

/** The jobs whose due time is the time of their entry: a home that has moved, or a look left behind, is none. */
export async function homesDueAt(ctx: Context, items: readonly Entry[]): Promise<Head[]> {
  const homes: Head[] = [];
  for (const part of chunksOf(items, ctx.sizes.looks)) homes.push(...(await homesAmong(ctx, part)).homes);
  return homes;
}

/**
 * Those of a few entries, in due order, and those that are `gone`. What cannot be read is reported and passed over. `bytes`:
 * of the bodies that were read for looks.
 */
async function homesAmong(
  ctx: Context,
  items: readonly Entry[],
): Promise<{ homes: Head[]; gone: Head[]; bytes: number }> {
  const looks = items.filter(({ sk }) => isLookKey(sk));
  const ids = looks.flatMap(({ sk }) => jobIn(sk) ?? []);
  const looked = await readHomes(ctx, ids);
  const lookedOf = new Map(looked.map((home, i) => [ids[i], withoutBody(home)]));
  const due = new Map<string, Head>();
  const gone: Head[] = [];
  const unreadable = new Map<string, Unreadable>();
  for (const item of [...items.filter(({ sk }) => !isLookKey(sk)), ...looks]) {
    const id = jobIn(item.sk);
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
