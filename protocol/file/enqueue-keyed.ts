import { CLOCK_MARGIN, KNOWN_CALLS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { isFinished, isRunning } from "../../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, keyKey, type Tombstone } from "../../core/items.ts";
import { type OnceNote, onceNotesOf, onceText } from "../../core/once.ts";
import { asCancelled } from "../change/cancel.ts";
import { replaceJob } from "../change/reschedule.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import { policyOf } from "../policy.ts";
import type { Context, Write } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import { type KeyHolder, liesUnder, readKeyHolder, tombstoneAsRead } from "../store/key-holder.ts";

/** After so many refused tries a call that keeps a job needs no note: the notes of faster calls have taken its place. */
const TRIES_WITH_NOTE = KNOWN_CALLS;
const TRIES = TRIES_WITH_NOTE + 1;

/** The write that makes an `Idempotency-Key` name a job, and what that job's home is to say of it. */
export type NameOnce = (home: Home) => { write: Write; note: OnceNote };

/**
 * Files a job under its caller's key: key item and home in one transaction, which also holds the finished
 * job that had the key to being finished still, and the tombstone of an event to being there or not. On a live
 * holder `onDuplicate` decides. `nameOnce` takes part in whatever is written. `by`: the deadline of the times in
 * `home`.
 *
 * Throws `job-already-exists`, `job-running`, `unavailable`: with `nameOnce` also when the `Idempotency-Key`
 * names a job by now.
 */
export async function fileKeyed(
  ctx: Context,
  job: NewJob,
  home: Home,
  nameOnce: NameOnce | undefined,
  by: number,
): Promise<Enqueued> {
  const { cancelledByEvents = false } = policyOf(ctx, job.topic);
  for (let i = 0; i < TRIES; i++) {
    const found = await readKeyHolder(ctx, job.topic, job.key ?? "", cancelledByEvents);
    const { holder } = found;
    // An own transaction whose answer was lost has left our id there.
    if (found.item?.id === home.id) return filed(ctx, holder ?? home);
    if (holder && !isFinished(holder)) {
      const isForgotten = i >= TRIES_WITH_NOTE;
      const answer = await meetHolder(ctx, job, holder, found.tombstone, { nameOnce, isForgotten }, by);
      if (answer) return answer;
      continue;
    }
    const taking = underTombstone(ctx, home, found.tombstone);
    const writes = taken(job, taking, found);
    // rule: filed-with-the-tombstone-as-read
    if (cancelledByEvents) writes.push(tombstoneAsRead(job, found.tombstone));
    if (nameOnce) writes.push(nameOnce(taking).write);
    const outcome = await ctx.pool.transact(writes, by);
    if (outcome.done) return filed(ctx, taking);
    if (nameOnce && outcome.refused.at(-1) !== false) throw takenToken(job);
  }
  throw new MinutehandError(
    "unavailable",
    `other calls keep changing the key of a job of topic ${job.topic}; repeat the call`,
  );
}

/** The writes by which a job gets a key that names no live one. */
function taken(job: NewJob, home: Home, { item, holder }: KeyHolder): Write[] {
  const key = keyKey(job.topic, job.key ?? "");
  const { id, state, expiresAt } = home;
  // The key of a job that never lives goes with it.
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

/** What an event has cancelled ahead is cancelled from the start. */
function underTombstone(ctx: Context, home: Home, tombstone: Tombstone | undefined): Home {
  if (!tombstone || !liesUnder(home, tombstone)) return home;
  const { hasSchedule: _, ...same } = home;
  return { ...same, ...asCancelled(ctx, ctx.clock()) };
}

async function filed(ctx: Context, home: Home): Promise<Enqueued> {
  const { topic, id, dueAt, state } = home;
  if (state !== "cancelled") await sendIfNear(ctx, [home]);
  ctx.report({ type: "enqueued", topic, id, dueAt });
  if (state === "cancelled") ctx.report({ type: "cancelled", topic, id });
  return { outcome: "created", home };
}

/** Its request is being filed elsewhere: the caller looks again what it names. */
function takenToken(job: NewJob): MinutehandError {
  const what = `the Idempotency-Key of a job of topic ${job.topic}`;
  return new MinutehandError("unavailable", `${what} names another job by now; repeat the call`);
}

/** A live job holds the key. `undefined`: it did, but no longer as read. */
async function meetHolder(
  ctx: Context,
  job: NewJob,
  holder: Home,
  tombstone: Tombstone | undefined,
  { nameOnce, isForgotten }: { nameOnce: NameOnce | undefined; isForgotten: boolean },
  by: number,
): Promise<Enqueued | undefined> {
  const overtaken = isOvertaken(job, holder, tombstone);
  if (job.onDuplicate === "keep" || overtaken) {
    const once = nameOnce?.(holder);
    // An event is told again for as long as its once item lasts in any case.
    const note = isForgotten || job.eventAt !== undefined ? undefined : once?.note;
    // rule: overtaken-event-keeps-nothing
    const writes = overtaken ? [] : keeping(ctx, job, holder, tombstone, note);
    if (once) writes.push(once.write);
    const outcome = writes.length > 0 ? await ctx.pool.transact(writes, by) : undefined;
    if (outcome?.done === false) {
      if (nameOnce && outcome.refused.at(-1) !== false) throw takenToken(job);
      return undefined;
    }
    // Its writer may have died before sending.
    if (!isRunning(holder, ctx.clock())) await sendIfNear(ctx, [{ ...holder, spare: true }]);
    return { outcome: "kept", home: holder };
  }
  if (job.onDuplicate === "replace" || job.onDuplicate === "postpone") {
    const outcome = job.onDuplicate === "replace" ? "replaced" : "postponed";
    const wanted = outcome === "replaced" ? job : withinBound(job, holder);
    const once = nameOnce?.({ ...holder, dueAt: wanted.dueAt });
    // An event that happened later may cancel what this one asks for, just now.
    const { cancelledByEvents } = policyOf(ctx, job.topic);
    const checks = job.eventAt === undefined || !cancelledByEvents ? [] : [tombstoneAsRead(job, tombstone)];
    const home = await replaceJob(ctx, holder, wanted, once, checks);
    if (home === "taken") throw takenToken(job);
    return home && { outcome, home };
  }
  throw new MinutehandError(
    "job-already-exists",
    `key ${job.key} of topic ${job.topic} must be free, but it names job ${holder.id}, which is not finished`,
    { id: holder.id },
  );
}

/**
 * What makes sure that a job lives on for whoever keeps it: events that happened before, and are told later, leave it. `note`:
 * the once item of the call that keeps the job, which every later move prolongs.
 */
function keeping(
  ctx: Context,
  job: NewJob,
  holder: Home,
  tombstone: Tombstone | undefined,
  note: OnceNote | undefined,
): Write[] {
  const { cancelAskedAt, state, revision, token, once } = holder;
  // An event may cancel a caller's job that was filed a little after it, as clocks differ: so a later one must be noted.
  const { eventAt = holder.createdAt - CLOCK_MARGIN, keptAt = eventAt } = holder;
  const { cancelledByEvents = false } = policyOf(ctx, job.topic);
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
  // A later event may be setting the mark again, to the same moment.
  const isContested = cancelledByEvents && cancelAskedAt !== undefined;
  return isContested ? [{ change }, tombstoneAsRead(job, tombstone)] : [{ change }];
}

/** Queues do not keep events in order: what a later one has said stands, of the job or of its key. */
function isOvertaken({ eventAt: at }: NewJob, holder: Home, tombstone: Tombstone | undefined): boolean {
  if (at === undefined) return false;
  // rule: later-cancel-stands
  return at < (holder.eventAt ?? at) || (tombstone !== undefined && at <= tombstone.eventAt);
}

/** However often a job is postponed, its first bound stays. A job without one gets one that counts from its last change. */
function withinBound(job: NewJob, holder: Home): NewJob & { postponeUntil: number } {
  const { createdAt, askedAt = createdAt } = holder;
  // rule: postponed-within-the-first-bound
  const bound = holder.postponeUntil ?? askedAt + (job.maxDelay ?? 0);
  return { ...job, dueAt: Math.min(job.dueAt, bound), postponeUntil: bound };
}
