import { ONCE_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { type Begun, begunKey, ITEM_VERSION, ttl } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import type { CallMark } from "../../core/once.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import type { Context } from "../ports.ts";
import { requireReadable } from "../store/unreadable.ts";
import { differentRequest } from "./calls.ts";

export type BulkAction = "cancel" | "move" | "run" | "redrive";

export type BulkRequest = {
  action: BulkAction;
  topic: string;
  tag?: string;
  group?: string;
  /** Counts the jobs, and changes none. */
  dryRun: boolean;
  /** Spreads the starts of the jobs that are moved, run or redriven: at most this many a second. */
  ratePerSecond?: number;
};

/** The state of a bulk, which the caller gets and sends with the next call. Times are ms since the epoch. */
export type Bulk = {
  /** The mark of the bulk in the jobs that it changes. A redrive writes no mark. */
  id: string;
  startedAt: number;
  /** The range of due times: `from ≤ dueAt < to`. For a redrive, the range of the times of death. */
  from: number;
  to: number;
  position: Position;
  /** The start of all jobs that the bulk moves. At a rate, the first start that the bulk has not given yet. */
  nextAt: number;
};

const BULK_ID_CHARS = 8;

/**
 * Makes a new bulk. The range of a redrive ends now at the latest: a redriven job that dies again is not redriven twice.
 * @param dueAt the start of the jobs, in ms since the epoch; absent: now
 */
export function beginBulk(
  ctx: Context,
  action: BulkAction,
  range: { from: number; to: number },
  dueAt?: number,
): Bulk {
  const id = drawToken(ctx.random).slice(0, BULK_ID_CHARS);
  const startedAt = ctx.clock();
  const to = action === "redrive" ? Math.min(range.to, startedAt) : range.to;
  const from = Math.min(range.from, to);
  return { id, startedAt, from, to, position: beforeTime(from), nextAt: dueAt ?? startedAt };
}

/**
 * Answers the bulk as the first try of a call with an `Idempotency-Key` has begun it, so that a repeat leaves alone the jobs that others have
 * filed since then. The beginning is noted for a day.
 * @throws `idempotency-mismatch`; `unavailable`: the call must be repeated
 */
export async function beginRepeatableBulk(
  ctx: Context,
  topic: string,
  call: CallMark,
  bulk: Bulk,
): Promise<Bulk> {
  const key = begunKey(topic, call.key);
  const { id, startedAt, from, to, nextAt } = bulk;
  const noted = {
    request: call.request,
    bulk: id,
    startedAt,
    from,
    to,
    nextAt,
    expiresAt: ttl(startedAt + ONCE_AFTER),
  };
  const by = ctx.clock() + WRITER_DEADLINE;
  const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION, ...noted }], by);
  if (outcome instanceof Error) throw outcome;
  if (outcome === "inserted") return bulk;
  const [read] = (await ctx.pool.read([key])) as [Begun | undefined];
  const begun = requireReadable(read, "the beginning of this bulk");
  // TTL deletes days late, so an old note may still be there. It is replaced.
  if (!begun || begun.expiresAt * 1000 <= startedAt) {
    const expect = { expiresAt: begun?.expiresAt };
    const changed = await ctx.pool.change({ key, expect, set: noted }, by);
    if (!changed.changed)
      throw new MinutehandError("unavailable", "another call began the same bulk at the same time");
    return bulk;
  }
  if (begun.request !== call.request) throw differentRequest({});
  return {
    id: begun.bulk,
    startedAt: begun.startedAt,
    from: begun.from,
    to: begun.to,
    nextAt: begun.nextAt,
    position: beforeTime(begun.from),
  };
}
