import { AUDIT_AFTER, CLOCK_MARGIN, MARK_AFTER, TRAIL_STEP, WRITER_DEADLINE } from "../../core/constants.ts";
import { type Cursor, cursorKey, type TrailEntry } from "../../core/items.ts";
import { type Position, storedAuditPosition, storedPosition } from "../../core/position.ts";
import { reachedBy, trailAfter } from "../../core/trail.ts";
import type { Context } from "../ports.ts";
import { readable } from "../store/unreadable.ts";

/** How far a shard has been swept and audited. `stored`: the item that says so, on the condition of which it is changed. */
export type ShardCursor = {
  readonly stored: Cursor;
  readonly swept: Position;
  readonly audited: Position;
  readonly trail: readonly TrailEntry[];
};

export async function readCursor(ctx: Context, shard: number): Promise<ShardCursor> {
  const [cursor] = await ctx.pool.read([cursorKey(shard)]);
  if (!cursor) throw new Error(`shard ${shard} has no cursor: a tick creates it before it sweeps`);
  return shardCursor(readable(cursor as Cursor, `the cursor of shard ${shard}`) as Cursor);
}

/** A cursor as any version has stored it. */
function shardCursor(stored: Cursor): ShardCursor {
  return {
    stored,
    swept: storedPosition(stored.swept),
    audited: storedAuditPosition(stored.audited),
    trail: stored.trail.map(({ position, reachedAt }) => ({ position: storedPosition(position), reachedAt })),
  };
}

/**
 * Moves one of a cursor's positions by compare-and-set, and perhaps its trail with it. `undefined`: it was not
 * where we left it, so another tick goes on.
 */
export async function advance(
  ctx: Context,
  { stored }: ShardCursor,
  what: "swept" | "audited",
  position: Position,
  trail?: readonly TrailEntry[],
): Promise<ShardCursor | undefined> {
  const change = {
    key: { pk: stored.pk, sk: stored.sk },
    expect: { [what]: stored[what] },
    set: { [what]: position, ...(trail ? { trail } : {}) },
  };
  const changed = await ctx.pool.change(change, ctx.clock() + WRITER_DEADLINE);
  const found = changed.item as Cursor | undefined;
  // An own advance whose answer was lost finds its position.
  return found && (changed.changed || found[what] === position) ? shardCursor(found) : undefined;
}

/** Writes down how far one sweep or audit of a shard has come. Each answers whether the cursor is still its own to move. */
export type Progress = {
  /** All before `position` is done, `entries` of it since the last call. Written now and then: it costs a round trip. */
  reach(position: Position, entries: number): Promise<boolean>;
  /** Writes what is not written yet. */
  end(): Promise<boolean>;
};

export function progressOf(ctx: Context, from: ShardCursor, what: "swept" | "audited"): Progress {
  let cursor = from;
  let position = from[what];
  let unmarked = 0;
  let markedAt = ctx.clock();
  const mark = async (): Promise<boolean> => {
    // Only what a sweep has reached is ever audited. The sweep trims its trail itself: an audit may fail for days.
    const now = ctx.clock();
    const { rest } = reachedBy(cursor.trail, now - AUDIT_AFTER - CLOCK_MARGIN);
    const trail = what === "swept" ? trailAfter(rest, { position, reachedAt: now }, TRAIL_STEP) : undefined;
    const next = await advance(ctx, cursor, what, position, trail);
    if (next) cursor = next;
    unmarked = 0;
    markedAt = ctx.clock();
    return next !== undefined;
  };
  const isMarked = (): boolean => position === cursor[what];
  return {
    async reach(to, entries) {
      position = to;
      unmarked += entries;
      const isDue = unmarked >= ctx.sizes.mark || ctx.clock() - markedAt >= MARK_AFTER;
      return isMarked() || !isDue || mark();
    },
    end: async () => isMarked() || mark(),
  };
}
