import { AUDIT_AFTER, MAX_SHARDS, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { cursorKey, META_KEY, sortable } from "../../core/item-keys.ts";
import { type Cursor, ITEM_VERSION, type Meta } from "../../core/items.ts";
import { requireReadable } from "../../core/readable.ts";
import type { Context, Pool } from "../ports.ts";

/** An old number does no harm (`knownShards`): ms. */
const FRESH_FOR = 60_000;
/** Each read that gives no answer keeps its caller waiting for seconds: ms. */
const GUESS_FOR = 10_000;

/** `shards`: how many have cursors, and are swept. `filed`: how many writers use: fewer, once the configured number was lowered. */
type Numbers = { readonly shards: number; readonly filed: number };

type Known = Numbers & {
  /** Until when the numbers are used without a read: ms since the epoch. */
  readonly until: number;
  readonly isGuess?: true;
};
const known = new WeakMap<Pool, Known>();

/** The numbers in `meta`, else the last ones, else the first shard. The number only grows, once the new shards have cursors. */
export async function knownShards(ctx: Context): Promise<Numbers> {
  const last = known.get(ctx.pool);
  if (last && ctx.clock() < last.until) return last;
  try {
    return await readShards(ctx);
  } catch (error) {
    return guess(ctx, last ?? { shards: 1, filed: 1 }, error);
  }
}

/** How many shards a reader must read: a tick may just have raised the number to the policy's. @throws if it cannot be read */
export async function shardsToRead(ctx: Context): Promise<number> {
  const last = known.get(ctx.pool);
  const isKnown = last && !last.isGuess && ctx.clock() < last.until;
  return Math.max((isKnown ? last : await readShards(ctx)).shards, ctx.policy.shards);
}

/** May be too few while `meta` cannot be read: other notes then wait. */
export async function shardsToRelease(ctx: Context): Promise<number> {
  return Math.max((await knownShards(ctx)).shards, ctx.policy.shards);
}

/** Creates the cursors of new shards. If this fails, the last number or the policy's counts. @throws `bad-request`: out of range */
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

/** Uses these numbers for a while, because `meta` cannot be read. */
function guess(ctx: Context, { shards, filed }: Numbers, error: unknown): Numbers {
  ctx.report({ type: "trouble", topic: "", what: "reading the number of shards", error: messageOf(error) });
  const guessed = { shards, filed, until: ctx.clock() + GUESS_FOR, isGuess: true } as const;
  known.set(ctx.pool, guessed);
  return guessed;
}

async function readShards(ctx: Context): Promise<Numbers> {
  // Taken before the read, because `meta` may change during it.
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

/** Sets the numbers after the new cursors, which begin `AUDIT_AFTER` before now: earlier, no writer could use their shards. */
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
  // A cursor that is already there stays.
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
