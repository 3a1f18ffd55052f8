import { BUCKET, MARK_AFTER } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { cursorKey } from "../../core/item-keys.ts";
import type { Cursor } from "../../core/items.ts";
import type { Context, Sweepers } from "../ports.ts";

/** For how long from its beginning a tick begins new sweeps, in all its invocations: ms. Two ticks would send the same jobs. */
export const SWEEPS_FOR = BUCKET - 5_000;
/** How long after a tick has given shards away it takes back those without progress: ms. A sweep writes its cursor within `MARK_AFTER`. */
export const TAKEN_BACK_AFTER = MARK_AFTER + 5_000;

/** `writers`: who had last written the shards' cursors before. */
export type Given = { readonly shards: readonly number[]; readonly writers: readonly (string | undefined)[] };

/** Each invocation gets about as many shards as the tick keeps (`kept`). Those for which Lambda answered an error stay too. */
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

/** The shards of those invocations that have written none of their cursors. Lambda may begin an invocation much later, or never. */
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

/** Who has last written the cursor of each shard. Each sweep has a name of its own. */
async function writersOf(ctx: Context, shards: readonly number[]): Promise<(string | undefined)[]> {
  const cursors = await ctx.pool.read(shards.map(cursorKey));
  return cursors.map((cursor) => (cursor as Cursor | undefined)?.writer);
}
