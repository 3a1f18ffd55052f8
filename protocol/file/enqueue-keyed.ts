import { CLOCK_MARGIN, KNOWN_CALLS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { isFinished, isRunning } from "../../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, keyItemKey, type Tombstone } from "../../core/items.ts";
import { type OnceNote, onceNotesOf, onceText } from "../../core/once.ts";
import { cancelledFields } from "../change/cancel.ts";
import { replaceJob } from "../change/reschedule.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import { policyOf } from "../policy.ts";
import type { Context, Write } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import {
  expectTombstoneUnchanged,
  isCancelledByTombstone,
  type KeyHolder,
  readKeyHolder,
} from "../store/key-holder.ts";

/**
 * A call that keeps a job also notes its once item in the job's home, but only in the first `TRIES_WITH_NOTE` tries. A home stores
 * only the last `KNOWN_CALLS` notes. If all these tries are refused, other calls change the home so often that their notes would
 * have replaced this one. So the last try writes no note.
 */
const TRIES_WITH_NOTE = KNOWN_CALLS;
const TRIES = TRIES_WITH_NOTE + 1;

/** Answers the write of the once item that names this job, and the note of this once item for the job's home. */
export type OnceNaming = (home: Home) => { write: Write; note: OnceNote };

/**
 * Files a job under its caller's key. If the key names a live job, `onDuplicate` decides. Otherwise one transaction writes the key
 * item and the home. The transaction requires two things. The finished job that had the key is still finished, or is deleted. No event
 * has written a tombstone under the key since the key was read.
 *
 * @param nameOnce makes a write that each transaction contains
 * @param by the deadline of the times in `home`, ms since the epoch
 * @throws `job-already-exists`; `job-running`; `unavailable`: other calls keep changing the key, or, with `nameOnce`, the
 * `Idempotency-Key` names a job by now
 */
export async function fileKeyed(
  ctx: Context,
  job: NewJob,
  home: Home,
  nameOnce: OnceNaming | undefined,
  by: number,
): Promise<Enqueued> {
  const { cancelledByEvents = false } = policyOf(ctx, job.topic);
  for (let i = 0; i < TRIES; i++) {
    const found = await readKeyHolder(ctx, job.topic, job.key ?? "", cancelledByEvents);
    const { holder } = found;
    // The key names the id that this call created. So this call's transaction was done, and its answer was lost.
    if (found.item?.id === home.id) return sendAndReport(ctx, holder ?? home);
    if (holder && !isFinished(holder)) {
      const isForgotten = i >= TRIES_WITH_NOTE;
      const answer = await applyOnDuplicate(ctx, job, holder, found.tombstone, { nameOnce, isForgotten }, by);
      if (answer) return answer;
      continue;
    }
    const filed = underTombstone(ctx, home, found.tombstone);
    const writes = filingWrites(job, filed, found);
    // rule: filed-with-the-tombstone-as-read
    if (cancelledByEvents) writes.push(expectTombstoneUnchanged(job, found.tombstone));
    if (nameOnce) writes.push(nameOnce(filed).write);
    const outcome = await ctx.pool.transact(writes, by);
    if (outcome.done) return sendAndReport(ctx, filed);
    if (nameOnce && outcome.refused.at(-1) !== false) throw idempotencyKeyTaken(job);
  }
  throw new MinutehandError(
    "unavailable",
    `other calls keep changing the key of a job of topic ${job.topic}; repeat the call`,
  );
}

async function sendAndReport(ctx: Context, home: Home): Promise<Enqueued> {
  const { topic, id, dueAt, state } = home;
  if (state !== "cancelled") await sendIfNear(ctx, [home]);
  ctx.report({ type: "enqueued", topic, id, dueAt });
  if (state === "cancelled") ctx.report({ type: "cancelled", topic, id });
  return { outcome: "created", home };
}

/**
 * Applies `onDuplicate` to the live job that holds the key. `undefined`: an item has changed since it was read, so the caller must
 * read again. `isForgotten`: later notes would replace this call's note in the holder's home (`TRIES_WITH_NOTE`).
 */
async function applyOnDuplicate(
  ctx: Context,
  job: NewJob,
  holder: Home,
  tombstone: Tombstone | undefined,
  { nameOnce, isForgotten }: { nameOnce: OnceNaming | undefined; isForgotten: boolean },
  by: number,
): Promise<Enqueued | undefined> {
  const overtaken = isOvertaken(job, holder, tombstone);
  if (job.onDuplicate === "keep" || overtaken) {
    const once = nameOnce?.(holder);
    // The once item of an event outlasts each delivery of the event by EventBridge or by the DLQ. So no move needs to prolong this
    // item.
    const note = isForgotten || job.eventAt !== undefined ? undefined : once?.note;
    // rule: overtaken-event-keeps-nothing
    const writes = overtaken ? [] : keeping(ctx, job, holder, tombstone, note);
    if (once) writes.push(once.write);
    const outcome = writes.length > 0 ? await ctx.pool.transact(writes, by) : undefined;
    if (outcome?.done === false) {
      if (nameOnce && outcome.refused.at(-1) !== false) throw idempotencyKeyTaken(job);
      return undefined;
    }
    // The holder's writer may have died before it sent the message.
    if (!isRunning(holder, ctx.clock())) await sendIfNear(ctx, [{ ...holder, spare: true }]);
    return { outcome: "kept", home: holder };
  }
  if (job.onDuplicate === "replace" || job.onDuplicate === "postpone") {
    const outcome = job.onDuplicate === "replace" ? "replaced" : "postponed";
    const wanted = outcome === "replaced" ? job : withinBound(job, holder);
    const once = nameOnce?.({ ...holder, dueAt: wanted.dueAt });
    // A later event may be cancelling the job at this moment. Then the tombstone has changed, and the transaction fails.
    const { cancelledByEvents } = policyOf(ctx, job.topic);
    const checks =
      job.eventAt === undefined || !cancelledByEvents ? [] : [expectTombstoneUnchanged(job, tombstone)];
    const home = await replaceJob(ctx, holder, wanted, once, checks);
    if (home === "taken") throw idempotencyKeyTaken(job);
    return home && { outcome, home };
  }
  throw new MinutehandError(
    "job-already-exists",
    `key ${job.key} of topic ${job.topic} must be free, but it names job ${holder.id}, which is not finished`,
    { id: holder.id },
  );
}

/**
 * Says whether a later event has decided about the job or its key already. Events arrive in any order, and the later event wins.
 */
function isOvertaken({ eventAt: at }: NewJob, holder: Home, tombstone: Tombstone | undefined): boolean {
  if (at === undefined) return false;
  // rule: later-cancel-stands
  return at < (holder.eventAt ?? at) || (tombstone !== undefined && at <= tombstone.eventAt);
}

/**
 * Makes the writes of a call that keeps a live job. They note the time of the call's event, so that events that happened earlier
 * and arrive later do not change the job. They also take back a cancel that an event has asked for while the job ran. `note`: the
 * once item of the call, which each later move prolongs.
 */
function keeping(
  ctx: Context,
  job: NewJob,
  holder: Home,
  tombstone: Tombstone | undefined,
  note: OnceNote | undefined,
): Write[] {
  const { cancelAskedAt, state, revision, token, once } = holder;
  // Clocks differ, so an event may cancel a caller's job that was filed up to `CLOCK_MARGIN` after the event. So an event that keeps
  // the job is noted too if it happened up to `CLOCK_MARGIN` before the job was filed.
  const { eventAt = holder.createdAt - CLOCK_MARGIN, keptAt = eventAt } = holder;
  const { cancelledByEvents = false } = policyOf(ctx, job.topic);
  // Only events note their time: a caller's job has no `createdAt`.
  const at = job.createdAt ?? 0;
  // rule: kept-job-notes-the-event
  const isNews = cancelledByEvents && at > Math.max(eventAt, keptAt);
  if (!isNews && cancelAskedAt === undefined && !note) return [];
  const expect = { state, revision, token, cancelAskedAt, keptAt: holder.keptAt, ...(note && { once }) };
  const set = {
    ...(isNews && { keptAt: at }),
    ...(note && { once: onceText([...onceNotesOf(once), note]) }),
  };
  // rule: keep-lifts-the-cancel
  const change = { key: homeKey(holder.id), expect, set, remove: ["cancelAskedAt"] };
  // A later event may be asking for a cancel again, in the same millisecond as the earlier one: `cancelAskedAt` would not show
  // the second request.
  const isContested = cancelledByEvents && cancelAskedAt !== undefined;
  return isContested ? [{ change }, expectTombstoneUnchanged(job, tombstone)] : [{ change }];
}

/**
 * Makes the error for the case that another call of the same request has used the `Idempotency-Key` meanwhile. `fileOnce` then
 * reads which job the `Idempotency-Key` names.
 */
function idempotencyKeyTaken(job: NewJob): MinutehandError {
  const what = `the Idempotency-Key of a job of topic ${job.topic}`;
  return new MinutehandError("unavailable", `${what} names another job by now; repeat the call`);
}

/**
 * Answers the new job, due at the holder's bound at the latest. The first bound stays, however often the job is postponed. A holder
 * without a bound gets one that counts from its last change.
 */
function withinBound(job: NewJob, holder: Home): NewJob & { postponeUntil: number } {
  const { createdAt, askedAt = createdAt } = holder;
  // rule: postponed-within-the-first-bound
  const bound = holder.postponeUntil ?? askedAt + (job.maxDelay ?? 0);
  return { ...job, dueAt: Math.min(job.dueAt, bound), postponeUntil: bound };
}

/** Answers the home to file. The home is cancelled if the tombstone cancels the job. */
function underTombstone(ctx: Context, home: Home, tombstone: Tombstone | undefined): Home {
  if (!tombstone || !isCancelledByTombstone(home, tombstone)) return home;
  const { hasSchedule: _, ...same } = home;
  return { ...same, ...cancelledFields(ctx, ctx.clock()) };
}

/** Makes the writes that file a job under a key that names no live job. */
function filingWrites(job: NewJob, home: Home, { item, holder }: KeyHolder): Write[] {
  const key = keyItemKey(job.topic, job.key ?? "");
  const { id, state, expiresAt } = home;
  // If the new job is cancelled at once, its key item gets the TTL of the home, so that TTL deletes both together.
  const end = state === "cancelled" && expiresAt !== undefined ? { expiresAt } : undefined;
  if (!item) return [{ insert: home }, { insert: { ...key, v: ITEM_VERSION, id, ...end } }];
  const change = {
    key,
    expect: { id: item.id },
    set: { id, ...end },
    ...(end ? {} : { remove: ["expiresAt"] }),
  };
  const expect = holder ? { state: holder.state, revision: holder.revision } : "absent";
  // rule: key-taken-from-its-holder-as-read
  return [{ insert: home }, { change }, { check: { key: homeKey(item.id), expect } }];
}
