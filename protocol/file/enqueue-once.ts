import { LANDS_WITHIN, UNTRACKED_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError, messageOf, notFiledError, notSentError } from "../../core/errors.ts";
import { isNear, startsAt } from "../../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type Key, type OnceItem, onceKey, ttl } from "../../core/items.ts";
import { addressOf } from "../../core/job-id.ts";
import { onceText } from "../../core/once.ts";
import { isUnreadable } from "../../core/readable.ts";
import { differentRequest } from "../change/calls.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import type { Context, Write } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import { isOnceOver, onceItemTtl } from "../store/once-items.ts";
import { readHomes } from "../store/read-job.ts";
import { requireReadable, unreadableError } from "../store/unreadable.ts";
import { fileKeyed, type OnceNaming } from "./enqueue-keyed.ts";
import { filePlain } from "./enqueue-plain.ts";
import { stillSendable } from "./enqueue-untracked.ts";

/**
 * Files a job that came with an `Idempotency-Key`, and perhaps with a key. The once item is written in the same transaction as the
 * job's home, or as the change of the job that holds the key. If a job is sent without a home, its once item is written before the
 * job is sent. A repeat of the request is answered with the same job, until a day after the job's end.
 *
 * @param by the deadline of the times in `home`, ms since the epoch
 */
export async function fileOnce(
  ctx: Context,
  job: NewJob,
  once: NonNullable<NewJob["once"]>,
  home: Home,
  by: number,
): Promise<Enqueued> {
  const before = await readOnce(ctx, job.topic, once.token);
  // rule: once-item-outlives-its-job
  const replayed = before && !before.isOver && (await replay(ctx, before, once.hash, home, by));
  if (replayed) return replayed;
  // A replay comes before the refusal: a deploy may have changed what the topic allows since the first try of this request.
  if (job.refusal) throw job.refusal;
  const key = onceKey(job.topic, once.token);
  const unsent = mayBeMissed(home, ctx.clock());
  const isStored = !home.untracked || !isNear(home.dueAt, ctx.clock());
  const filedAs: OnceItem["filedAs"] = isStored ? "home" : "message";
  const nameOnce: OnceNaming = (named) => {
    const expiresAt = onceItemTtl(nextProlongedBy(named, ctx.clock()), once.lasts);
    return {
      write: onceWrite(named, { hash: once.hash, expiresAt, unsent, filedAs }, key, before?.item),
      note: { token: once.token, expiresAt },
    };
  };
  // A home names its once items for moves, which prolong them. Nobody moves an untracked job.
  const noted = home.untracked ? home : { ...home, once: onceText([nameOnce(home).note]) };
  try {
    if (job.key !== undefined) return await fileKeyed(ctx, job, noted, nameOnce, by);
    const { write } = nameOnce(noted);
    // rule: once-item-with-its-home
    const { done } = await ctx.pool.transact(isStored ? [{ insert: noted }, write] : [write], by);
    if (!done) throw notFiledError(new Error("the same request was being filed elsewhere"));
  } catch (error) {
    // A repeat of this request may have filed the job meanwhile.
    const theirs = await readOnce(ctx, job.topic, once.token);
    const outcome = theirs && !theirs.isOver && (await replay(ctx, theirs, once.hash, home, by));
    if (outcome) return outcome;
    throw error;
  }
  if (!isStored) return fileUnsent(ctx, key, home, by);
  const { standing, unread } = await stillSendable(ctx, [noted]);
  for (const error of unread.values()) throw notSentError(error);
  await sendIfNear(ctx, standing);
  if (unsent) await noteSent(ctx, key, noted);
  ctx.report({ type: "enqueued", topic: job.topic, id: home.id, dueAt: home.dueAt });
  return { outcome: "created", home: noted };
}

/**
 * Says whether a sweep may pass the place of an untracked job before the job is written there. No audit finds an untracked job. So
 * its once item is written no later than the job, and says `unsent` until the job is sent or a sweep is sure to find it. A repeat
 * of the request then files no second job, and sends this job again in case the writer has died. So the job may run twice.
 */
function mayBeMissed({ untracked, dueAt }: Home, now: number): boolean {
  return untracked === true && isNear(dueAt, now + LANDS_WITHIN);
}

/** Files an untracked job that its once item names as `unsent`. */
async function fileUnsent(ctx: Context, key: Key, home: Home, by: number): Promise<Enqueued> {
  const [result] = await filePlain(ctx, [home], by);
  if (!result || result instanceof Error) throw result ?? notFiledError(new Error("no answer"));
  await noteSent(ctx, key, home);
  return result;
}

/** Removes `unsent` from the once item of an untracked job: the job is sent, or a sweep is sure to send it. */
async function noteSent(ctx: Context, { pk, sk }: Key, { id, topic }: Home): Promise<void> {
  const by = ctx.clock() + WRITER_DEADLINE;
  try {
    await ctx.pool.change({ key: { pk, sk }, expect: { id }, set: {}, remove: ["unsent"] }, by);
  } catch (error) {
    // The job is on its way, so its enqueue succeeds: after an error the caller would repeat the request, and while `unsent`
    // stays each repeat sends the job once more.
    ctx.report({ type: "trouble", topic, what: "noting that a job was sent", error: messageOf(error) });
  }
}

/**
 * Answers the latest time, in ms since the epoch, at which the audit next prolongs the once items of a job. The audit looks at a
 * held job again within twice the time that the job has waited so far.
 */
function nextProlongedBy({ dueAt }: Home, now: number): number {
  return dueAt < now ? now + 2 * (now - dueAt) : dueAt;
}

/** A once item as it was read. `isOver`: it answers no repeat any more (`isOnceOver`), so its `Idempotency-Key` is free. */
type Once = { item: OnceItem; isOver: boolean };

async function readOnce(ctx: Context, topic: string, token: string): Promise<Once | undefined> {
  const [read] = (await ctx.pool.read([onceKey(topic, token)])) as [OnceItem | undefined];
  const item = requireReadable(read, `the Idempotency-Key of a job of topic ${topic}`);
  if (!item) return undefined;
  if (!isOnceOver(item, undefined, ctx.clock())) return { item, isOver: false };
  const [home] = await readHomes(ctx, [item.id]);
  return { item, isOver: !isUnreadable(home) && isOnceOver(item, home, ctx.clock()) };
}

/**
 * Makes the write by which a once item names a job. `over`: the item that an earlier job has left at this key, whose time is over.
 */
function onceWrite(
  { id }: Home,
  { unsent, ...named }: Required<Pick<OnceItem, "hash" | "expiresAt" | "filedAs">> & { unsent: boolean },
  key: Key,
  over: OnceItem | undefined,
): Write {
  const says = { id, ...named, ...(unsent ? { unsent: true as const } : {}) };
  return over
    ? { change: { key, expect: { id: over.id }, set: says, remove: unsent ? [] : ["unsent"] } }
    : { insert: { ...key, v: ITEM_VERSION, ...says } };
}

/**
 * Answers a repeated request with the job that its once item names. `undefined`: the request must be filed anew, because the item
 * names an untracked job that may never have been sent, and the topic is tracked by now. The new job can be cancelled and is
 * audited.
 */
async function replay(
  ctx: Context,
  { item }: Once,
  hash: string,
  asked: Home,
  by: number,
): Promise<Enqueued | undefined> {
  if (item.hash !== hash) throw differentRequest({ id: item.id });
  const now = ctx.clock();
  const [home] = await readHomes(ctx, [item.id]);
  if (isUnreadable(home)) throw unreadableError(home);
  // A job that was filed with a home and has none any more was cancelled or has ended, and TTL has deleted the home. So it is not
  // filed again. Items of earlier versions have no `filedAs`.
  const { filedAs = asked.untracked || item.unsent ? "message" : "home" } = item;
  if (!home && filedAs === "message") {
    if (item.unsent && !asked.untracked) return undefined;
    // The job was never stored, but this is the same request: the request and the job's id together contain all fields of the job.
    // The job stays untracked, although a deploy may have made its topic tracked since.
    const { time: dueAt } = addressOf(item.id);
    const untracked = { untracked: true as const, expiresAt: ttl(dueAt + UNTRACKED_AFTER) };
    const same = { ...asked, ...homeKey(item.id), id: item.id, dueAt, wantedAt: dueAt, ...untracked };
    if (item.unsent) await fileUnsent(ctx, item, same, by);
    return { outcome: "replayed", home: same };
  }
  if (!home) {
    throw new MinutehandError(
      "job-not-found",
      `job ${item.id} of this Idempotency-Key is not stored any more`,
      {
        id: item.id,
      },
    );
  }
  // The job's writer may have died before it sent the message. An untracked job that was not near at `now`, before it was read,
  // is left to a sweep: somebody may have cancelled such a job since.
  const isUnsent = item.unsent === true && isNear(startsAt(home), now);
  if (home.state === "scheduled" && (!home.untracked || isUnsent))
    await sendIfNear(ctx, [{ ...home, spare: true }]);
  if (isUnsent) await noteSent(ctx, item, home);
  return { outcome: "replayed", home };
}
