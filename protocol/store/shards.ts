import { AUDIT_AFTER, MAX_SHARDS, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { type Cursor, cursorKey, ITEM_VERSION, META_KEY, type Meta, sortable } from "../../core/items.ts";
import type { Context, Pool } from "../ports.ts";
import { readable } from "./unreadable.ts";

const FRESH_FOR = 60_000;
/** How long a number serves that could not be read anew: ms. A read that gives no answer takes its caller seconds. */
const GUESS_FOR = 10_000;

/** `isGuess`: it could not be read. `until`: ms since the epoch. */
type Known = { readonly shards: number; readonly until: number; readonly isGuess?: true };
const known = new WeakMap<Pool, Known>();

/**
 * How many shards writers file into: what `meta` says, before the first tick what is configured. It only
 * grows, and only after the new cursors stand, so that an old number is never wrong, merely narrower. While `meta` cannot be read
 * the last number serves, and who has none files into the first shard, which each queue has.
 */
export async function shardCount(ctx: Context): Promise<number> {
  const last = known.get(ctx.pool);
  if (last && ctx.clock() < last.until) return last.shards;
  try {
    return await readShards(ctx);
  } catch (error) {
    return guess(ctx, last?.shards ?? 1, error);
  }
}

/**
 * How many shards a reader looks into. A tick may have raised the number within the last minute: then others file into shards that
 * this process does not know yet, but for its policy. Throws what keeps the number from being read: an answer would be half one.
 */
export async function shardsToRead(ctx: Context): Promise<number> {
  const last = known.get(ctx.pool);
  const isKnown = last && !last.isGuess && ctx.clock() < last.until;
  return Math.max(isKnown ? last.shards : await readShards(ctx), ctx.policy.shards);
}

/**
 * How many shards a release reads notes from. While the number cannot be read, a release may know too few: notes of the other shards
 * wait for a later release.
 */
export async function shardsToRelease(ctx: Context): Promise<number> {
  return Math.max(await shardCount(ctx), ctx.policy.shards);
}

/** How many shards a tick sweeps: with their cursors, if they can be made, and else as many as were there last. */
export async function shardsToSweep(ctx: Context): Promise<number> {
  const last = known.get(ctx.pool);
  try {
    return await ensureShards(ctx);
  } catch (error) {
    if (error instanceof MinutehandError && error.code === "bad-request") throw error;
    return guess(ctx, last?.shards ?? ctx.policy.shards, error);
  }
}

function guess(ctx: Context, shards: number, error: unknown): number {
  ctx.report({ type: "trouble", topic: "", what: "reading the number of shards", error: messageOf(error) });
  known.set(ctx.pool, { shards, until: ctx.clock() + GUESS_FOR, isGuess: true });
  return shards;
}

async function readShards(ctx: Context): Promise<number> {
  // Taken before the reading: what changes meanwhile must not be believed for longer.
  const until = ctx.clock() + FRESH_FOR;
  const meta = await readMeta(ctx);
  if (!meta) return ctx.policy.shards;
  known.set(ctx.pool, { shards: meta.shards, until });
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
async function ensureShards(ctx: Context): Promise<number> {
  const wanted = ctx.policy.shards;
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > MAX_SHARDS) {
    throw new MinutehandError("bad-request", `shards must be 1 to ${MAX_SHARDS}, got ${wanted}`);
  }
  const meta = await readMeta(ctx);
  if (meta && meta.shards >= wanted) return meta.shards;

  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  // rule: new-cursor-starts-before-all-jobs
  // Without meta writers already use the configured number: their jobs may be as old as the table.
  const start = sortable(meta ? now - AUDIT_AFTER : Math.min(await ctx.pool.createdAt(), now - AUDIT_AFTER));
  const cursors = Array.from({ length: wanted }, (_, shard): Cursor => {
    return { ...cursorKey(shard), v: ITEM_VERSION, swept: start, audited: start, trail: [] };
  });
  // rule: cursors-before-more-shards
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
