import { bulkNoteKey } from "../../core/item-keys.ts";
import type { BulkNote } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import type { CallMark } from "../../core/once.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import type { Context } from "../ports.ts";
import { noteOfCall } from "./calls.ts";

export type BulkAction = "cancel" | "move" | "run" | "redrive" | "dismiss";

/** Whether a bulk selects dead jobs, by the time of their death. */
export function isForDead(action: BulkAction): action is "redrive" | "dismiss" {
  return action === "redrive" || action === "dismiss";
}

export type BulkRequest = {
  action: BulkAction;
  topic: string;
  tag?: string;
  group?: string;
  /** Counts the jobs, and changes none. */
  dryRun: boolean;
  /** Of a move: each job becomes due this many ms later than it was, or earlier if it is below 0. Not with a rate. */
  shift?: number;
  /** Spreads the starts of the jobs that are moved, run or redriven: at most this many a second. */
  ratePerSecond?: number;
};

/** The state of a bulk, which the caller gets and sends with the next call. Times are ms since the epoch. */
export type Bulk = {
  /** The mark of the bulk in the jobs that it changes. A redrive and a dismissal write no mark. */
  id: string;
  startedAt: number;
  /** The range of due times: `from ≤ dueAt < to`. For dead jobs, the range of the times of death. */
  from: number;
  to: number;
  position: Position;
  /** The start of all jobs that the bulk moves. At a rate, the first start that the bulk has not given yet. */
  nextAt: number;
};

const BULK_ID_CHARS = 8;

/** Makes a new bulk. For dead jobs the range ends now at the latest: a redriven job that dies again is not redriven twice. `dueAt`: absent: now */
export function beginBulk(
  ctx: Context,
  action: BulkAction,
  range: { from: number; to: number },
  dueAt?: number,
): Bulk {
  const id = drawToken(ctx.random).slice(0, BULK_ID_CHARS);
  const startedAt = ctx.clock();
  const to = isForDead(action) ? Math.min(range.to, startedAt) : range.to;
  const from = Math.min(range.from, to);
  return { id, startedAt, from, to, position: beforeTime(from), nextAt: dueAt ?? startedAt };
}

/** Answers the bulk as the first try of a call has begun it, noted for a day. @throws `idempotency-mismatch`; `unavailable` */
export async function beginRepeatableBulk(
  ctx: Context,
  topic: string,
  call: CallMark,
  bulk: Bulk,
): Promise<Bulk> {
  const { id, position: _, ...state } = bulk;
  const note = await noteOfCall<BulkNote>(ctx, bulkNoteKey(topic, call.key), call, async () => ({
    bulk: id,
    ...state,
  }));
  const { startedAt, from, to, nextAt } = note;
  return { id: note.bulk, startedAt, from, to, nextAt, position: beforeTime(from) };
}
