import { BATCH_PATIENCE, KNOWN_CALLS } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { isFinished, isRunning } from "../../core/home.ts";
import {
  type Home,
  type HomeIn,
  homeKey,
  ITEM_VERSION,
  type KeyItem,
  keyItemKey,
  type Tombstone,
} from "../../core/items.ts";
import { addressOf } from "../../core/job-id.ts";
import { type OnceNote, onceNotesOf, onceText } from "../../core/once.ts";
import { isUnreadable } from "../../core/readable.ts";
import { changeOf, stateAfter } from "../../core/states.ts";
import { replaceJob } from "../change/reschedule.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import { endAt, policyOf } from "../policy.ts";
import type { Context, Write } from "../ports.ts";
import { sendIfNear } from "../send/send.ts";
import {
  askedFor,
  expectTombstoneUnchanged,
  isBeingFiled,
  isCancelledByTombstone,
  isCancelledSince,
  type KeyHolder,
  readHolder,
  readKeyHolder,
} from "../store/key-holder.ts";
import { readHomes } from "../store/read-job.ts";
import { unreadableError } from "../store/unreadable.ts";

/**
 * A call that keeps a job also notes its once item in the job's home, but only in the first `TRIES_WITH_NOTE` tries. A home stores
 * only the last `KNOWN_CALLS` notes. If all these tries are refused, other calls change the home so often that their notes would
 * have replaced this one. So the last try writes no note.
 */
const TRIES_WITH_NOTE = KNOWN_CALLS;
const TRIES = TRIES_WITH_NOTE + 1;
/**
 * How often the home of a job that another call is storing is read, before a placeholder takes its place. The reads take longer than the
 * other call usually needs.
 */
const READS_OF_A_FILING = 6;

type LiveHome = HomeIn<"scheduled" | "running">;

/** The once item of a call with an `Idempotency-Key`. */
export type OnceNaming = {
  /** Answers the write by which the once item names this job, and the note of the once item for the job's home. */
  readonly name: (home: Home) => { write: Write; note: OnceNote };
  /**
   * Makes the once item name the new job before the job is stored, unless the item names that job already. Answers `false` if another call of
   * the request has written the item since it was read. Absent if one transaction must write the once item and the home.
   */
  readonly nameFirst?: () => Promise<boolean>;
  /** Whether the once item names the new job. */
  readonly isNamed: () => boolean;
};

/**
 * Files a job under its caller's key. If the key names a live job, `onDuplicate` decides. Otherwise this call writes the key item and
 * the home:
 * - Most calls first write the key item, and then the home, because two writes cost half of a transaction. If a call dies in between,
 *   the next call stores a placeholder home, so that the first call cannot store its job any more, and takes the key.
 *   A call with an `Idempotency-Key` writes the once item before these two.
 * - One transaction writes all if events cancel jobs of the topic, if the key names a dead job, or if the job is of an event.
 *   The transaction requires that the finished job that had the key is still finished, or is deleted, and that no event has
 *   written a tombstone under the key since the key was read.
 *
 * @param once the once item of a call with an `Idempotency-Key`. It always names the job that the call answers.
 * @param by the deadline of the times in `home`, ms since the epoch
 * @returns `displaced` if another call keeps this one from storing `home`: a placeholder has its place, or another call of the request has
 * written the once item
 * @throws `job-already-exists`; `job-running`; `unavailable`: other calls keep changing the key
 */
export async function fileKeyed(
  ctx: Context,
  job: NewJob,
  home: Home,
  once: OnceNaming | undefined,
  by: number,
): Promise<Enqueued | "displaced"> {
  const { cancelledByEvents = false } = policyOf(ctx, job.topic);
  for (let i = 0; i < TRIES; i++) {
    const found = await readSettledHolder(ctx, job, home, cancelledByEvents, by);
    const { item, holder } = found;
    // The key names the new job. So this call wrote the key item, and the answer was lost.
    if (item?.id === home.id) {
      if (holder?.isPlaceholder) return "displaced";
      // Others may have moved the job since. The answer says what this call did.
      if (holder) return sendAndReport(ctx, holder.revision > 0 ? home : holder);
      if (item.writtenAt === undefined || (await storeHome(ctx, home, by))) return sendAndReport(ctx, home);
      continue;
    }
    if (holder && isOvertaken(job, holder, found.tombstone)) return leaveAsIs(ctx, holder, once, by);
    if (holder && !isFinished(holder)) {
      const isForgotten = i >= TRIES_WITH_NOTE;
      const answer = await applyOnDuplicate(ctx, job, holder, found.tombstone, { once, isForgotten }, by);
      if (answer) return answer;
      continue;
    }
    // A dead job may be redriven meanwhile, so it must be checked together with its key.
    if (!cancelledByEvents && holder?.state !== "dead" && (!once || once.nameFirst)) {
      // rule: once-item-before-its-key
      if ((await once?.nameFirst?.()) === false) return "displaced";
      const isTaken = await takeKey(ctx, job, home, item, by);
      // rule: key-before-its-home
      if (!isTaken) continue;
      if (await storeHome(ctx, home, by)) return sendAndReport(ctx, home);
      continue;
    }
    const filed = underTombstone(ctx, home, found.tombstone);
    const writes = filingWrites(job, filed, found);
    // rule: filed-with-the-tombstone-as-read
    if (cancelledByEvents) writes.push(expectTombstoneUnchanged(job, found.tombstone));
    const isNaming = once !== undefined && !once.isNamed();
    if (isNaming) writes.push(once.name(filed).write);
    const outcome = await ctx.pool.transact(writes, by);
    if (outcome.done) return sendAndReport(ctx, filed);
    if (isNaming && outcome.refused.at(-1) !== false) return "displaced";
  }
  throw new MinutehandError(
    "unavailable",
    `other calls keep changing the key of a job of topic ${job.topic}; repeat the call`,
  );
}

/**
 * Reads the items of the key and the home of its job, as `readKeyHolder`. If another call may still store the job that the key
 * names, waits for that call as `settleUnstored`.
 */
async function readSettledHolder(
  ctx: Context,
  job: NewJob,
  own: Home,
  withTombstone: boolean,
  by: number,
): Promise<KeyHolder> {
  // The clock is read first: a home may be stored after its read, and before the answer comes.
  const now = ctx.clock();
  const found = await readKeyHolder(ctx, job.topic, job.key ?? "", withTombstone);
  const { item, holder } = found;
  if (!item || holder || item.id === own.id || !isBeingFiled(item, now)) return found;
  return { ...found, holder: await settleUnstored(ctx, own, item.id, by) };
}

/**
 * Gives a call some time to store the home of job `id`. If the home stays missing, a placeholder takes its place, so that nobody stores the job.
 * Answers the home, or the placeholder.
 */
export async function settleUnstored(ctx: Context, own: Home, id: string, by: number): Promise<Home> {
  for (let reads = 1; reads < READS_OF_A_FILING; reads++) {
    const home = await readHolder(ctx, id);
    if (home) return home;
  }
  const placeholder = placeholderOf(ctx, own, id);
  // If the bucket of the home gives no answer, the caller learns that soon.
  // rule: unstored-job-is-never-stored
  const [outcome] = await ctx.pool.insert([placeholder], Math.min(by, ctx.clock() + BATCH_PATIENCE));
  if (outcome instanceof Error) throw outcome;
  return outcome === "inserted" ? placeholder : ((await readHolder(ctx, id)) ?? placeholder);
}

/** Makes the home that stands in the place of job `id`, so that nobody stores that job. */
function placeholderOf(ctx: Context, { v, topic, key = "" }: Home, id: string): Home {
  const { time: dueAt } = addressOf(id);
  const now = ctx.clock();
  const job = {
    id,
    topic,
    key,
    body: "null",
    dueAt,
    wantedAt: dueAt,
    revision: 0,
    attempt: 0,
    createdAt: now,
  };
  return {
    ...homeKey(id),
    v,
    ...job,
    ...stateAfter("holdPlace", { ...endAt(ctx, now), isPlaceholder: true }),
  };
}

/**
 * Makes the key item name the new job, if the item is still as it was read. `item`: names no job, or a finished job that cannot be
 * redriven.
 */
async function takeKey(
  ctx: Context,
  { topic, key = "" }: NewJob,
  { id }: Home,
  item: KeyItem | undefined,
  by: number,
): Promise<boolean> {
  const place = keyItemKey(topic, key);
  // rule: key-says-when-it-was-written
  const says = { id, writtenAt: ctx.clock() };
  if (item) {
    const change = { key: place, expect: { id: item.id }, set: says, remove: ["expiresAt"] };
    return (await ctx.pool.change(change, by)).changed;
  }
  const [outcome] = await ctx.pool.insert([{ ...place, v: ITEM_VERSION, ...says }], by);
  if (outcome instanceof Error) throw outcome;
  return outcome === "inserted";
}

/** Stores the home of a job whose key item is written. `false`: a placeholder has taken its place, so the job is not filed. */
async function storeHome(ctx: Context, home: Home, by: number): Promise<boolean> {
  const [outcome] = await ctx.pool.insert([home], by);
  if (outcome instanceof Error) throw outcome;
  if (outcome === "inserted") return true;
  const [found] = await readHomes(ctx, [home.id]);
  if (isUnreadable(found)) throw unreadableError(found);
  // If there is no placeholder, this call has stored the home, and the answer was lost.
  // rule: replaced-by-a-placeholder-is-not-filed
  return !found?.isPlaceholder;
}

async function sendAndReport(ctx: Context, home: Home): Promise<Enqueued> {
  const { topic, id, dueAt, state } = home;
  if (state === "scheduled") await sendIfNear(ctx, [home]);
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
  holder: LiveHome,
  tombstone: Tombstone | undefined,
  { once: naming, isForgotten }: { once: OnceNaming | undefined; isForgotten: boolean },
  by: number,
): Promise<Enqueued | "displaced" | undefined> {
  const { cancelledByEvents = false } = policyOf(ctx, job.topic);
  // The tombstone was read before the holder. In between, a later event may have cancelled the holder's run.
  // rule: tombstone-as-read-by-an-event
  const isOrdered = cancelledByEvents && job.createdAt !== undefined;
  const checks = isOrdered ? [expectTombstoneUnchanged(job, tombstone)] : [];
  if (job.onDuplicate === "keep") {
    const once = naming?.name(holder);
    // The once item of an event outlasts each delivery of the event by EventBridge or by the DLQ. So no move needs to prolong this
    // item.
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
    const once = naming?.name({ ...holder, dueAt: wanted.dueAt });
    const home = await replaceJob(ctx, holder, wanted, once, checks);
    if (home === "taken") return "displaced";
    return home && { outcome, home };
  }
  throw new MinutehandError(
    "job-already-exists",
    `key ${job.key} of topic ${job.topic} must be free, but it names job ${holder.id}, which is not finished`,
    { id: holder.id },
  );
}

/** Sends a job that waits, if it is near: its writer may have died before it sent the message. */
async function sendAgain(ctx: Context, holder: Home): Promise<void> {
  if (!isFinished(holder) && !isRunning(holder, ctx.clock()))
    await sendIfNear(ctx, [{ ...holder, spare: true }]);
}

/**
 * Says whether a later event has decided about the job or its key already. Events arrive in any order, and the later event wins. A job that
 * has ended still says which event asked for it last.
 */
function isOvertaken(job: NewJob, holder: Home, tombstone: Tombstone | undefined): boolean {
  const { createdAt: at } = job;
  // Only the job of an event has a `createdAt`. A placeholder stands for a job that nobody has.
  if (at === undefined || holder.isPlaceholder) return false;
  // rule: earlier-event-changes-nothing
  if (at < askedFor(holder)) return true;
  return !isFinished(holder) && tombstone !== undefined && isCancelledSince(at, tombstone);
}

/** Answers an event with a job that a later event has asked for or cancelled. The event's once item names that job. */
async function leaveAsIs(
  ctx: Context,
  holder: Home,
  once: OnceNaming | undefined,
  by: number,
): Promise<Enqueued | "displaced"> {
  const outcome = once && (await ctx.pool.transact([once.name(holder).write], by));
  if (outcome?.done === false) return "displaced";
  await sendAgain(ctx, holder);
  return { outcome: "kept", home: holder };
}

/**
 * Makes the writes of a call that keeps a live job. They note the time of the call's event, so that events that happened earlier
 * and arrive later do not change the job. They also take back a cancel that an event has asked for while the job ran. `note`: the
 * once item of the call, which each later move prolongs.
 */
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
  return { ...same, ...stateAfter("fileCancelled", endAt(ctx, ctx.clock())) };
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
    remove: end ? ["writtenAt"] : ["expiresAt", "writtenAt"],
  };
  const expect = holder ? { state: holder.state, revision: holder.revision } : "absent";
  // rule: key-taken-from-its-holder-as-read
  return [{ insert: home }, { change }, { check: { key: homeKey(item.id), expect } }];
}
