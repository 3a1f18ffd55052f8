import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Cursor, cursorKey } from "../../core/items.ts";
import type { Context, Sweepers } from "../ports.ts";

/**
 * For how long after the beginning of a tick its sweeps begin new work, in all its invocations: ms. The next tick begins a minute after
 * this tick. If two ticks swept a shard at the same time, they would send the same jobs.
 */
export const SWEEPS_FOR = BUCKET - 5_000;
/**
 * How long after a tick has given shards away it takes those back whose cursors nobody has written: ms. A sweep writes its cursor after 2,000
 * entries or 10 seconds.
 */
export const TAKEN_BACK_AFTER = 15_000;

/** Shards that a further invocation was asked to sweep. `writers`: who had last written each of their cursors before. */
export type Given = { readonly shards: readonly number[]; readonly writers: readonly (string | undefined)[] };

/**
 * Asks further invocations to sweep and audit shards. Each gets about as many shards as the tick keeps.
 * @param until when these invocations stop to begin new work: ms since the epoch
 * @returns what was given away, and the shards that stay with the tick: a share of its own, and those for which Lambda answered an error
 */
export async function giveAway(
  ctx: Context,
  sweepers: Sweepers,
  shards: readonly number[],
  hung: readonly string[],
  until: number,
): Promise<{ given: Given[]; kept: number[] }> {
  const count = Math.min(sweepers.most, shards.length - 1) + 1;
  const writers = await writersOf(ctx, shards);
  const shares = Array.from({ length: count }, (_, share): Given => {
    const isOwn = (_: unknown, i: number): boolean => i % count === share;
    return { shards: shards.filter(isOwn), writers: writers.filter(isOwn) };
  });
  const [mine, ...others] = shares as [Given, ...Given[]];
  const kept = [...mine.shards];
  const given: Given[] = [];
  await Promise.all(
    others.map(async (share) => {
      try {
        await sweepers.start({ shards: share.shards, hung, until });
        given.push(share);
      } catch (error) {
        const what = "starting a further invocation for shards with a backlog";
        ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
        kept.push(...share.shards);
      }
    }),
  );
  return { given, kept };
}

/**
 * Answers the shards of those invocations that have written none of their cursors. Lambda may begin an invocation much later, or never: for
 * example, if the account has no free concurrency.
 */
export async function shardsWithoutProgress(ctx: Context, given: readonly Given[]): Promise<number[]> {
  const writers = await writersOf(
    ctx,
    given.flatMap(({ shards }) => shards),
  );
  return given.flatMap(({ shards, writers: before }) => {
    const now = writers.splice(0, shards.length);
    return now.every((writer, i) => writer === before[i]) ? shards : [];
  });
}

/** Answers who has last written the cursor of each shard. Each sweep has a name of its own. */
async function writersOf(ctx: Context, shards: readonly number[]): Promise<(string | undefined)[]> {
  const cursors = await ctx.pool.read(shards.map(cursorKey));
  return cursors.map((cursor) => (cursor as Cursor | undefined)?.writer);
}
