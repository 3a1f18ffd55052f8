import { AUDIT_AFTER, MAX_SHARDS, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { type Cursor, cursorKey, ITEM_VERSION, META_KEY, type Meta, sortable } from "../../core/items.ts";
import { requireReadable } from "../../core/readable.ts";
import type { Context, Pool } from "../ports.ts";

/** How long a process uses the number before it reads `meta` again: ms. An old number does no harm (`knownShards`). */
const FRESH_FOR = 60_000;
/** How long a guess is used before `meta` is read again: ms. Each read that gives no answer keeps its caller waiting for seconds. */
const GUESS_FOR = 10_000;

/**
 * `shards`: how many shards have cursors, and so may hold jobs. `filed`: into how many of them writers file jobs. After the configured
 * number was lowered, the tick still sweeps the others, because they may hold jobs that are due in years.
 */
type Numbers = { readonly shards: number; readonly filed: number };

type Known = Numbers & {
  /** Until when the numbers are used without a read: ms since the epoch. */
  readonly until: number;
  readonly isGuess?: true;
};
const known = new WeakMap<Pool, Known>();

/**
 * Answers the numbers in the item `meta`. The number of shards only grows, and only after the new shards have cursors. So each shard that a
 * writer with an old number uses has a cursor. While `meta` cannot be read, the last numbers count, or else only the first shard.
 */
export async function knownShards(ctx: Context): Promise<Numbers> {
  const last = known.get(ctx.pool);
  if (last && ctx.clock() < last.until) return last;
  try {
    return await readShards(ctx);
  } catch (error) {
    return guess(ctx, last ?? { shards: 1, filed: 1 }, error);
  }
}

/**
 * Answers how many shards a reader must read. A tick may have raised the number within the last minute, so the policy's number counts too.
 * @throws if the number cannot be read, because the reader might leave out shards
 */
export async function shardsToRead(ctx: Context): Promise<number> {
  const last = known.get(ctx.pool);
  const isKnown = last && !last.isGuess && ctx.clock() < last.until;
  return Math.max((isKnown ? last : await readShards(ctx)).shards, ctx.policy.shards);
}

/** Answers from how many shards a release reads notes. These may be too few while `meta` cannot be read: other notes then wait. */
export async function shardsToRelease(ctx: Context): Promise<number> {
  return Math.max((await knownShards(ctx)).shards, ctx.policy.shards);
}

/**
 * Answers how many shards a tick sweeps, and creates the cursors of new shards. If this fails, the number known last, or the policy's.
 * @throws `bad-request` if the configured number is out of range
 */
export async function shardsToSweep(ctx: Context): Promise<number> {
  const last = known.get(ctx.pool);
  try {
    return await ensureShards(ctx);
  } catch (error) {
    if (error instanceof MinutehandError && error.code === "bad-request") throw error;
    const { shards } = ctx.policy;
    return guess(ctx, last ?? { shards, filed: shards }, error).shards;
  }
}

/** Reports that `meta` cannot be read, and uses these numbers for a while instead. */
function guess(ctx: Context, { shards, filed }: Numbers, error: unknown): Numbers {
  ctx.report({ type: "trouble", topic: "", what: "reading the number of shards", error: messageOf(error) });
  const guessed = { shards, filed, until: ctx.clock() + GUESS_FOR, isGuess: true } as const;
  known.set(ctx.pool, guessed);
  return guessed;
}

async function readShards(ctx: Context): Promise<Numbers> {
  // The time is taken before the read, because `meta` may change during the read.
  const until = ctx.clock() + FRESH_FOR;
  const meta = await readMeta(ctx);
  if (!meta) return { shards: ctx.policy.shards, filed: ctx.policy.shards };
  const read = { shards: meta.shards, filed: filedOf(meta), until };
  known.set(ctx.pool, read);
  return read;
}

/** Without `filed`, writers use all shards. */
function filedOf({ shards, filed = shards }: Meta): number {
  return filed;
}

async function readMeta(ctx: Context): Promise<Meta | undefined> {
  const [meta] = await ctx.pool.read([META_KEY]);
  return requireReadable(meta as Meta | undefined, "the number of shards");
}

/**
 * Gives each configured shard its cursor, and then sets the numbers in `meta`, so that writers use the shard. A shard that is added later
 * begins `AUDIT_AFTER` before now: no writer can have filed a job into it earlier, because `meta` did not count it.
 */
async function ensureShards(ctx: Context): Promise<number> {
  const wanted = ctx.policy.shards;
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > MAX_SHARDS) {
    throw new MinutehandError("bad-request", `shards must be 1 to ${MAX_SHARDS}, got ${wanted}`);
  }
  const meta = await readMeta(ctx);
  if (meta && meta.shards >= wanted && filedOf(meta) === wanted) return meta.shards;

  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  // rule: new-cursor-starts-before-all-jobs
  // Without `meta`, writers already use the configured number. So jobs may be as old as the table.
  const start = sortable(meta ? now - AUDIT_AFTER : Math.min(await ctx.pool.createdAt(), now - AUDIT_AFTER));
  const cursors = Array.from({ length: wanted }, (_, shard): Cursor => {
    return { ...cursorKey(shard), v: ITEM_VERSION, swept: start, audited: start, trail: [] };
  });
  // rule: cursors-before-more-shards
  // The insert leaves a cursor that is already there as it is.
  for (const outcome of await ctx.pool.insert(cursors, by)) if (outcome instanceof Error) throw outcome;
  if (meta) {
    const expect = { shards: meta.shards, filed: meta.filed };
    const set = { shards: Math.max(meta.shards, wanted), filed: wanted };
    await ctx.pool.change({ key: META_KEY, expect, set }, by);
  } else {
    const [outcome] = await ctx.pool.insert([{ ...META_KEY, v: ITEM_VERSION, shards: wanted }], by);
    if (outcome instanceof Error) throw outcome;
  }
  known.delete(ctx.pool);
  return (await readMeta(ctx))?.shards ?? wanted;
}
