import {
  AUDIT_AFTER,
  AUDIT_RESTS,
  CURSOR_RESTS,
  MARK_AFTER,
  TRAIL_KEPT_FOR,
  TRAIL_STEP,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { cursorKey, minuteOf, timeOf } from "../../core/item-keys.ts";
import type { Cursor, TrailEntry } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import { beforeTime, type Position, storedAuditPosition, storedPosition } from "../../core/position.ts";
import { type Done, doneOf, type Range, rangesText, storedRanges, withDone } from "../../core/ranges.ts";
import { requireReadable } from "../../core/readable.ts";
import { positionReachedBy, trailAfter } from "../../core/trail.ts";
import type { Context } from "../ports.ts";

/** How far a shard has been swept and audited. */
export type ShardCursor = Done & {
  /** As it was read. A place is moved on the condition that it is still the place in this item. */
  readonly stored: Cursor;
  readonly audited: Position;
  readonly trail: readonly TrailEntry[];
};

/** Throws if the shard has no cursor, or if a newer version wrote it. */
export async function readCursor(ctx: Context, shard: number): Promise<ShardCursor> {
  const [cursor] = await ctx.pool.read([cursorKey(shard)]);
  if (!cursor) throw new Error(`shard ${shard} has no cursor: a tick creates it before it sweeps`);
  return shardCursor(requireReadable(cursor as Cursor, `the cursor of shard ${shard}`) as Cursor);
}

/** Earlier versions wrote sort keys instead of positions. */
function shardCursor(stored: Cursor): ShardCursor {
  return {
    stored,
    // An earlier version moves `swept` and leaves `ahead` as it is, so `swept` may lie after some of the ranges.
    ...doneOf(storedPosition(stored.swept), storedRanges(stored.ahead)),
    audited: storedAuditPosition(stored.audited),
    trail: stored.trail.map(({ position, reachedAt }) => ({ position: storedPosition(position), reachedAt })),
  };
}

/** How far an audit may go now, if further than the last one: to the last whole minute that the sweep had reached `AUDIT_AFTER` ago. */
export function auditLimit({ trail, audited }: ShardCursor, now: number): Position | undefined {
  // rule: audit-trails-the-sweep
  const { position } = positionReachedBy(trail, now - AUDIT_AFTER);
  const limit = position && beforeTime(minuteOf(timeOf(position)));
  return limit !== undefined && limit > audited ? limit : undefined;
}

export type Reached = (Done & Pick<ShardCursor, "trail">) | Pick<ShardCursor, "audited">;

/**
 * Moves the place of the sweep, or of the audit, by compare-and-set, and answers the cursor as it is then. The condition names only that
 * place, so a sweep and an audit never wait for each other. `undefined`: another `writer` has moved it.
 */
export async function advance(
  ctx: Context,
  cursor: ShardCursor,
  reached: Reached,
  writer: string,
): Promise<ShardCursor | undefined> {
  const { pk, sk } = cursor.stored;
  const { isOurs, ...change } =
    "audited" in reached
      ? auditChange(cursor.stored, reached, writer)
      : sweepChange(cursor.stored, reached, writer);
  const changed = await ctx.pool.change({ key: { pk, sk }, ...change }, ctx.clock() + WRITER_DEADLINE);
  const found = changed.item as Cursor | undefined;
  // A repeat after a lost answer is refused. Another sweep may have reached the same place, so the item names its writer.
  return found && (changed.changed || isOurs(found)) ? shardCursor(found) : undefined;
}

function sweepChange(
  stored: Cursor,
  { swept, ahead: ranges, trail }: Done & Pick<ShardCursor, "trail">,
  writer: string,
) {
  const ahead = rangesText(ranges);
  return {
    expect: { swept: stored.swept, ahead: stored.ahead },
    set: { swept, trail, writer, ...(ahead && { ahead }) },
    ...(!ahead && stored.ahead !== undefined && { remove: ["ahead"] }),
    isOurs: (found: Cursor) => found.swept === swept && found.ahead === ahead && found.writer === writer,
  };
}

function auditChange(stored: Cursor, { audited }: Pick<ShardCursor, "audited">, auditor: string) {
  return {
    expect: { audited: stored.audited },
    set: { audited, auditor },
    isOurs: (found: Cursor) => found.audited === audited && found.auditor === auditor,
  };
}

/** How far one sweep or audit has come. `reach` and `end` answer `false` if another has written the same place: then this one must stop. */
export type Progress = {
  /** A range is done, with `entries` entries. The cursor is written after `sizes.mark` entries or `MARK_AFTER` ms. */
  reach(range: Range, entries: number): Promise<boolean>;
  /** Writes what was reached, unless nothing was found (`CURSOR_RESTS`, `AUDIT_RESTS`). */
  end(): Promise<boolean>;
  /** Which entries are done, as far as this sweep or audit knows. */
  done(): Done;
};

/** A sweep may hand over ranges in any order. */
export function sweepProgress(ctx: Context, from: ShardCursor): Progress {
  return progressOf(ctx, from, {
    add: withDone,
    written({ stored, swept, ahead, trail }) {
      if (swept === stored.swept) return { swept, ahead, trail };
      const now = ctx.clock();
      // No audit needs these any more. Audits may fail for days, and the cursor would grow.
      const { rest } = positionReachedBy(trail, now - TRAIL_KEPT_FOR);
      return { swept, ahead, trail: trailAfter(rest, { position: swept, reachedAt: now }, TRAIL_STEP) };
    },
    mayRest: ({ stored, swept, ahead }) =>
      ahead.length === 0 && stored.ahead === undefined && timeOf(swept) - timeOf(stored.swept) < CURSOR_RESTS,
  });
}

/** An audit reads the entries in their order. */
export function auditProgress(ctx: Context, from: ShardCursor): Progress {
  return progressOf(ctx, from, {
    add: (_, { to }) => ({ audited: to }),
    written: ({ audited }) => ({ audited }),
    mayRest: ({ stored, audited }) =>
      timeOf(audited) - timeOf(storedAuditPosition(stored.audited)) < AUDIT_RESTS,
  });
}

type Kind = {
  readonly add: (reached: ShardCursor, range: Range) => Done | Pick<ShardCursor, "audited">;
  /** What the next write stores. */
  readonly written: (reached: ShardCursor) => Reached;
  /** Whether the place may stay unwritten if no entry was found. */
  readonly mayRest: (reached: ShardCursor) => boolean;
};

function progressOf(ctx: Context, from: ShardCursor, { add, written, mayRest }: Kind): Progress {
  const writer = drawToken(ctx.random);
  let reached = from;
  let isWritten = true;
  let unmarked = 0;
  let markedAt = ctx.clock();
  const mark = async (): Promise<boolean> => {
    const cursor = await advance(ctx, reached, written(reached), writer);
    if (!cursor) return false;
    reached = cursor;
    isWritten = true;
    unmarked = 0;
    markedAt = ctx.clock();
    return true;
  };
  return {
    async reach(range, entries) {
      if (range.from < range.to) {
        reached = { ...reached, ...add(reached, range) };
        isWritten = false;
      }
      unmarked += entries;
      const isDue = unmarked >= ctx.sizes.mark || ctx.clock() - markedAt >= MARK_AFTER;
      return isWritten || !isDue || mark();
    },
    async end() {
      return isWritten || (unmarked === 0 && mayRest(reached)) || mark();
    },
    done: () => reached,
  };
}
