import { inParallel } from "../core/batches.ts";
import { UNTRACKED_AFTER } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { isNear, startsAt } from "../core/home.ts";
import { type Home, ttl } from "../core/items.ts";
import { isPaused } from "./known-pauses.ts";
import { book, openings } from "./limit.ts";
import { fileLooks } from "./looks.ts";
import type { Enqueued } from "./new-job.ts";
import { policyOf } from "./policy.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { sendIfNear, sendNow } from "./send.ts";

/**
 * Files jobs that have neither key nor `Idempotency-Key`, each on its own, and answers in their order. `by`: the
 * deadline of the times in them.
 */
export async function filePlain(
  ctx: Context,
  homes: readonly Home[],
  by: number,
): Promise<(Enqueued | MinutehandError)[]> {
  const refused = new Map<string, MinutehandError>();
  const refuse = (some: readonly Home[], cause: unknown): void => {
    for (const { id } of some) refused.set(id, unavailable(cause));
  };
  const near = homes.filter((home) => home.untracked && isNear(home.dueAt, ctx.clock()));
  const filed = homes.filter((home) => !near.includes(home));
  const straight: Home[] = [];
  // A topic whose limit is throttled refuses no other's jobs.
  const place = async (topic: string, jobs: readonly Home[]): Promise<void> => {
    try {
      const placed = await withoutHomes(ctx, topic, jobs, by);
      straight.push(...placed.straight);
      filed.push(...placed.held);
    } catch (error) {
      refuse(jobs, error);
    }
  };
  await inParallel([...Map.groupBy(near, (home) => home.topic)], 8, ([topic, jobs]) => place(topic, jobs));
  const inserted = await ctx.pool.insert(filed, by);
  for (const [i, home] of filed.entries()) {
    // An id just drawn that exists is one's own earlier effect.
    const outcome = inserted[i];
    if (outcome instanceof Error) refuse([home], outcome);
  }
  // Untracked ones too: near only now, the sweep may have passed while they were being written.
  const stored = filed.filter((home) => !refused.has(home.id));
  try {
    await sendIfNear(ctx, await asTheyStand(ctx, stored));
  } catch (error) {
    // Filed, but perhaps for the audit to find: not on time, so not acknowledged.
    refuse(
      stored.filter((home) => isNear(startsAt(home), ctx.clock())),
      error,
    );
  }
  // A near untracked job has no home: what SQS does not take is not acknowledged.
  for (const [id, sent] of await sendNow(ctx, straight, by)) {
    if (sent.outcome !== "sent") refused.set(id, unavailable(new Error(sent.reason)));
  }
  return homes.map((home) => {
    const refusal = refused.get(home.id);
    if (refusal) return refusal;
    ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
    return { outcome: "created", home };
  });
}

/**
 * Near untracked jobs of a topic by whether they can go straight to SQS, unstored, or a pause or the topic's limit or window
 * holds them: those must be in the pool until then.
 */
async function withoutHomes(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  by: number,
): Promise<{ straight: Home[]; held: Home[] }> {
  if (await isPaused(ctx, topic)) return { straight: [], held: [...jobs] };
  const isLimited = policyOf(ctx, topic).maxPerSecond !== undefined;
  const { holds, left } = isLimited ? await book(ctx, topic, jobs) : { holds: openings(ctx, jobs), left: [] };
  const started = holds.map(({ home, from, until }) =>
    until > from ? { ...home, heldFrom: from, heldUntil: until } : home,
  );
  const now = ctx.clock();
  const far = started.filter((home) => home.heldUntil !== undefined && !isNear(startsAt(home), now));
  // A home's own place may lie behind the sweep.
  await fileLooks(
    ctx,
    far.map((home) => ({ id: home.id, time: startsAt(home) })),
    by,
  );
  const kept = far.map((home) => {
    const start = startsAt(home);
    return { ...home, uncounted: start, expiresAt: ttl(start + UNTRACKED_AFTER) };
  });
  return { straight: started.filter((home) => !far.includes(home)), held: [...kept, ...left] };
}

/**
 * Which of these jobs their writer may send. Untracked ones that are near are read again: somebody may have cancelled one while
 * the write was slow, and no claim asks. Untracked ones that are not near are left to the sweep, which has not passed them.
 */
export async function asTheyStand(ctx: Context, filed: readonly Home[]): Promise<Home[]> {
  const now = ctx.clock();
  const untracked = filed.filter((home) => home.untracked && isNear(startsAt(home), now));
  const found = await readHomes(
    ctx,
    untracked.map(({ id }) => id),
  );
  const standing = untracked.filter((_, i) => found[i]?.state === "scheduled");
  return filed.filter((home) => !home.untracked || standing.includes(home));
}

/** One job's trouble is no other's of its batch. */
export function unavailable(cause: unknown): MinutehandError {
  if (cause instanceof MinutehandError) return cause;
  return new MinutehandError("unavailable", `the job was not filed: ${messageOf(cause)}`, {}, cause);
}
