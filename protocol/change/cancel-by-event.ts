import { CLOCK_MARGIN, EVENT_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { isFinished, isRunning } from "../../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type Tombstone, tombstoneKey, ttl } from "../../core/items.ts";
import type { Context, Write } from "../ports.ts";
import { keyAsRead, liesUnder, readKeyHolder, standsAs } from "../store/key-holder.ts";
import { cancelTogether } from "./cancel.ts";

const TRIES = 10;
/**
 * How many of a key's events are known by their ids. Times do not tell all of them apart: EventBridge counts in whole seconds,
 * and an event whose time is to come counts from another each time that it is told.
 */
const EVENTS_KNOWN = 10;

/** What an event cancels. Times are ms since the epoch. */
export type CancellingEvent = {
  id: string;
  topic: string;
  key: string;
  /** When it happened. */
  at: number;
  /** Until then jobs of the key that are filed are cancelled too, where there was none; not after `at`: none are. */
  until: number;
};

/**
 * Cancels the job of a key as of when the event happened. One that runs is not run again; one filed after `until` is none of
 * its. In the same transaction it leaves a tombstone: under it jobs of what happened before are cancelled as they are filed,
 * and where there was no job to cancel, those filed until `until` too. By it the event is known when it is told again.
 * Throws `unavailable`: to be repeated.
 */
export async function cancelByEvent(ctx: Context, event: CancellingEvent): Promise<void> {
  for (let i = 0; i < TRIES; i++) {
    const found = await readKeyHolder(ctx, event.topic, event.key, true);
    const { holder, tombstone } = found;
    if (tombstone && isDone(event, tombstone)) return;
    const live = holder && !isFinished(holder) ? holder : undefined;
    const meant = live && isMeant(live, event) ? live : undefined;
    const metOne = meant !== undefined || (holder?.finishedAt ?? 0) >= event.at;
    // rule: only-an-unmet-job-is-cancelled-ahead
    // rule: tombstone-only-grows
    const until = Math.max(metOne ? event.at : event.until, tombstone?.until ?? 0);
    // rule: tombstone-with-the-key-as-read
    // Who files a job meanwhile gives the key another holder.
    const together = [tombstoneOf(ctx, event, until, tombstone), keyAsRead(event, found.item)];
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

/** Told before; or a later one has cancelled all that it would have. */
function isDone({ id, at, until }: CancellingEvent, { events, eventAt, reach }: Tombstone): boolean {
  // rule: event-applied-once
  return events.split("\n").includes(id) || (at < eventAt && until <= reach);
}

/** The clocks of a caller who files jobs and of the event's sender may differ; events' own times are what they go by. */
function isMeant(holder: Home, { at, until }: CancellingEvent): boolean {
  if (holder.eventAt !== undefined) return liesUnder(holder, { eventAt: at, until });
  return holder.createdAt <= until + CLOCK_MARGIN;
}

/**
 * Holds a transaction to a job being of the event that it was of as it was read, or of none: an earlier event may make a
 * caller's job its own meanwhile, and is cancelled with it.
 */
function ownerAsRead({ id, eventAt }: Home): Write {
  return { check: { key: homeKey(id), expect: { eventAt } } };
}

/** Holds a transaction to a job being dead: a redrive under way brings the job back to life, and the event then cancels it. */
function stillDead({ id, state, revision }: Home): Write {
  return { check: { key: homeKey(id), expect: { state, revision } } };
}

/**
 * Whether a later event has asked for a job that was there before, or has asked for it when none was cancelled ahead any more:
 * in order it would have filed another.
 */
function isAskedFor({ createdAt, eventAt = 0, keptAt = 0 }: Home, { at, until }: CancellingEvent): boolean {
  const askedAt = Math.max(eventAt, keptAt);
  return at < askedAt && (createdAt <= at || until <= askedAt);
}

/** Whether a live job is cancelled, or will be unless the run in hand succeeds; `false`: something is not as it was read. */
async function end(ctx: Context, home: Home, together: readonly Write[]): Promise<boolean> {
  const now = ctx.clock();
  if (!isRunning(home, now)) return cancelTogether(ctx, home, together);
  const expect = { state: "running", token: home.token, keptAt: home.keptAt };
  return write(ctx, [
    { change: { key: homeKey(home.id), expect, set: { cancelAskedAt: now } } },
    ...together,
  ]);
}

async function write(ctx: Context, writes: readonly Write[]): Promise<boolean> {
  return (await ctx.pool.transact(writes, ctx.clock() + WRITER_DEADLINE)).done;
}

/** Over or not: an event that files a job, and happened before, may be told later still. */
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
    ? { change: { key, expect: standsAs(before), set } }
    : { insert: { ...key, v: ITEM_VERSION, ...set } };
}
