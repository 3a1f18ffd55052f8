import { AUDIT_AFTER } from "../core/constants.ts";
import { bucketOf, minuteOf, timeOf } from "../core/item-keys.ts";
import { drawToken } from "../core/job-id.ts";
import { beforeTime, type Position } from "../core/position.ts";
import { type Range, withDone } from "../core/ranges.ts";
import { advance, readCursor, type ShardCursor } from "../protocol/hand-over/cursor.ts";
import type { Context } from "../protocol/ports.ts";
import { shardsToSweep } from "../protocol/store/shards.ts";
import type { MemoryPool } from "./memory-pool.ts";

const BUCKETS = /^\d{4}-\d\d-\d\dT\d\d:\d\d#0$/;

/** The first minute with entries that is not before that of `time`. Both are ms since the epoch. */
export function firstBucketFrom(pool: MemoryPool, time: number): number | undefined {
  const from = bucketOf(time, 0);
  let first: string | undefined;
  for (const pk of pool.partitions()) {
    if (pk >= from && (first === undefined || pk < first) && BUCKETS.test(pk)) first = pk;
  }
  return first === undefined ? undefined : Date.parse(`${first.slice(0, -2)}Z`);
}

/** Up to when all minutes are audited, ms since the epoch. */
export async function auditedUntil(ctx: Context): Promise<number> {
  return timeOf((await cursorOf(ctx)).audited);
}

/**
 * Records the minutes without entries that have passed as swept and audited, as the ticks that the clock has skipped would have done. Otherwise
 * the next tick would read each of them.
 */
export async function passEmptyMinutes(ctx: Context, pool: MemoryPool): Promise<void> {
  const now = ctx.clock();
  const cursor = await cursorOf(ctx);
  const writer = drawToken(ctx.random);
  const swept = emptyFrom(pool, cursor.swept, now);
  if (swept) await advance(ctx, cursor, { ...withDone(cursor, swept), trail: cursor.trail }, writer);
  const audited = emptyFrom(pool, cursor.audited, now - AUDIT_AFTER);
  if (audited) await advance(ctx, cursor, { audited: audited.to }, writer);
}

async function cursorOf(ctx: Context): Promise<ShardCursor> {
  await shardsToSweep(ctx);
  return readCursor(ctx, 0);
}

/** The empty minutes that begin at a position and have passed. */
function emptyFrom(pool: MemoryPool, from: Position, now: number): Range | undefined {
  const first = firstBucketFrom(pool, timeOf(from)) ?? Number.POSITIVE_INFINITY;
  const to = beforeTime(Math.min(first, minuteOf(now)));
  return from < to ? { from, to } : undefined;
}
