import { AUDIT_AFTER, CLOCK_MARGIN, MARK_AFTER, TRAIL_STEP, WRITER_DEADLINE } from "../../core/constants.ts";
import { type Cursor, cursorKey, type TrailEntry } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import { type Position, storedAuditPosition, storedPosition } from "../../core/position.ts";
import {
  type Done,
  doneOf,
  isUndone,
  type Range,
  rangesText,
  storedRanges,
  withDone,
} from "../../core/ranges.ts";
import { positionReachedBy, trailAfter } from "../../core/trail.ts";
import type { Context } from "../ports.ts";
import { requireReadable } from "../store/unreadable.ts";

/** How far a shard has been swept and audited. */
export type ShardCursor = Done & {
  /** The item as it was read. The cursor is changed on the condition that its positions are still those of this item. */
  readonly stored: Cursor;
  readonly audited: Position;
  readonly trail: readonly TrailEntry[];
  /** Set if the item does not have this `swept`, `ahead` and `trail` yet. The next write of the cursor stores all three. */
  readonly isUnsaved?: true;
};

/** Reads a shard's cursor. Throws if the shard has none, or if a newer version of the code wrote it. */
export async function readCursor(ctx: Context, shard: number): Promise<ShardCursor> {
  const [cursor] = await ctx.pool.read([cursorKey(shard)]);
  if (!cursor) throw new Error(`shard ${shard} has no cursor: a tick creates it before it sweeps`);
  return shardCursor(requireReadable(cursor as Cursor, `the cursor of shard ${shard}`) as Cursor);
}

/** Reads a cursor as any version of the code has stored it: earlier ones wrote sort keys instead of positions. */
function shardCursor(stored: Cursor): ShardCursor {
  return {
    stored,
    // An earlier version moves `swept` and leaves `ahead` as it is, so `swept` may lie after some of the ranges.
    ...doneOf(storedPosition(stored.swept), storedRanges(stored.ahead)),
    audited: storedAuditPosition(stored.audited),
    trail: stored.trail.map(({ position, reachedAt }) => ({ position: storedPosition(position), reachedAt })),
  };
}

/** What a sweep, or an audit, writes into the cursor. */
export type Reached = (Done & Pick<ShardCursor, "trail">) | Pick<ShardCursor, "audited">;

/** The outcome of a write of the cursor. `other`: another sweep or audit has moved the cursor, and this is the cursor now. `undefined` if the cursor is gone. */
type Advanced = { readonly cursor: ShardCursor } | { readonly other: ShardCursor | undefined };

/** Moves a cursor by compare-and-set. `writer`: names the sweep or audit that writes. */
export async function advance(
  ctx: Context,
  cursor: ShardCursor,
  reached: Reached,
  writer: string,
): Promise<Advanced> {
  const { stored } = cursor;
  const swept = "swept" in reached ? reached : cursor.isUnsaved && cursor;
  const ahead = swept && rangesText(swept.ahead);
  const change = {
    key: { pk: stored.pk, sk: stored.sk },
    expect: {
      ...(swept && { swept: stored.swept, ahead: stored.ahead }),
      ...("audited" in reached && { audited: stored.audited }),
    },
    set: {
      ...(swept && { swept: swept.swept, trail: swept.trail }),
      ...(ahead && { ahead }),
      ...("audited" in reached && { audited: reached.audited }),
      writer,
    },
    ...(swept && !ahead && stored.ahead !== undefined && { remove: ["ahead"] }),
  };
  const changed = await ctx.pool.change(change, ctx.clock() + WRITER_DEADLINE);
  const found = changed.item as Cursor | undefined;
  // If the answer to our own write was lost, DynamoDB refuses the repeat of the write, and the item has our positions. Another sweep that
  // began at the same cursor may have reached the same position. So the item names its writer: otherwise both would go on, and send each
  // job twice.
  const isReached =
    "audited" in reached
      ? found?.audited === reached.audited
      : found?.swept === reached.swept && found.ahead === ahead;
  if (found && (changed.changed || (isReached && found.writer === writer)))
    return { cursor: shardCursor(found) };
  return { other: found && shardCursor(found) };
}

/**
 * Records in the cursor how far one sweep or audit of a shard has come. `reach` and `end` answer `false` if another sweep or
 * audit has done a part of the same work, or if the cursor could not be written. Then this sweep or audit must stop.
 */
export type Progress = {
  /**
   * Says that all entries of a range are done, and that `entries` of them were done since the last call. The cursor is written only after
   * `sizes.mark` entries or `MARK_AFTER` ms, because a write costs a round trip.
   */
  reach(range: Range, entries: number): Promise<boolean>;
  /** Writes what was reached, if it is not written yet. */
  end(): Promise<boolean>;
  /** Answers the cursor with what was reached, without writing it. */
  unsaved(): ShardCursor;
};

/**
 * Records how far a sweep has come. A sweep may hand over ranges in any order, and several sweeps may hand over different ranges of a shard at
 * the same time. A sweep must stop if another one has handed over the same range.
 */
export function sweepProgress(ctx: Context, from: ShardCursor): Progress {
  return progressOf(ctx, from, {
    add: withDone,
    written({ stored, swept, ahead, trail }) {
      if (swept === stored.swept) return { swept, ahead, trail };
      const now = ctx.clock();
      // The trail says when the sweep has reached a position. The sweep also drops entries that no audit needs any more: audits may fail
      // for days, and the cursor would grow.
      const { rest } = positionReachedBy(trail, now - AUDIT_AFTER - CLOCK_MARGIN);
      return { swept, ahead, trail: trailAfter(rest, { position: swept, reachedAt: now }, TRAIL_STEP) };
    },
    isOpen: isUndone,
    isShared: true,
  });
}

/** Records how far an audit has come. An audit reads the entries in their order, and must stop if another audit has moved the cursor. */
export function auditProgress(ctx: Context, from: ShardCursor): Progress {
  return progressOf(ctx, from, {
    add: (_, { to }) => ({ audited: to }),
    written: ({ audited }) => ({ audited }),
    isOpen: () => true,
    isShared: false,
  });
}

/** How often one write of a cursor is tried. A try fails if another sweep of the shard has written the cursor meanwhile. */
const TRIES = 20;

/** What sweeps and audits do differently. */
type Kind = {
  /** Adds a range to what was reached. */
  readonly add: (reached: ShardCursor, range: Range) => Done | Pick<ShardCursor, "audited">;
  /** Answers what the next write stores. */
  readonly written: (reached: ShardCursor) => Reached;
  /** Whether the cursor says that no part of a range is done. */
  readonly isOpen: (reached: ShardCursor, range: Range) => boolean;
  /** Whether ranges may be added to a cursor that somebody else has moved. */
  readonly isShared: boolean;
};

function progressOf(ctx: Context, from: ShardCursor, { add, written, isOpen, isShared }: Kind): Progress {
  let reached = from;
  let isMarked = !from.isUnsaved;
  let sinceMark: Range[] = [];
  const writer = drawToken(ctx.random);
  let unmarked = 0;
  let markedAt = ctx.clock();
  const mark = async (): Promise<boolean> => {
    for (let i = 0; i < TRIES; i++) {
      const outcome = await advance(ctx, reached, written(reached), writer);
      if ("cursor" in outcome) {
        reached = outcome.cursor;
        isMarked = true;
        sinceMark = [];
        unmarked = 0;
        markedAt = ctx.clock();
        return true;
      }
      const { other } = outcome;
      if (!other || !isShared || !sinceMark.every((range) => isOpen(other, range))) return false;
      reached = other;
      for (const range of sinceMark) reached = { ...reached, ...add(reached, range) };
    }
    return false;
  };
  return {
    async reach(range, entries) {
      if (range.from < range.to) {
        if (!isOpen(reached, range)) return false;
        reached = { ...reached, ...add(reached, range) };
        sinceMark.push(range);
        isMarked = false;
      }
      unmarked += entries;
      const isDue = unmarked >= ctx.sizes.mark || ctx.clock() - markedAt >= MARK_AFTER;
      return isMarked || !isDue || mark();
    },
    end: async () => isMarked || mark(),
    unsaved: () => ({ ...reached, ...written(reached), isUnsaved: true }),
  };
}
