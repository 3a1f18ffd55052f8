import { AUDIT_AFTER, MAX_SHARDS, WRITER_DEADLINE } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { type Cursor, cursorKey, ITEM_VERSION, META_KEY, type Meta, sortable } from "../core/items.ts";
import type { Context, Pool } from "./ports.ts";
import { readable } from "./unreadable.ts";

const FRESH_FOR = 60_000;
const known = new WeakMap<Pool, { shards: number; readAt: number }>();

/**
 * How many shards writers file into: what `meta` says, before the first tick what is configured. It only
 * grows, and only after the new cursors stand, so that an old number is never wrong, merely narrower.
 */
export async function shardCount(ctx: Context): Promise<number> {
  const cached = known.get(ctx.pool);
  const now = ctx.clock();
  if (cached && now - cached.readAt < FRESH_FOR) return cached.shards;
  const meta = await readMeta(ctx);
  if (!meta) return ctx.policy.shards;
  known.set(ctx.pool, { shards: meta.shards, readAt: now });
  return meta.shards;
}

async function readMeta(ctx: Context): Promise<Meta | undefined> {
  const [meta] = await ctx.pool.read([META_KEY]);
  return readable(meta as Meta | undefined, "the number of shards");
}

/**
 * The tick's part: gives each configured shard its cursors, then lets writers use it. A table's first
 * cursors begin at its creation; those of a shard that comes later `AUDIT_AFTER` before now, ahead of which
 * no writer can have filed, since `meta` did not name the shard.
 */
export async function ensureShards(ctx: Context): Promise<number> {
  const wanted = ctx.policy.shards;
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > MAX_SHARDS) {
    throw new MinutehandError("bad-request", `shards must be 1 to ${MAX_SHARDS}, got ${wanted}`);
  }
  const meta = await readMeta(ctx);
  if (meta && meta.shards >= wanted) return meta.shards;

  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  // Without meta writers already use the configured number: their jobs may be as old as the table.
  const start = sortable(meta ? now - AUDIT_AFTER : Math.min(await ctx.pool.createdAt(), now - AUDIT_AFTER));
  const cursors = Array.from({ length: wanted }, (_, shard): Cursor => {
    return { ...cursorKey(shard), v: ITEM_VERSION, swept: start, audited: start, trail: [] };
  });
  // A cursor that is there stays as it is.
  for (const outcome of await ctx.pool.insert(cursors, by)) if (outcome instanceof Error) throw outcome;
  if (meta) {
    const expect = { shards: meta.shards };
    await ctx.pool.change({ key: META_KEY, expect, set: { shards: wanted } }, by);
  } else {
    const [outcome] = await ctx.pool.insert([{ ...META_KEY, v: ITEM_VERSION, shards: wanted }], by);
    if (outcome instanceof Error) throw outcome;
  }
  known.delete(ctx.pool);
  return (await readMeta(ctx))?.shards ?? wanted;
}
