import { inParallel } from "../core/batches.ts";
import { BUCKET, BUCKETS_A_PAGE } from "../core/constants.ts";
import { bucketOf, minuteOf } from "../core/items.ts";
import { beforeTime, justAfter } from "../core/position.ts";
import { homesDueAt } from "./due-jobs.ts";
import type { Context } from "./ports.ts";
import { shardCount } from "./shards.ts";

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
  const shards = await shardCount(ctx);
  const first = minuteOf(request.from);
  const readable = Math.max(Math.floor(BUCKETS_A_PAGE / shards), 1);
  const last = Math.min(request.to, first + readable * BUCKET);
  const buckets: { minute: number; shard: number }[] = [];
  for (let minute = first; minute < last; minute += BUCKET) {
    for (let shard = 0; shard < shards; shard++) buckets.push({ minute, shard });
  }
  const counts = new Map<number, number>();
  await inParallel(buckets, WIDTH, async ({ minute, shard }) => {
    const count = await countIn(ctx, bucketOf(minute, shard), request);
    if (count > 0) counts.set(minute, (counts.get(minute) ?? 0) + count);
  });
  const minutes = [...counts]
    .map(([minute, count]) => ({ minute, count }))
    .sort((a, b) => a.minute - b.minute);
  return last < request.to ? { minutes, next: last } : { minutes };
}

async function countIn(
  ctx: Context,
  pk: string,
  { topic, from, to }: { topic?: string; from: number; to: number },
): Promise<number> {
  // A moved job's home and its look may be of one millisecond, on both sides of a read.
  const ids = new Set<string>();
  let position = beforeTime(from);
  for (;;) {
    const { items, more } = await ctx.pool.page(pk, position, beforeTime(to), ctx.sizes.page);
    for (const home of await homesDueAt(ctx, items)) {
      const pending = home.state === "scheduled" || home.state === "running";
      if (pending && (topic === undefined || home.topic === topic)) ids.add(home.id);
    }
    const last = items.at(-1)?.sk;
    if (!more || last === undefined) return ids.size;
    position = justAfter(last);
  }
}
