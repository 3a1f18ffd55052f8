import { EVENT_AFTER, EVENT_PRECISION, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { type Home, isFinished, isRunning } from "../../core/home.ts";
import { tombstoneKey, ttl } from "../../core/item-keys.ts";
import { ITEM_VERSION, type Tombstone } from "../../core/items.ts";
import type { Applied } from "../../core/rule-effects.ts";
import { changeOf } from "../../core/states.ts";
import { diedAt } from "../../core/timeline.ts";
import type { Context, Write } from "../ports.ts";
import {
  askedFor,
  expectKeyUnchanged,
  expectTombstone,
  readKeyHolder,
  stillDead,
} from "../store/key-holder.ts";
import { cancelTogether } from "./cancel.ts";

const TRIES = 10;
/**
 * How many ids of a key's last events a tombstone keeps. Times do not tell events apart: EventBridge counts in whole seconds, and an event of
 * the future counts from another moment on each delivery.
 */
const EVENTS_KNOWN = 10;

/** Times are ms since the epoch. */
export type CancellingEvent = {
  id: string;
  topic: string;
  key: string;
  /** When the event happened. */
  at: number;
  /** If the event finds no job, jobs that are filed under the key before this time are cancelled. Not after `at`: none is. */
  until: number;
};

/**
 * Cancels the job of a key as if somebody had cancelled it when the event happened, and leaves a tombstone, which also makes a repeat change
 * nothing: docs/internals/decisions/tombstones.md. A running job's run goes on, and no other follows. @throws `unavailable`
 */
export async function cancelByEvent(ctx: Context, event: CancellingEvent): Promise<Applied> {
  for (let i = 0; i < TRIES; i++) {
    const { item, holder, tombstone } = await readKeyHolder(ctx, event.topic, event.key, true);
    if (tombstone && isDone(event, tombstone)) return { did: "nothing" };
    const live = holder && !isFinished(holder) ? holder : undefined;
    // rule: only-an-unmet-job-is-cancelled-ahead
    const until = holder && isMet(holder, event) ? endMet(event, live, tombstone) : event.until;
    // rule: tombstone-with-the-key-as-read
    const together = [tombstoneOf(ctx, event, until, tombstone), expectKeyUnchanged(event, item)];
    if (holder?.state === "dead") together.push(stillDead(holder));
    const isEnded = live !== undefined && isMeant(live, event);
    // rule: event-leaves-a-tombstone
    const done = isEnded ? await end(ctx, live, together) : await write(ctx, together);
    if (!done) continue;
    if (event.at < until) ctx.report({ type: "tombstone", topic: event.topic, until });
    if (!isEnded) return { did: "no-job", ...(event.at < until && { until }) };
    return { did: isRunning(live, ctx.clock()) ? "cancelling" : "cancelled", id: live.id };
  }
  throw new MinutehandError(
    "unavailable",
    `other calls keep changing the key of a job of topic ${event.topic}`,
  );
}

function isDone({ id, at }: CancellingEvent, { events, eventAt }: Tombstone): boolean {
  // rule: event-applied-once
  return events.split("\n").includes(id) || at < eventAt;
}

/** Says whether an event would have found a job if it had come in time. The event's whole second counts. */
function isMet(job: Home, { at }: CancellingEvent): boolean {
  if (job.createdAt >= at + EVENT_PRECISION) return false;
  return !isFinished(job) || (diedAt(job) ?? job.finishedAt) >= at;
}

/** The `until` of an event that has found a job. An earlier tombstone may have cancelled an ended job from the start. */
function endMet({ at }: CancellingEvent, live: Home | undefined, before: Tombstone | undefined): number {
  return live ? at : Math.max(at, before?.until ?? 0);
}

/** Says whether an event cancels a live job: not one that was asked for later, unless the event's tombstone would have cancelled it. */
function isMeant(home: Home, { at, until }: CancellingEvent): boolean {
  const askedAt = askedFor(home);
  // rule: job-a-later-event-wants-stays
  return askedAt <= at || (at < home.createdAt && askedAt < until);
}

/** Cancels a live job. A running job ends as cancelled unless its run succeeds. `false`: an item has changed since it was read. */
async function end(ctx: Context, home: Home, together: readonly Write[]): Promise<boolean> {
  const now = ctx.clock();
  if (home.state !== "running" || !isRunning(home, now)) return cancelTogether(ctx, home, together);
  // The time must differ from that of an earlier cancel: a call that is about to take that one back must not take back this one.
  const cancelAskedAt = Math.max(now, (home.cancelAskedAt ?? 0) + 1);
  return write(ctx, [{ change: changeOf("askToCancel", home, { cancelAskedAt }) }, ...together]);
}

async function write(ctx: Context, writes: readonly Write[]): Promise<boolean> {
  return (await ctx.pool.transact(writes, ctx.clock() + WRITER_DEADLINE)).done;
}

/** The tombstone is stored for `EVENT_AFTER` more: an earlier event that files a job may still arrive then. */
function tombstoneOf(
  ctx: Context,
  event: CancellingEvent,
  until: number,
  before: Tombstone | undefined,
): Write {
  const expiresAt = ttl(Math.max(until, ctx.clock()) + EVENT_AFTER);
  const events = [...(before?.events.split("\n") ?? []), event.id].slice(-EVENTS_KNOWN).join("\n");
  const set = { events, eventAt: event.at, until, expiresAt };
  const key = tombstoneKey(event.topic, event.key);
  return before
    ? { change: { key, expect: expectTombstone(before), set } }
    : { insert: { ...key, v: ITEM_VERSION, ...set } };
}
