import { actorOf } from "../../core/actor.ts";
import { requireAsSeen } from "../../core/as-seen.ts";
import { KNOWN_CALLS } from "../../core/constants.ts";
import { keepsChanging, MinutehandError } from "../../core/errors.ts";
import { type Home, type HomeIn, isFinished, isRunning } from "../../core/home.ts";
import { keyItemKey } from "../../core/item-keys.ts";
import { ITEM_VERSION, type Tombstone } from "../../core/items.ts";
import { type OnceNote, onceNotesOf, onceText } from "../../core/once.ts";
import { changeOf, stateAfter } from "../../core/states.ts";
import { replaceJob } from "../change/reschedule.ts";
import type { Enqueued, NewJob, TimedJob } from "../new-job.ts";
import { endAt, policyOf } from "../policy.ts";
import type { Context, Write } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import {
  askedFor,
  expectTombstoneUnchanged,
  isCancelledByTombstone,
  isCancelledSince,
  type KeyHolder,
  readKeyHolder,
  stillDead,
} from "../store/key-holder.ts";

/** Tries to keep a job that also note the once item in its home. After them the notes of other calls would have replaced this one. */
const TRIES_WITH_NOTE = KNOWN_CALLS;
const TRIES = TRIES_WITH_NOTE + 1;

type LiveHome = HomeIn<"scheduled" | "running">;

/** Makes the write by which a call's once item names a job, and the note of the once item for the job's home. */
export type OnceNaming = (home: Home) => { write: Write; note: OnceNote };

/**
 * Files a job under its caller's key. If the key names a live job, `onDuplicate` decides. Otherwise one transaction writes the key item,
 * the home and the once item, if the call has an `Idempotency-Key`: docs/internals/decisions/keys.md.
 * @returns `displaced` if another call of the request has written the once item
 * @throws `job-already-exists`; `job-running`; `changed-meanwhile`; `unavailable`: other calls keep changing the key
 */
export async function fileKeyed(
  ctx: Context,
  job: TimedJob,
  home: Home,
  once: OnceNaming | undefined,
  by: number,
): Promise<Enqueued | "displaced"> {
  const { cancelledByEvents = false } = policyOf(ctx, job.topic);
  for (let i = 0; i < TRIES; i++) {
    const found = await readKeyHolder(ctx, job.topic, job.key ?? "", cancelledByEvents);
    const { item, holder, tombstone } = found;
    // This call filed the job, and the answer was lost. Others may have moved the job since: answer what this call did.
    if (item?.id === home.id) return sendAndReport(ctx, holder?.revision === 0 ? holder : home);
    if (job.ifMatch !== undefined) requireHolderAsSeen(ctx, job, holder);
    if (holder && isOvertaken(job, holder, tombstone)) return leaveAsIs(ctx, holder, once, by);
    if (holder && !isFinished(holder)) {
      const isForgotten = i >= TRIES_WITH_NOTE;
      const answer = await applyOnDuplicate(ctx, job, holder, tombstone, { once, isForgotten }, by);
      if (answer) return answer;
      continue;
    }
    const filed = underTombstone(ctx, home, tombstone);
    const writes = filingWrites(job, filed, found);
    // rule: filed-with-the-tombstone-as-read
    if (cancelledByEvents) writes.push(expectTombstoneUnchanged(job, tombstone));
    // rule: once-item-with-its-key
    if (once) writes.push(once(filed).write);
    const outcome = await ctx.pool.transact(writes, by);
    if (outcome.done) return sendAndReport(ctx, filed);
    if (once && outcome.refused.at(-1) !== false) return "displaced";
  }
  throw keepsChanging(`the key of a job of topic ${job.topic}`);
}

/** A write that comes between is refused: it changes the holder's revision, or the job that the key names. */
function requireHolderAsSeen(ctx: Context, { topic, key, ifMatch }: NewJob, holder: Home | undefined): void {
  if (!holder) {
    const text = `key ${key} of topic ${topic} must name a job as the caller saw it, but it names no job now`;
    throw new MinutehandError("changed-meanwhile", text);
  }
  // A running job is refused as such.
  if (!isRunning(holder, ctx.clock())) requireAsSeen(holder, ifMatch);
}

export async function sendAndReport(ctx: Context, home: Home): Promise<Enqueued> {
  const { topic, id, dueAt, state } = home;
  if (state === "scheduled") await sendIfNear(ctx, [home]);
  ctx.report({ type: "enqueued", topic, id, dueAt });
  if (state === "cancelled") ctx.report({ type: "cancelled", topic, id });
  return { outcome: "created", home };
}

/** `undefined`: an item has changed since it was read. `isForgotten`: see `TRIES_WITH_NOTE`. */
async function applyOnDuplicate(
  ctx: Context,
  job: TimedJob,
  holder: LiveHome,
  tombstone: Tombstone | undefined,
  { once: naming, isForgotten }: { once: OnceNaming | undefined; isForgotten: boolean },
  by: number,
): Promise<Enqueued | "displaced" | undefined> {
  const { cancelledByEvents = false } = policyOf(ctx, job.topic);
  // The tombstone was read before the holder. In between, a later event may have cancelled the holder's run.
  const isOrdered = cancelledByEvents && job.createdAt !== undefined;
  const checks = isOrdered ? [expectTombstoneUnchanged(job, tombstone)] : [];
  if (job.onDuplicate === "keep") {
    const once = naming?.(holder);
    // The once item of an event outlasts all deliveries of the event, so no move needs to prolong it.
    const note = isForgotten || job.createdAt !== undefined ? undefined : once?.note;
    const writes = keeping(job, holder, note);
    if (writes.length > 0) writes.push(...checks);
    if (once) writes.push(once.write);
    const outcome = writes.length > 0 ? await ctx.pool.transact(writes, by) : undefined;
    if (outcome?.done === false) {
      return once && outcome.refused.at(-1) !== false ? "displaced" : undefined;
    }
    await sendAgain(ctx, holder);
    return { outcome: "kept", home: holder };
  }
  if (job.onDuplicate === "replace" || job.onDuplicate === "postpone") {
    const outcome = job.onDuplicate === "replace" ? "replaced" : "postponed";
    const wanted = outcome === "replaced" ? job : withinBound(job, holder);
    const once = naming?.({ ...holder, dueAt: wanted.dueAt });
    const home = await replaceJob(ctx, holder, wanted, once, checks);
    if (home === "taken") return "displaced";
    return home && { outcome, home };
  }
  throw new MinutehandError(
    "job-already-exists",
    `key ${job.key} of topic ${job.topic} must be free, but it names job ${holder.id}, which is not finished: onDuplicate can keep, replace or postpone it`,
    { id: holder.id },
  );
}

/** Sends a waiting job that is near: its writer may have died before it did. */
async function sendAgain(ctx: Context, holder: Home): Promise<void> {
  if (!isFinished(holder) && !isRunning(holder, ctx.clock()))
    await sendIfNear(ctx, [{ ...holder, spare: true }]);
}

/** Says whether a later event has decided about the job or its key, also if the job has ended. */
function isOvertaken(job: NewJob, holder: Home, tombstone: Tombstone | undefined): boolean {
  const { createdAt: at } = job;
  // Only the job of an event has a `createdAt`.
  if (at === undefined) return false;
  // rule: earlier-event-changes-nothing
  if (at < askedFor(holder)) return true;
  return !isFinished(holder) && tombstone !== undefined && isCancelledSince(at, tombstone);
}

/** Answers an event with a job that a later event has decided about. The event's once item names that job. */
async function leaveAsIs(
  ctx: Context,
  holder: Home,
  once: OnceNaming | undefined,
  by: number,
): Promise<Enqueued | "displaced"> {
  const outcome = once && (await ctx.pool.transact([once(holder).write], by));
  if (outcome?.done === false) return "displaced";
  await sendAgain(ctx, holder);
  return { outcome: "kept", home: holder };
}

/** The writes of a call that keeps a live job: they note its event and once item, and take back an event's cancel of the run. */
function keeping(job: NewJob, holder: LiveHome, note: OnceNote | undefined): Write[] {
  const { cancelAskedAt, eventAt, once } = holder;
  const at = job.createdAt ?? eventAt;
  if (at === eventAt && cancelAskedAt === undefined && !note) return [];
  const set = {
    // rule: keep-asks-for-the-job
    ...(at !== undefined && { eventAt: at }),
    ...(note && { once: onceText([...onceNotesOf(once), note]) }),
  };
  const options = { also: note ? (["once"] as const) : [] };
  const change =
    holder.state === "running"
      ? changeOf("keepRunning", holder, set, options)
      : changeOf("keep", holder, set, options);
  return [{ change }];
}

/** Answers the new job, due at the holder's bound at the latest: docs/internals/decisions/postpone.md. */
function withinBound(job: TimedJob, holder: Home): TimedJob & { postponeUntil: number } {
  const { createdAt, askedAt = createdAt } = holder;
  // rule: postponed-within-the-first-bound
  const bound = holder.postponeUntil ?? askedAt + (job.maxDelay ?? 0);
  return { ...job, dueAt: Math.min(job.dueAt, bound), postponeUntil: bound };
}

function underTombstone(ctx: Context, home: Home, tombstone: Tombstone | undefined): Home {
  if (!tombstone || !isCancelledByTombstone(home, tombstone)) return home;
  const { hasSchedule: _, ...same } = home;
  const cancelledBy = actorOf("event", { name: tombstone.events.split("\n").at(-1) });
  return { ...same, ...stateAfter("fileCancelled", { ...endAt(ctx, ctx.clock()), cancelledBy }) };
}

function filingWrites(job: NewJob, home: Home, { item, holder }: KeyHolder): Write[] {
  const key = keyItemKey(job.topic, job.key ?? "");
  const { id, state, expiresAt } = home;
  // TTL deletes the key item of a job that is cancelled at once together with its home.
  const end = state === "cancelled" && expiresAt !== undefined ? { expiresAt } : undefined;
  if (!item) return [{ insert: home }, { insert: { ...key, v: ITEM_VERSION, id, ...end } }];
  // rule: key-with-its-home
  const change = { key, expect: { id: item.id }, set: { id, ...end }, remove: end ? [] : ["expiresAt"] };
  // A redrive may move a dead job meanwhile. Jobs that ended in another way never come back.
  // rule: key-taken-from-its-holder-as-read
  return [{ insert: home }, { change }, ...(holder?.state === "dead" ? [stillDead(holder)] : [])];
}
