import { BUCKET, BUCKETS_A_PAGE } from "../../core/constants.ts";
import { bucketOf, minuteOf } from "../../core/items.ts";
import { beforeTime, justAfter } from "../../core/position.ts";
import { chunksOf, inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { shardsToRead } from "../store/shards.ts";
import { homesDueAt, readEntries } from "./due-jobs.ts";

export type Forecast = { minutes: { minute: number; count: number }[]; next?: number };

const WIDTH = 32;

/**
 * How many unfinished jobs fall due in each minute of `[from, to)`; minutes without any are left out. At
 * most 1,000 buckets are read a call; `next` is where the next call goes on.
 */
export async function forecast(
  ctx: Context,
  request: { topic?: string; from: number; to: number },
): Promise<Forecast> {
  const shards = await shardsToRead(ctx);
  const first = minuteOf(request.from);
  const readable = Math.max(Math.floor(BUCKETS_A_PAGE / shards), 1);
  const last = Math.min(request.to, first + readable * BUCKET);
  const buckets: string[] = [];
  for (let minute = first; minute < last; minute += BUCKET) {
    for (let shard = 0; shard < shards; shard++) buckets.push(bucketOf(minute, shard));
  }
  // A moved job's home and its look may be of one millisecond, on both sides of a read.
  const met = new Map<string, number>();
  // The looks of buckets that are read together are looked up together, so that few bodies are in memory at once.
  for (const together of chunksOf(buckets, WIDTH)) await meetAll(ctx, together, request, met);
  const counts = new Map<number, number>();
  for (const minute of met.values()) counts.set(minute, (counts.get(minute) ?? 0) + 1);
  const minutes = [...counts]
    .map(([minute, count]) => ({ minute, count }))
    .sort((a, b) => a.minute - b.minute);
  return last < request.to ? { minutes, next: last } : { minutes };
}

/** Notes the ids of the unfinished jobs of these buckets, each with the minute in which it is due. */
async function meetAll(
  ctx: Context,
  pks: readonly string[],
  { topic, from, to }: { topic?: string; from: number; to: number },
  met: Map<string, number>,
): Promise<void> {
  let unread = pks.map((pk) => ({ pk, position: beforeTime(from) }));
  while (unread.length > 0) {
    const pages = await inParallel(unread, WIDTH, async ({ pk, position }) => ({
      pk,
      ...(await readEntries(ctx, pk, position, beforeTime(to), ctx.sizes.page)),
    }));
    const entries = pages.flatMap(({ items }) => items);
    for (const { id, dueAt, ...home } of await homesDueAt(ctx, entries)) {
      const pending = home.state === "scheduled" || home.state === "running";
      if (pending && (topic === undefined || home.topic === topic)) met.set(id, minuteOf(dueAt));
    }
    unread = pages.flatMap(({ pk, items, more }) => {
      const last = items.at(-1)?.sk;
      return more && last !== undefined ? [{ pk, position: justAfter(last) }] : [];
    });
  }
}
