import { BATCH_PATIENCE } from "../../core/constants.ts";
import { type MinutehandError, notFiledError, notSentError } from "../../core/errors.ts";
import { isNear, startsAt } from "../../core/home.ts";
import type { Home } from "../../core/items.ts";
import { inParallel } from "../../general/batches.ts";
import type { Enqueued } from "../new-job.ts";
import type { Context } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import { sendWithoutHomes, stillSendable } from "./enqueue-untracked.ts";

const TOPICS_AT_ONCE = 8;

/**
 * Files jobs that have no key, and no once item that must still be written: stores each home, then sends the jobs that are near.
 * Untracked jobs that are due soon are sent and not stored, unless a pause, a limit or a window holds them. Answers in the jobs'
 * order. One job's failure does not affect the others.
 *
 * @param by the deadline of the times in the homes, ms since the epoch
 */
export async function filePlain(
  ctx: Context,
  homes: readonly Home[],
  by: number,
): Promise<(Enqueued | MinutehandError)[]> {
  const refused = new Map<string, MinutehandError>();
  const refuse = (some: readonly Home[], error: MinutehandError): void => {
    for (const { id } of some) refused.set(id, error);
  };
  // Jobs that DynamoDB stores within `BATCH_PATIENCE` are sent before the others are tried again: a throttled partition delays
  // only its own jobs.
  const store = async (some: readonly Home[]): Promise<void> => {
    let unstored = some;
    let failed = new Map<Home, Error>();
    for (const end of [Math.min(ctx.clock() + BATCH_PATIENCE, by), by]) {
      if (unstored.length === 0) break;
      failed = await storeOnce(ctx, unstored, end);
      await sendStored(
        ctx,
        unstored.filter((home) => !failed.has(home)),
        refuse,
      );
      unstored = [...failed.keys()];
    }
    for (const [home, error] of failed) refuse([home], notFiledError(error));
  };
  const now = ctx.clock();
  const needsNoHome = (home: Home): boolean => home.untracked === true && isNear(home.dueAt, now);
  const topics = [...Map.groupBy(homes.filter(needsNoHome), (home) => home.topic)];
  await Promise.all([
    store(homes.filter((home) => !needsNoHome(home))),
    // Topic by topic: if the counters of one topic's limit are throttled, the jobs of other topics are filed all the same.
    inParallel(topics, TOPICS_AT_ONCE, async ([topic, jobs]) => {
      const sent = await sendWithoutHomes(ctx, topic, jobs, by);
      for (const [id, error] of sent.refused) refused.set(id, error);
      await store(sent.held);
    }),
  ]);
  return homes.map((home) => {
    const refusal = refused.get(home.id);
    if (refusal) return refusal;
    ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
    return { outcome: "created", home };
  });
}

/** Inserts homes, and answers the error of each home that was not stored. `by`: the deadline of the writes. */
async function storeOnce(ctx: Context, homes: readonly Home[], by: number): Promise<Map<Home, Error>> {
  const inserted = await ctx.pool.insert(homes, by);
  // The ids were drawn for this call. So if DynamoDB says that a home exists already, this call has stored it and the answer was
  // lost.
  return new Map(
    homes.flatMap((home, i): [Home, Error][] => {
      const outcome = inserted[i];
      return outcome instanceof Error ? [[home, outcome]] : [];
    }),
  );
}

/** Sends the jobs among `stored` that are near, because the sweep may have read their minutes already. */
async function sendStored(
  ctx: Context,
  stored: readonly Home[],
  refuse: (some: readonly Home[], error: MinutehandError) => void,
): Promise<void> {
  let standing = stored;
  if (stored.some(({ untracked }) => untracked)) {
    const found = await stillSendable(ctx, stored);
    for (const [home, error] of found.unread) refuse([home], notSentError(error));
    standing = found.standing;
  }
  try {
    // rule: near-job-sent-after-filing
    await sendIfNear(ctx, standing);
  } catch (error) {
    const near = standing.filter((home) => isNear(startsAt(home), ctx.clock()));
    refuse(near, notSentError(error));
  }
}
