import { AUDIT_AFTER, CLOCK_MARGIN, MARK_AFTER, TRAIL_STEP, WRITER_DEADLINE } from "../../core/constants.ts";
import { type Cursor, cursorKey, type TrailEntry } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import { type Position, storedAuditPosition, storedPosition } from "../../core/position.ts";
import { positionReachedBy, trailAfter } from "../../core/trail.ts";
import type { Context } from "../ports.ts";
import { requireReadable } from "../store/unreadable.ts";

/** How far a shard has been swept and audited. */
export type ShardCursor = {
  /** The item as it was read. The cursor is changed on the condition that its position is still the one of this item. */
  readonly stored: Cursor;
  readonly swept: Position;
  readonly audited: Position;
  readonly trail: readonly TrailEntry[];
  /** Set if the item does not have this `swept` and this `trail` yet. The next write of the cursor stores both. */
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
    swept: storedPosition(stored.swept),
    audited: storedAuditPosition(stored.audited),
    trail: stored.trail.map(({ position, reachedAt }) => ({ position: storedPosition(position), reachedAt })),
  };
}

/**
 * Moves one position of a cursor by compare-and-set, and also writes the trail if one is given. `writer`: names the sweep or audit that
 * writes. Answers the cursor after the write. If another tick has moved the position meanwhile, answers `undefined`, and the other tick
 * goes on with the shard.
 */
export async function advance(
  ctx: Context,
  { stored, swept, trail: unsaved, isUnsaved }: ShardCursor,
  what: "swept" | "audited",
  position: Position,
  writer: string,
  trail?: readonly TrailEntry[],
): Promise<ShardCursor | undefined> {
  const change = {
    key: { pk: stored.pk, sk: stored.sk },
    expect: { ...(isUnsaved && { swept: stored.swept }), [what]: stored[what] },
    set: { ...(isUnsaved && { swept, trail: unsaved }), [what]: position, writer, ...(trail && { trail }) },
  };
  const changed = await ctx.pool.change(change, ctx.clock() + WRITER_DEADLINE);
  const found = changed.item as Cursor | undefined;
  // If the answer to our own write was lost, DynamoDB refuses the repeat of the write, and the item has our position. Another sweep that
  // began at the same cursor may have reached the same position. So the item names its writer: otherwise both would go on, and send each
  // job twice.
  const isOurs = found?.[what] === position && found.writer === writer;
  return found && (changed.changed || isOurs) ? shardCursor(found) : undefined;
}

/**
 * Records in the cursor how far one sweep or audit of a shard has come. `reach` and `end` answer `false` if another tick has moved the
 * cursor. Then this sweep or audit must stop.
 */
export type Progress = {
  /**
   * Says that everything before `position` is done, and that `entries` of it were done since the last call. The cursor is written
   * only after `sizes.mark` entries or `MARK_AFTER` ms, because a write costs a round trip.
   */
  reach(position: Position, entries: number): Promise<boolean>;
  /** Writes the position if it is not written yet. */
  end(): Promise<boolean>;
  /** Answers the cursor with the position, without writing it. */
  unsaved(): ShardCursor;
};

export function progressOf(ctx: Context, from: ShardCursor, what: "swept" | "audited"): Progress {
  let cursor = from;
  const writer = drawToken(ctx.random);
  let position = from[what];
  let unmarked = 0;
  let markedAt = ctx.clock();
  // The trail says when the sweep has reached a position. The sweep also drops entries that no audit needs any more: audits may fail for
  // days, and the cursor would grow.
  const trailNow = (): TrailEntry[] => {
    const now = ctx.clock();
    const { rest } = positionReachedBy(cursor.trail, now - AUDIT_AFTER - CLOCK_MARGIN);
    return trailAfter(rest, { position, reachedAt: now }, TRAIL_STEP);
  };
  const mark = async (): Promise<boolean> => {
    const next = await advance(
      ctx,
      cursor,
      what,
      position,
      writer,
      what === "swept" ? trailNow() : undefined,
    );
    if (next) cursor = next;
    unmarked = 0;
    markedAt = ctx.clock();
    return next !== undefined;
  };
  const isMarked = (): boolean => position === cursor[what] && !cursor.isUnsaved;
  return {
    async reach(to, entries) {
      position = to;
      unmarked += entries;
      const isDue = unmarked >= ctx.sizes.mark || ctx.clock() - markedAt >= MARK_AFTER;
      return isMarked() || !isDue || mark();
    },
    end: async () => isMarked() || mark(),
    unsaved: () => ({ ...cursor, swept: position, trail: trailNow(), isUnsaved: true }),
  };
}
