import { BATCH_PATIENCE, DAY, RETRY_LOOK_AFTER, STALE_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Head, lookAt, ttl } from "../../core/items.ts";
import { addressOf } from "../../core/job-id.ts";
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
 * Keeps the looks at the due times of jobs that are late, beyond the time at which TTL would delete them. Lists and bulks find a moved job by
 * this look, and a pause may last a year. A failure is reported: the next audit of the job tries again.
 * @param next when an audit looks at each job again, by the jobs' ids, ms since the epoch
 */
export async function keepDueLooks(
  ctx: Context,
  homes: readonly Head[],
  next: ReadonlyMap<string, number>,
): Promise<void> {
  const looks = homes.flatMap(({ id, dueAt, topic }) => {
    const again = next.get(id) ?? 0;
    // A job that was never moved has its home there.
    const isMoved = addressOf(id).time !== dueAt;
    return isMoved && dueAt + STALE_AFTER < again + DAY
      ? { topic, look: { ...lookAt(id, dueAt), expiresAt: ttl(again + STALE_AFTER) } }
      : [];
  });
  if (looks.length === 0) return;
  const by = ctx.clock() + BATCH_PATIENCE;
  const outcomes = await ctx.pool.changeMany(
    looks.map(({ look: { pk, sk, expiresAt } }) => ({ key: { pk, sk }, expect: {}, set: { expiresAt } })),
    by,
  );
  const gone = looks.filter((_, i) => outcomes[i] === "refused");
  const filed = await ctx.pool.insert(
    gone.map(({ look }) => look),
    by,
  );
  for (const outcome of [...outcomes, ...filed])
    if (outcome instanceof Error)
      ctx.report({
        type: "trouble",
        topic: looks[0]?.topic ?? "",
        what: "keeping looks at late jobs",
        error: outcome.message,
      });
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
