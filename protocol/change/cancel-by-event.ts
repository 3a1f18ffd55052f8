import { CLOCK_MARGIN, EVENT_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { isFinished, isRunning } from "../../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type Tombstone, tombstoneKey, ttl } from "../../core/items.ts";
import { changeOf } from "../../core/states.ts";
import type { Context, Write } from "../ports.ts";
import {
  expectKeyUnchanged,
  expectTombstone,
  isCancelledByTombstone,
  readKeyHolder,
} from "../store/key-holder.ts";
import { cancelTogether } from "./cancel.ts";

const TRIES = 10;
/**
 * How many ids of a key's last events a tombstone keeps. Times do not tell all events apart: EventBridge counts in whole seconds,
 * and an event of the future counts from a different moment on each delivery.
 */
const EVENTS_KNOWN = 10;

/** An event that cancels the job of a key. Times are ms since the epoch. */
export type CancellingEvent = {
  id: string;
  topic: string;
  key: string;
  /** When the event happened. */
  at: number;
  /**
   * If the event finds no job, jobs that are filed under the key before this time are cancelled too. If this time is not after
   * `at`, no such job is cancelled.
   */
  until: number;
};

/**
 * Cancels the job of a key as if somebody had cancelled it when the event happened. If the job is running, its run goes on, and no
 * further run follows. A job that was filed after `until` stays. The same transaction leaves a tombstone. When an earlier event
 * files a job later, the tombstone cancels that job at once. If the event found no job to cancel, the tombstone also cancels jobs
 * that are filed before `until`. Idempotent: the tombstone keeps the event's id.
 *
 * @throws `unavailable`: the call must be repeated
 */
export async function cancelByEvent(ctx: Context, event: CancellingEvent): Promise<void> {
  for (let i = 0; i < TRIES; i++) {
    const found = await readKeyHolder(ctx, event.topic, event.key, true);
    const { holder, tombstone } = found;
    if (tombstone && isDone(event, tombstone)) return;
    const live = holder && !isFinished(holder) ? holder : undefined;
    const meant = live && isMeant(live, event) ? live : undefined;
    const endedAt = holder?.isPlaceholder ? undefined : holder?.finishedAt;
    const metOne = meant !== undefined || (endedAt ?? 0) >= event.at;
    // rule: only-an-unmet-job-is-cancelled-ahead
    // rule: tombstone-only-grows
    const until = Math.max(metOne ? event.at : event.until, tombstone?.until ?? 0);
    // rule: tombstone-with-the-key-as-read
    // If another process files a job meanwhile, the key names that job, and the transaction is refused.
    const together = [tombstoneOf(ctx, event, until, tombstone), expectKeyUnchanged(event, found.item)];
    if (live && !meant) together.push(ownerAsRead(live));
    if (holder?.state === "dead") together.push(stillDead(holder));
    // rule: job-a-later-event-wants-stays
    const ended = meant && !isAskedFor(meant, event) ? meant : undefined;
    // rule: event-leaves-a-tombstone
    const done = ended ? await end(ctx, ended, together) : await write(ctx, together);
    if (!done) continue;
    const isAhead = until > Math.max(event.at, tombstone?.until ?? 0);
    if (isAhead) ctx.report({ type: "tombstone", topic: event.topic, until });
    return;
  }
  throw new MinutehandError(
    "unavailable",
    `other calls keep changing the key of a job of topic ${event.topic}`,
  );
}

/** Says whether an event was applied before, or a later event has cancelled all jobs that this event would cancel. */
function isDone({ id, at, until }: CancellingEvent, { events, eventAt, reach }: Tombstone): boolean {
  // rule: event-applied-once
  return events.split("\n").includes(id) || (at < eventAt && until <= reach);
}

/**
 * Says whether an event is about this job. If an event filed the job, both times come from events and are compared exactly. If a
 * caller filed it, the caller's clock may differ from the clock of the event's sender, so `CLOCK_MARGIN` is added.
 */
function isMeant(holder: Home, { at, until }: CancellingEvent): boolean {
  if (holder.eventAt !== undefined) return isCancelledByTombstone(holder, { eventAt: at, until });
  return holder.createdAt <= until + CLOCK_MARGIN;
}

/**
 * Makes the check that a job still has the `eventAt` with which it was read, or still has none. Meanwhile an earlier event may
 * replace a caller's job. Then the job belongs to that event, and this event must cancel it.
 */
function ownerAsRead({ id, eventAt }: Home): Write {
  return { check: { key: homeKey(id), expect: { eventAt } } };
}

/**
 * Makes the check that a job is still dead: a redrive may bring the job back to life meanwhile, and then the event must cancel it.
 */
function stillDead({ id, state, revision }: Home): Write {
  return { check: { key: homeKey(id), expect: { state, revision } } };
}

/**
 * Says whether a later event has asked for this job, so that the job stays. The later event counts if the job was filed before the
 * event that cancels, or if the later event happened at or after `until`. If the events had come in order, the later event would
 * have filed another job in these cases.
 */
function isAskedFor({ createdAt, eventAt = 0, keptAt = 0 }: Home, { at, until }: CancellingEvent): boolean {
  const askedAt = Math.max(eventAt, keptAt);
  return at < askedAt && (createdAt <= at || until <= askedAt);
}

/**
 * Cancels a live job. A job that runs is marked instead: it ends as cancelled unless its current run succeeds. `false`: nothing was
 * written, because an item has changed since it was read.
 */
async function end(ctx: Context, home: Home, together: readonly Write[]): Promise<boolean> {
  const now = ctx.clock();
  if (home.state !== "running" || !isRunning(home, now)) return cancelTogether(ctx, home, together);
  return write(ctx, [{ change: changeOf("askToCancel", home, { cancelAskedAt: now }) }, ...together]);
}

async function write(ctx: Context, writes: readonly Write[]): Promise<boolean> {
  return (await ctx.pool.transact(writes, ctx.clock() + WRITER_DEADLINE)).done;
}

/**
 * Makes the write of a tombstone. The tombstone is stored for `EVENT_AFTER` after the time up to which it cancels, because an
 * earlier event that files a job may still arrive then.
 */
function tombstoneOf(
  ctx: Context,
  event: CancellingEvent,
  until: number,
  before: Tombstone | undefined,
): Write {
  const reach = Math.max(event.until, before?.reach ?? 0);
  const expiresAt = ttl(Math.max(reach, ctx.clock()) + EVENT_AFTER);
  const events = [...(before?.events.split("\n") ?? []), event.id].slice(-EVENTS_KNOWN).join("\n");
  const eventAt = Math.max(event.at, before?.eventAt ?? 0);
  const set = { events, eventAt, until, reach, expiresAt };
  const key = tombstoneKey(event.topic, event.key);
  return before
    ? { change: { key, expect: expectTombstone(before), set } }
    : { insert: { ...key, v: ITEM_VERSION, ...set } };
}
