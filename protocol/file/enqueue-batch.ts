import { LANDS_WITHIN } from "../../core/constants.ts";
import { type MinutehandError, notFiledError } from "../../core/errors.ts";
import { type Home, ITEM_VERSION, type Key, onceKey, type SharedOnceItem } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import { isUnreadable } from "../../core/readable.ts";
import { differentRequest } from "../change/calls.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import type { Context } from "../ports.ts";
import { syncPromotions } from "../send/far-ahead.ts";
import { fileLooks } from "../store/looks.ts";
import { isOnceOver, onceItemTtl } from "../store/once-items.ts";
import { readApart } from "../store/read-apart.ts";
import { readHomesApart } from "../store/read-job.ts";
import { sharedJobs, sharedTexts, shortHash } from "../store/shared-once-item.ts";
import { requireReadable, unreadableError } from "../store/unreadable.ts";
import { filedElsewhere, nextProlongedBy, trackedHomeOf } from "./enqueue-once.ts";
import { filePlain, sendNear, sparesOf } from "./enqueue-plain.ts";

/** A job without a key that a batch call with an `Idempotency-Key` files. `home`: its home, with an id that this call has drawn. */
export type BatchJob = {
  readonly job: NewJob;
  readonly home: Home;
  readonly batch: NonNullable<NonNullable<NewJob["once"]>["batch"]>;
};

/** The answers about jobs of a batch. The caller must file a job without an answer with a once item of its own. */
type Decided = Map<BatchJob, Enqueued | MinutehandError>;

/** A job that the shared item names. `home`: its home, with the id that the item gives. `isOtherRequest`: its request differs from that of the first call. */
type Named = { readonly asked: BatchJob; readonly home: Home; readonly isOtherRequest: boolean };

/**
 * Files jobs of one batch call and one topic with an `Idempotency-Key`. The jobs share one once item, because a once item for each job would cost
 * one write for each job.
 *
 * The shared item is written before the homes, and decides for all calls of the same request: a job that the item does not name has a
 * once item of its own. So the item is also written if it names no job, as in an untracked topic. If the call dies before all homes are
 * stored, a repeat within `LANDS_WITHIN` stores the others. A later repeat first removes `writtenAt` from the item, so that no other repeat
 * stores a home any more. Then it files the missing jobs anew, each with a once item of its own.
 *
 * Answers nothing for the jobs that the caller must file with once items of their own.
 *
 * @param jobs at least one
 * @param by the deadline of the times in the homes, ms since the epoch
 */
export async function fileBatch(
  ctx: Context,
  jobs: readonly BatchJob[],
  shards: number,
  by: number,
): Promise<Decided> {
  try {
    const shared = await sharedItemFor(ctx, jobs, shards, by);
    const named = jobsNamedBy(ctx, shared.item, jobs);
    return shared.isNew ? await storeHomes(ctx, named, by) : await replay(ctx, shared.item, named, by);
  } catch (error) {
    return refusalsOf(jobs, error);
  }
}

function refusalsOf(jobs: readonly BatchJob[], error: unknown): Decided {
  return new Map(jobs.map((job) => [job, notFiledError(error)]));
}

/**
 * Reads the shared item of a batch. Writes the item if it does not exist. `isNew`: this call has written the item. The item is written even if
 * the call has only one job of the topic: another call of the same key may have more of them.
 */
async function sharedItemFor(
  ctx: Context,
  jobs: readonly BatchJob[],
  shards: number,
  by: number,
): Promise<{ item: SharedOnceItem; isNew: boolean }> {
  const [{ job, batch }] = jobs as [BatchJob];
  const key = onceKey(job.topic, batch.token);
  const found = await readShared(ctx, key);
  if (found) return { item: found, isNew: false };
  const now = ctx.clock();
  const item: SharedOnceItem = {
    ...key,
    v: ITEM_VERSION,
    expiresAt: onceItemTtl(Math.max(...jobs.map(({ home }) => nextProlongedBy(home, now)))),
    seed: drawToken(ctx.random),
    shards,
    ...sharedTexts(await sharingJobs(ctx, jobs)),
    writtenAt: now,
  };
  // rule: shared-once-item-before-its-homes
  const [outcome] = await ctx.pool.insert([item], by);
  if (outcome instanceof Error) throw outcome;
  if (outcome === "inserted") return { item, isNew: true };
  const other = await readShared(ctx, key);
  if (!other) throw filedElsewhere();
  // If the seeds are the same, the answer to our own insert was lost.
  return { item: other, isNew: other.seed === item.seed };
}

async function readShared(ctx: Context, key: Key): Promise<SharedOnceItem | undefined> {
  const [found] = (await ctx.pool.read([key])) as [SharedOnceItem | undefined];
  return requireReadable(found, "the Idempotency-Key of a batch");
}

/** Answers the jobs that share an item, in the order of the batch. `undefined`: the job of that index gets an item of its own. */
async function sharingJobs(
  ctx: Context,
  jobs: readonly BatchJob[],
): Promise<({ dueAt: number; hash: string } | undefined)[]> {
  const tracked = jobs.filter(({ job, home }) => !home.untracked && !job.refusal);
  const own = await readApart(ctx, tracked.map(ownKey));
  // Some of the jobs may have once items of their own: from an earlier version, or from a call while the topic was untracked. Then the shared
  // item names no job, and every job of the batch gets an item of its own.
  const sharing = own.every((item) => item === undefined) ? tracked : [];
  const asked = new Map(
    sharing.map(({ job, home, batch }) => [batch.at, { dueAt: home.dueAt, hash: job.once?.hash ?? "" }]),
  );
  const count = Math.max(...jobs.map(({ batch }) => batch.at)) + 1;
  return Array.from({ length: count }, (_, at) => asked.get(at));
}

function ownKey({ job }: BatchJob): Key {
  return onceKey(job.topic, job.once?.token ?? "");
}

function jobsNamedBy(ctx: Context, item: SharedOnceItem, jobs: readonly BatchJob[]): Named[] {
  const named = sharedJobs(item);
  return jobs.flatMap((asked) => {
    const found = named[asked.batch.at];
    if (!found) return [];
    const note = { token: asked.batch.token, expiresAt: item.expiresAt };
    const isOtherRequest = found.hash !== shortHash(asked.job.once?.hash ?? "");
    return { asked, home: trackedHomeOf(ctx, asked.home, found.id, note), isOtherRequest };
  });
}

/** Stores the homes of jobs, and sends the jobs that are near. */
async function storeHomes(ctx: Context, named: readonly Named[], by: number): Promise<Decided> {
  const outcomes = await filePlain(
    ctx,
    named.map(({ home }) => home),
    by,
  );
  return new Map(outcomes.map((outcome, i) => [(named[i] as Named).asked, outcome]));
}

/**
 * Answers a repeat with its jobs, and stores missing jobs as long as an earlier call may still store them. Answers nothing for three kinds
 * of jobs: those that have a once item of their own; those that are missing and that no call stores any more; those that ended more than a
 * day ago, if the time of the item has passed.
 */
async function replay(
  ctx: Context,
  item: SharedOnceItem,
  named: readonly Named[],
  by: number,
): Promise<Decided> {
  const decided: Decided = new Map();
  // The clock is read before the homes. So if no call may store homes at this time, a home that is missing below is never stored.
  const now = ctx.clock();
  const homes = await readHomesApart(
    ctx,
    named.map(({ home }) => home.id),
  );
  const own = await readApart(
    ctx,
    named.map(({ asked }) => ownKey(asked)),
  );
  const found: { asked: BatchJob; home: Home }[] = [];
  const missing: Named[] = [];
  const anew: Named[] = [];
  for (const [i, one] of named.entries()) {
    const { asked } = one;
    const home = homes[i];
    if (own[i] !== undefined) continue;
    if (home instanceof Error) decided.set(asked, notFiledError(home));
    else if (!isUnreadable(home) && isOnceOver(item, home, now)) anew.push(one);
    else if (one.isOtherRequest) decided.set(asked, differentRequest({ id: one.home.id }));
    else if (isUnreadable(home)) decided.set(asked, unreadableError(home));
    else if (home) found.push({ asked, home });
    else missing.push(one);
  }
  const unsent = await sendNear(ctx, sparesOf(found.map(({ home }) => home)));
  for (const { asked, home } of found)
    decided.set(asked, unsent.get(home.id) ?? { outcome: "replayed", home });
  const left = [...missing, ...anew];
  if (left.length === 0) return decided;
  // rule: unstored-shared-job-keeps-its-id
  const mayBeStored = now < (item.writtenAt ?? 0) + LANDS_WITHIN;
  try {
    if (mayBeStored)
      for (const [job, outcome] of await storeMissing(ctx, item, missing, by)) decided.set(job, outcome);
    else if (item.writtenAt !== undefined) await setWrittenAt(ctx, item, undefined, by);
  } catch (error) {
    for (const [job, refusal] of refusalsOf(
      left.map(({ asked }) => asked),
      error,
    ))
      decided.set(job, refusal);
  }
  return decided;
}

/** Stores the homes of jobs that an earlier call has not stored. That call may have died, or may still store them. */
async function storeMissing(
  ctx: Context,
  item: SharedOnceItem,
  missing: readonly Named[],
  by: number,
): Promise<Decided> {
  const refused = missing.flatMap(({ asked }): [BatchJob, MinutehandError][] =>
    asked.job.refusal ? [[asked, asked.job.refusal]] : [],
  );
  const allowed = missing.filter(({ asked }) => !asked.job.refusal);
  const now = ctx.clock();
  // This call may store the homes later than the first call could. So `writtenAt` is set anew: no other repeat may file a job anew before this call's writes have ended.
  if (allowed.length > 0 && now > (item.writtenAt ?? 0)) await setWrittenAt(ctx, item, now, by);
  // The homes may be stored at times that the audit has read already. So looks make a later audit read the jobs.
  const past = allowed.filter(({ home }) => home.dueAt < now);
  await fileLooks(
    ctx,
    past.map(({ home }) => ({ id: home.id, time: now })),
    by,
  );
  const stored = [...(await storeHomes(ctx, allowed, by))];
  await syncPromotions(
    ctx,
    stored.flatMap(([, outcome]) => (outcome instanceof Error ? [] : outcome.home)),
  );
  const replayed = stored.map(([asked, outcome]): [BatchJob, Enqueued | MinutehandError] => [
    asked,
    outcome instanceof Error ? outcome : { ...outcome, outcome: "replayed" },
  ]);
  return new Map([...refused, ...replayed]);
}

/**
 * Changes or removes `writtenAt` of a shared item.
 * @throws if another call has changed `writtenAt` since the item was read
 */
async function setWrittenAt(
  ctx: Context,
  { pk, sk, seed, writtenAt: before }: SharedOnceItem,
  writtenAt: number | undefined,
  by: number,
): Promise<void> {
  const update = writtenAt === undefined ? { set: {}, remove: ["writtenAt"] } : { set: { writtenAt } };
  const change = { key: { pk, sk }, expect: { seed, writtenAt: before }, ...update };
  const { changed, item } = await ctx.pool.change(change, by);
  const found = item as SharedOnceItem | undefined;
  // If the answer to our own change was lost, DynamoDB refuses the repeat of the change, and the item says what we wrote.
  if (!changed && (found?.seed !== seed || found.writtenAt !== writtenAt)) throw filedElsewhere();
}
