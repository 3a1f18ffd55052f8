import { RETRY_LOOK_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Head, lookAt } from "../../core/items.ts";
import type { Context } from "../ports.ts";

/** Files looks; one that is there already is one's own earlier effect, or as good. `since`: see `Look`. */
export async function fileLooks(
  ctx: Context,
  looks: readonly { id: string; time: number; since?: number }[],
  by: number,
): Promise<void> {
  if (looks.length === 0) return;
  const items = new Map(
    looks.map(({ id, time, ...more }) => [`${id} ${time}`, { ...lookAt(id, time), ...more }]),
  );
  for (const outcome of await ctx.pool.insert([...items.values()], by))
    if (outcome instanceof Error) throw outcome;
}

/**
 * Does `work`, which sends an untracked job, under a look that later sweeps reach. If the process dies in between, or the work
 * fails, the look stays: no audit finds an untracked job. Throws what the look or the work throws.
 */
export async function underLook<T>(ctx: Context, { id, topic }: Head, work: () => Promise<T>): Promise<T> {
  const look = lookAt(id, ctx.clock() + RETRY_LOOK_AFTER);
  const [filed] = await ctx.pool.insert([look], ctx.clock() + WRITER_DEADLINE);
  if (filed instanceof Error) throw filed;
  const result = await work();
  try {
    await ctx.pool.remove([look], ctx.clock() + WRITER_DEADLINE);
  } catch (error) {
    // It costs one message more.
    ctx.report({ type: "trouble", topic, what: "removing a look", error: messageOf(error) });
  }
  return result;
}
