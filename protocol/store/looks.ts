import { RETRY_LOOK_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Head, lookAt } from "../../core/items.ts";
import type { Context } from "../ports.ts";

/**
 * Files looks at these jobs. Idempotent: a look that is already there was filed by an earlier try, or serves as well.
 * @param looks `time`: when to look, ms since the epoch. `since`: see `Look`.
 * @throws the error of the first look that was not filed
 */
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
 * Files a look at an untracked job, calls `work`, which sends the job, and then removes the look. If the process dies in between,
 * or `work` throws, the look stays, and a later sweep sends the job. This is needed because no audit finds an untracked job.
 * @throws the error of `work`, or that of filing the look
 */
export async function underLook<T>(ctx: Context, { id, topic }: Head, work: () => Promise<T>): Promise<T> {
  const look = lookAt(id, ctx.clock() + RETRY_LOOK_AFTER);
  const [filed] = await ctx.pool.insert([look], ctx.clock() + WRITER_DEADLINE);
  if (filed instanceof Error) throw filed;
  const result = await work();
  try {
    await ctx.pool.remove([look], ctx.clock() + WRITER_DEADLINE);
  } catch (error) {
    // A look that stays costs one message more.
    ctx.report({ type: "trouble", topic, what: "removing a look", error: messageOf(error) });
  }
  return result;
}
