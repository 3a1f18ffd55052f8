import { CLOCK_MARGIN, LAST_START_BEFORE, NEAR } from "./constants.ts";
import { type Head, type Home, type State, sortable } from "./items.ts";

/**
 * What a home means at a moment. `scheduled` → claim → `running` → settle → `done` | moved back to
 * `scheduled` by its backoff | `dead`; `scheduled` → `cancelled` | `expired`. An ended lease is a crashed
 * run: whoever meets it may move the job.
 */

export function isFinished(home: Head): boolean {
  return home.state !== "scheduled" && home.state !== "running";
}

/** Whether a claimed job's lease counts as live: `CLOCK_MARGIN` past its end, as the reader's clock may be ahead. */
export function isRunning(home: Head, now: number): boolean {
  // rule: lease-outlasts-the-clocks
  return home.state === "running" && now < (home.leaseEnd ?? 0) + CLOCK_MARGIN;
}

export function hasCrashed(home: Head, now: number): boolean {
  return home.state === "running" && !isRunning(home, now);
}

/** What is said of a run whose lease ended before it did. */
export function crashOf({ leaseEnd = 0 }: Head): string {
  return `the run did not end by ${new Date(leaseEnd).toISOString()}: it crashed, or was stopped`;
}

/** When a job may start: when it is due, or when a pause, a limit or a window lets it. */
export function startsAt({ dueAt, heldUntil }: Pick<Home, "dueAt" | "heldUntil">): number {
  return Math.max(dueAt, heldUntil ?? dueAt);
}

/**
 * The `heldFrom` of a job that is given a new start `now`: `dueAt` plus all that the job has lost so far. What a hold took is not
 * lost. What has passed since the job's last start is lost, except for the time in which its topic was `paused` (ms). All other
 * times are ms since the epoch.
 */
export function heldFromAt(
  home: Pick<Home, "dueAt" | "heldFrom" | "heldUntil">,
  now: number,
  paused: number,
): number {
  return Math.max(home.dueAt, home.heldFrom ?? home.dueAt) + Math.max(now - startsAt(home) - paused, 0);
}

/** Whether a job is past its own `expiresAfter` by anybody's clock: no consumer would run it any more. */
export function hasExpired(
  { wantedAt, expiresAfter = Number.POSITIVE_INFINITY }: Head,
  now: number,
): boolean {
  return now > wantedAt + expiresAfter + CLOCK_MARGIN;
}

/**
 * The last moment at which a job can use a start, in ms since the epoch. A later start would be wasted, since the job has expired
 * when its consumer gets to it. A job whose `expiresAfter` is a few seconds can use the starts of the first half of them.
 */
export function lastStart({ wantedAt, expiresAfter = Number.POSITIVE_INFINITY }: Head): number {
  return wantedAt + expiresAfter - Math.min(LAST_START_BEFORE, expiresAfter / 2);
}

/** Whether a job with this `lastStart` has expired. */
export function isLongPast(last: number, now: number): boolean {
  return now > last + LAST_START_BEFORE + CLOCK_MARGIN;
}

/**
 * Whether what is left of `revision`, a message or a note, sends the job as it is now: whoever moved the job may have died
 * before sending it. Only the revision just before does: with all older ones doing so, a key that is replaced each second
 * would cost a number of messages that grows with its square. Looks and audits do the rest.
 */
export function isOwed(home: Head, revision: number): boolean {
  return home.state === "scheduled" && home.revision === revision + 1;
}

/**
 * Whether the entry with this sort key lies before the time that a waiting job was moved to. The job has another look there or
 * later, filed before its home said so: that look sends it. With all looks doing so, a key that is replaced each second while
 * no tick comes would cost as many messages as it has looks.
 */
export function isMovedPast({ state, dueAt }: Head, sk: string): boolean {
  return state === "scheduled" && sk < sortable(dueAt);
}

/** Whether the bound is over that a job may be postponed to. */
export function isBeyondBound({ postponeUntil }: Pick<Head, "postponeUntil">, now: number): boolean {
  return postponeUntil !== undefined && postponeUntil <= now;
}

/** Whether a writer must send a job's message itself, since the sweep may already have passed it. */
export function isNear(start: number, now: number): boolean {
  return start <= now + NEAR;
}

/** The state a user is told: `running` only while the lease is live; an untracked job that SQS has is handed off. */
export function stateAt(home: Head, now: number): State | "handed-off" {
  if (home.untracked && home.state === "scheduled" && isNear(startsAt(home), now)) return "handed-off";
  if (hasCrashed(home, now)) return "scheduled";
  return home.state;
}
