import { BATCH_PATIENCE, UNTRACKED_AFTER } from "../../core/constants.ts";
import { type MinutehandError, notFiled, notSent } from "../../core/errors.ts";
import { isNear, startsAt } from "../../core/home.ts";
import { type Home, ttl } from "../../core/items.ts";
import { inParallel } from "../../general/batches.ts";
import { isPaused } from "../gate/known-pauses.ts";
import { book, openings } from "../gate/start-gate.ts";
import type { Enqueued } from "../new-job.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { sendIfNear, sendNow } from "../send/send.ts";
import { fileLooks } from "../store/looks.ts";
import { readHomesApart } from "../store/read-job.ts";

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
    for (const { id } of some) refused.set(id, notFiled(cause));
  };
  const send = async (stored: readonly Home[]): Promise<void> => {
    const { standing, unread } = await asTheyStand(ctx, stored);
    for (const [home, error] of unread) refuse([home], notSent(error));
    try {
      // rule: near-job-sent-after-filing
      await sendIfNear(ctx, standing);
    } catch (error) {
      refuse(
        standing.filter((home) => isNear(startsAt(home), ctx.clock())),
        notSent(error),
      );
    }
  };
  // Jobs that DynamoDB lets through at once are sent before the others are tried again.
  const store = async (some: readonly Home[]): Promise<void> => {
    let unstored = some;
    let failed = new Map<Home, Error>();
    for (const end of [Math.min(ctx.clock() + BATCH_PATIENCE, by), by]) {
      if (unstored.length === 0) break;
      failed = await storeOnce(ctx, unstored, end);
      const isStored = (home: Home): boolean => !failed.has(home);
      // Untracked ones too: near only now, the sweep may have passed while they were being written.
      await send(unstored.filter(isStored));
      unstored = [...failed.keys()];
    }
    for (const [home, error] of failed) refuse([home], error);
  };
  // A topic whose limit is throttled refuses no other's jobs.
  const place = async (topic: string, jobs: readonly Home[]): Promise<void> => {
    let placed: { straight: Home[]; held: Home[] };
    try {
      placed = await withoutHomes(ctx, topic, jobs, by);
    } catch (error) {
      return refuse(jobs, error);
    }
    // rule: untracked-acknowledged-once-sent
    // A near untracked job has no home: what SQS does not take is not acknowledged.
    for (const [id, sent] of await sendNow(ctx, placed.straight, by))
      if (sent.outcome !== "sent") refused.set(id, notFiled(new Error(sent.reason)));
    await store(placed.held);
  };
  const near = homes.filter((home) => home.untracked && isNear(home.dueAt, ctx.clock()));
  const topics = [...Map.groupBy(near, (home) => home.topic)];
  await Promise.all([
    store(homes.filter((home) => !near.includes(home))),
    inParallel(topics, 8, ([topic, jobs]) => place(topic, jobs)),
  ]);
  return homes.map((home) => {
    const refusal = refused.get(home.id);
    if (refusal) return refusal;
    ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
    return { outcome: "created", home };
  });
}

/** Inserts homes, and answers what kept each of the others from being stored. `by`: the deadline of the writes. */
async function storeOnce(ctx: Context, homes: readonly Home[], by: number): Promise<Map<Home, Error>> {
  const inserted = await ctx.pool.insert(homes, by);
  // An id just drawn that exists is one's own earlier effect.
  return new Map(
    homes.flatMap((home, i): [Home, Error][] => {
      const outcome = inserted[i];
      return outcome instanceof Error ? [[home, outcome]] : [];
    }),
  );
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
  // rule: direct-jobs-keep-the-limit
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
 * Which of these jobs their writer may send (`standing`). Untracked ones that are near are read again: somebody may have cancelled one
 * while the write was slow, and no claim asks. `unread`: those that gave no answer. Untracked ones that are not near are left to the
 * sweep, which has not passed them.
 */
export async function asTheyStand(
  ctx: Context,
  filed: readonly Home[],
): Promise<{ standing: Home[]; unread: Map<Home, Error> }> {
  const now = ctx.clock();
  const untracked = filed.filter((home) => home.untracked && isNear(startsAt(home), now));
  const found = await readHomesApart(
    ctx,
    untracked.map(({ id }) => id),
  );
  const unread = new Map<Home, Error>();
  const standing = new Set(filed.filter((home) => !home.untracked));
  for (const [i, home] of untracked.entries()) {
    const stands = found[i];
    if (stands instanceof Error) unread.set(home, stands);
    else if (stands?.state === "scheduled") standing.add(home);
  }
  return { standing: filed.filter((home) => standing.has(home)), unread };
}
