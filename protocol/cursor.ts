import { WRITER_DEADLINE } from "../core/constants.ts";
import { type Cursor, cursorKey, type TrailEntry } from "../core/items.ts";
import type { Context } from "./ports.ts";

export async function readCursor(ctx: Context, shard: number): Promise<Cursor> {
  const [cursor] = await ctx.pool.read([cursorKey(shard)]);
  if (!cursor) throw new Error(`shard ${shard} has no cursor: a tick creates it before it sweeps`);
  return cursor as Cursor;
}

/**
 * Moves one of a cursor's positions by compare-and-set, and perhaps its trail with it. `undefined`: it was not
 * where we left it, so another tick goes on.
 */
export async function advance(
  ctx: Context,
  cursor: Cursor,
  what: "swept" | "audited",
  position: string,
  trail?: readonly TrailEntry[],
): Promise<Cursor | undefined> {
  const change = {
    key: { pk: cursor.pk, sk: cursor.sk },
    expect: { [what]: cursor[what] },
    set: { [what]: position, ...(trail ? { trail } : {}) },
  };
  const changed = await ctx.pool.change(change, ctx.clock() + WRITER_DEADLINE);
  const found = changed.item as Cursor | undefined;
  // An own advance whose answer was lost finds its position.
  return changed.changed || found?.[what] === position ? found : undefined;
}
