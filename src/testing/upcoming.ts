import { AUDIT_AFTER, BUCKET, LOOKAHEAD } from "../core/constants.ts";
import { minuteOf, parkedIn } from "../core/item-keys.ts";
import { parseMessage, startOf } from "../core/message.ts";
import { listSchedules } from "../protocol/file/find-schedule.ts";
import { nextOccurrences } from "../protocol/file/occurrences.ts";
import { readPauses } from "../protocol/gate/known-pauses.ts";
import type { Context } from "../protocol/ports.ts";
import { auditedUntil, firstBucketFrom } from "./empty-minutes.ts";
import type { MemoryMessage } from "./memory-messages.ts";
import type { MemoryPool } from "./memory-pool.ts";
import type { MemoryQueues } from "./memory-queues.ts";

/** `time` of the next event: ms since the epoch; a past time means at once. `undefined`: no further event comes. */

const PAGE = 100;

/**
 * The next minute in which a tick has work. `last`: the time of the latest tick, which has swept up to `last + LOOKAHEAD`. What it has swept can be
 * audited `AUDIT_AFTER` later.
 */
export async function nextTick(
  ctx: Context,
  pool: MemoryPool,
  last: number,
): Promise<{ time: number } | undefined> {
  const next = minuteOf(last) + BUCKET;
  const topics = Object.keys(ctx.policy.topics);
  const pauses = await readPauses(ctx, topics);
  // If a limit has parked jobs, each tick releases some of them.
  const isParked = (topic: string): boolean => pool.holds(parkedIn(topic, 0));
  const isReleased = (topic: string, i: number): boolean =>
    pauses[i]?.state === "resuming" || (pauses[i] === undefined && isParked(topic));
  if (topics.some(isReleased)) return { time: next };
  const swept = minuteOf(last + LOOKAHEAD);
  const first = firstBucketFrom(pool, swept);
  const sweep = first === undefined ? Number.POSITIVE_INFINITY : Math.max(first + BUCKET - LOOKAHEAD, next);
  const unaudited = firstBucketFrom(pool, await auditedUntil(ctx));
  const audit =
    unaudited !== undefined && unaudited < swept ? minuteOf(last) + AUDIT_AFTER : Number.POSITIVE_INFINITY;
  const time = Math.min(sweep, audit);
  return time === Number.POSITIVE_INFINITY ? undefined : { time };
}

/** The next time after now at which recurring schedules occur, with the names of these schedules. */
export async function earliestOccurrences(
  ctx: Context,
): Promise<{ time: number; names: readonly string[] } | undefined> {
  const coming: { time: number; name: string }[] = [];
  let cursor: string | undefined;
  do {
    const page = await listSchedules(ctx, PAGE, cursor);
    for (const schedule of page.schedules) {
      const [time] = schedule.paused ? [] : await nextOccurrences(schedule, ctx.clock(), 1);
      if (time !== undefined) coming.push({ time, name: schedule.name });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  if (coming.length === 0) return undefined;
  const first = Math.min(...coming.map(({ time }) => time));
  return { time: first, names: coming.filter(({ time }) => time === first).map(({ name }) => name) };
}

/** Of several messages at the same time, the one whose job may start first. `starts`: a cache of starts by message id. */
export function nextDelivery(
  queues: MemoryQueues,
  topics: readonly string[],
  starts: Map<string, number>,
): { time: number; topic: string; message: MemoryMessage } | undefined {
  const coming = topics.flatMap((topic) =>
    queues.messages({ topic }).map((message) => {
      const start = starts.get(message.id) ?? startIn(message);
      starts.set(message.id, start);
      return { time: Math.max(message.visibleAt, start), start, topic, message };
    }),
  );
  return coming.sort((a, b) => a.time - b.time || a.start - b.start)[0];
}

/** When the last job of a message may start, ms since the epoch; 0 for a message that the queue did not write. */
export function startIn({ body }: MemoryMessage): number {
  return Math.max(0, ...(parseMessage(body)?.jobs ?? []).map(startOf));
}
