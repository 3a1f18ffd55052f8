import { iso } from "../general/times.ts";
import { CLOCK_MARGIN, LAST_START_BEFORE_EXPIRY, LOOKAHEAD, NEAR } from "./constants.ts";
import { type Head, type Home, type State, sortable } from "./items.ts";

// What a home means at a moment. `states.ts` says which changes lead from one state to another.

export function isFinished<H extends Head>(home: H): home is Exclude<H, { state: "scheduled" | "running" }> {
  return home.state !== "scheduled" && home.state !== "running";
}

/**
 * Says whether a job's lease is live. A lease counts as live until `CLOCK_MARGIN` after its end, because the reader's clock may be ahead.
 */
export function isRunning(home: Head, now: number): boolean {
  // rule: lease-outlasts-the-clocks
  return home.state === "running" && now < home.leaseEnd + CLOCK_MARGIN;
}

export function hasCrashed(home: Head, now: number): boolean {
  return home.state === "running" && !isRunning(home, now);
}

/** Answers the text of the error of a run that did not end before its lease ended. */
export function crashOf({ leaseEnd }: { leaseEnd: number }): string {
  return `the run did not end by ${iso(leaseEnd)}: it crashed, or was stopped`;
}

/** Answers when a job may start, in ms since the epoch: when it is due, or at the start that a pause, a limit or a window gave it. */
export function startsAt({ dueAt, heldUntil }: Pick<Home, "dueAt" | "heldUntil">): number {
  return Math.max(dueAt, heldUntil ?? dueAt);
}

/** Says whether a job has expired by any machine's clock, so that no consumer runs it any more. */
export function hasExpired(
  { wantedAt, expiresAfter = Number.POSITIVE_INFINITY }: Head,
  now: number,
): boolean {
  return now > wantedAt + expiresAfter + CLOCK_MARGIN;
}

/**
 * Answers the last moment at which a job can use a start, in ms since the epoch. A later start would be wasted: the job would
 * expire before its consumer runs it. A job whose `expiresAfter` is short can use the starts of the first half of that time.
 */
export function lastStart({ wantedAt, expiresAfter = Number.POSITIVE_INFINITY }: Head): number {
  return wantedAt + expiresAfter - Math.min(LAST_START_BEFORE_EXPIRY, expiresAfter / 2);
}

/** Says whether a job with this `lastStart` has expired. */
export function isLastStartOver(last: number, now: number): boolean {
  return now > last + LAST_START_BEFORE_EXPIRY + CLOCK_MARGIN;
}

/** Says whether a job waits in the revision after `revision`: it was moved once since then, for example by a redrive. */
export function isNextRevision(home: Head, revision: number): boolean {
  return home.state === "scheduled" && home.revision === revision + 1;
}

/**
 * Says whether a bucket's entry lies before the time that its waiting job was moved to. Then the entry sends nothing: the move has
 * filed another look at the new time or later, before it changed the home, and that look sends the job. If all entries sent the
 * job, a key that is replaced each second while no tick runs would cost as many messages as it has looks.
 */
export function isMovedPast({ state, dueAt }: Head, sk: string): boolean {
  return state === "scheduled" && sk < sortable(dueAt);
}

/** Says whether the time up to which a job may be postponed is over. */
export function isBeyondBound({ postponeUntil }: Pick<Head, "postponeUntil">, now: number): boolean {
  return postponeUntil !== undefined && postponeUntil <= now;
}

/** Says whether a writer must send a job's message itself, because a sweep may already have passed the job's start. */
export function isNear(start: number, now: number): boolean {
  return start <= now + NEAR;
}

/**
 * Says whether a sweep may already have passed this start, by any machine's clock. If not, a later sweep surely reads a job that is
 * stored by `now`.
 */
export function mayBeSwept(start: number, now: number): boolean {
  return start <= now + LOOKAHEAD + CLOCK_MARGIN;
}

/** The state that users see: `running` only while the lease is live, and `handed-off` for an untracked job that SQS may have. */
export function stateAt(home: Head, now: number): State | "handed-off" {
  if (home.untracked && home.state === "scheduled" && isNear(startsAt(home), now)) return "handed-off";
  if (hasCrashed(home, now)) return "scheduled";
  return home.state;
}
