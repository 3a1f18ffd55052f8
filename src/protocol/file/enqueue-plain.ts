import { BATCH_PATIENCE } from "../../core/constants.ts";
import { type MinutehandError, notFiledError, notSentError } from "../../core/errors.ts";
import { type Home, isNear, mayBeSwept, startsAt } from "../../core/home.ts";
import { unreadableError } from "../../core/readable.ts";
import type { Enqueued } from "../new-job.ts";
import type { Context } from "../ports.ts";
import { sendIfNear, sendNow } from "../send/send.ts";
import { readHomesApart } from "../store/read-job.ts";

/**
 * Files jobs without keys whose once items, if any, are written. A job whose home another call of the request has stored is `replayed`.
 * Untracked jobs that are due soon are sent and not stored. One job's failure does not affect the others. `by`: as in `fileBatch`.
 */
export async function filePlain(
  ctx: Context,
  homes: readonly Home[],
  by: number,
): Promise<(Enqueued | MinutehandError)[]> {
  const refused = new Map<string, MinutehandError>();
  const replayed = new Map<string, Home>();
  // Jobs stored within `BATCH_PATIENCE` are sent before the others are tried again: a throttled partition delays only its own.
  const store = async (some: readonly Home[]): Promise<void> => {
    let unstored = some;
    let failed = new Map<Home, Error>();
    for (const end of [Math.min(ctx.clock() + BATCH_PATIENCE, by), by]) {
      if (unstored.length === 0) break;
      const outcomes = await storeOnce(ctx, unstored, end);
      failed = outcomes.failed;
      for (const home of outcomes.replayed) replayed.set(home.id, home);
      const stored = unstored.filter((home) => !failed.has(home) && !replayed.has(home.id));
      const unsent = await sendStored(ctx, [...stored, ...sparesOf(outcomes.replayed)]);
      for (const [id, error] of unsent) refused.set(id, error);
      unstored = [...failed.keys()];
    }
    for (const [{ id }, error] of failed) refused.set(id, notFiledError(error));
  };
  const now = ctx.clock();
  const needsNoHome = (home: Home): boolean => home.untracked === true && isNear(home.dueAt, now);
  const [unsent] = await Promise.all([
    sendUnstored(ctx, homes.filter(needsNoHome), by),
    store(homes.filter((home) => !needsNoHome(home))),
  ]);
  for (const [id, error] of unsent) refused.set(id, error);
  return homes.map((home) => {
    const refusal = refused.get(home.id);
    if (refusal) return refusal;
    const found = replayed.get(home.id);
    if (found) return { outcome: "replayed", home: found };
    ctx.report({ type: "enqueued", topic: home.topic, id: home.id, dueAt: home.dueAt });
    return { outcome: "created", home };
  });
}

/** Answers the error of each job that SQS has not taken, by the jobs' ids. */
async function sendUnstored(
  ctx: Context,
  homes: readonly Home[],
  by: number,
): Promise<Map<string, MinutehandError>> {
  try {
    const outcomes = [...(await sendNow(ctx, homes, by))];
    // rule: untracked-acknowledged-once-sent
    // No sweep could send such a job, because it has no home.
    const unsent = outcomes.flatMap(([id, sent]) =>
      sent.outcome === "sent" ? [] : [{ id, reason: sent.reason }],
    );
    return new Map(unsent.map(({ id, reason }) => [id, notFiledError(new Error(reason))]));
  } catch (error) {
    return new Map(homes.map(({ id }) => [id, notFiledError(error)]));
  }
}

/** The waiting jobs, marked (`spare`) so that they are sent again. */
export function sparesOf(homes: readonly Home[]): Home[] {
  return homes.filter(({ state }) => state === "scheduled").map((home) => ({ ...home, spare: true }));
}

/** `failed`: the error of each home that was not stored. `replayed`: jobs that another call of the request has stored. */
async function storeOnce(
  ctx: Context,
  homes: readonly Home[],
  by: number,
): Promise<{ failed: Map<Home, Error>; replayed: Home[] }> {
  const inserted = await ctx.pool.insert(homes, by);
  const failed = new Map(
    homes.flatMap((home, i): [Home, Error][] => {
      const outcome = inserted[i];
      return outcome instanceof Error ? [[home, outcome]] : [];
    }),
  );
  // Ids of jobs without a once item were drawn for this call, so it has stored them.
  const doubtful = homes.filter(({ once }, i) => once !== undefined && inserted[i] === "exists");
  if (doubtful.length === 0) return { failed, replayed: [] };
  const replayed: Home[] = [];
  for (const [home, read] of await readHomesApart(ctx, doubtful)) {
    if (read.is === "unknown") failed.set(home, read.error);
    else if (read.is === "unreadable") failed.set(home, unreadableError(read.home));
    // If the times of filing are the same, the answer to our own insert was lost.
    else if (read.is === "found" && read.value.createdAt !== home.createdAt) replayed.push(read.value);
  }
  return { failed, replayed };
}

/** Answers as `sendNear`. */
function sendStored(ctx: Context, stored: readonly Home[]): Promise<Map<string, MinutehandError>> {
  const now = ctx.clock();
  // A sweep sends the untracked jobs that are left out here. Sent twice, they would run twice.
  return sendNear(
    ctx,
    stored.filter((home) => !home.untracked || mayBeSwept(startsAt(home), now)),
  );
}

/** Answers the error of each job that may not have been sent, by the jobs' ids. */
export async function sendNear(ctx: Context, homes: readonly Home[]): Promise<Map<string, MinutehandError>> {
  try {
    // rule: near-job-sent-after-filing
    await sendIfNear(ctx, homes);
    return new Map();
  } catch (error) {
    const near = homes.filter((home) => isNear(startsAt(home), ctx.clock()));
    return new Map(near.map(({ id }) => [id, notSentError(error)]));
  }
}
