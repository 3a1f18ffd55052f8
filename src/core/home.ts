import { iso } from "../general/times.ts";
import { EXPIRY_GRACE, LAST_START_BEFORE_EXPIRY, LEASE_GRACE, NEAR, SWEPT_AHEAD } from "./constants.ts";
import { type Head, type Home, type State, sortable } from "./items.ts";

// What a home means at a moment. `states.ts` says which changes lead from one state to another.

export function isFinished<H extends Head>(home: H): home is Exclude<H, { state: "scheduled" | "running" }> {
  return home.state !== "scheduled" && home.state !== "running";
}

export function isRunning(home: Head, now: number): boolean {
  // rule: lease-outlasts-the-clocks
  return home.state === "running" && now < home.leaseEnd + LEASE_GRACE;
}

export function hasCrashed(home: Head, now: number): boolean {
  return home.state === "running" && !isRunning(home, now);
}

export function crashOf({ leaseEnd }: { leaseEnd: number }): string {
  return `the run did not end by ${iso(leaseEnd)}: it crashed, or was stopped`;
}

/** When a job may start: ms since the epoch. */
export function startsAt({ dueAt, heldUntil }: Pick<Home, "dueAt" | "heldUntil">): number {
  return Math.max(dueAt, heldUntil ?? dueAt);
}

/** What a home says of the time that was asked for. `wantedAt`: set if that time had passed. `dueAt`: when the job is due, ms since the epoch. */
export function wantedOf(
  { wantedAt }: { readonly wantedAt?: number | undefined },
  dueAt: number,
): Pick<Home, "wantedAt" | "askedLate"> {
  // rule: requested-time-is-kept
  if (wantedAt !== undefined && wantedAt < dueAt) return { wantedAt, askedLate: true };
  return { wantedAt: dueAt };
}

/** Says whether a job has expired by any machine's clock, so that no consumer runs it any more. */
export function hasExpired(
  { wantedAt, expiresAfter = Number.POSITIVE_INFINITY }: Head,
  now: number,
): boolean {
  return now > wantedAt + expiresAfter + EXPIRY_GRACE;
}

/** The last moment at which a job can use a start: ms since the epoch. If `expiresAfter` is short, the first half of it counts. */
export function lastStart({ wantedAt, expiresAfter = Number.POSITIVE_INFINITY }: Head): number {
  return wantedAt + expiresAfter - Math.min(LAST_START_BEFORE_EXPIRY, expiresAfter / 2);
}

/** Whether a job with this `lastStart` has expired. */
export function isLastStartOver(last: number, now: number): boolean {
  return now > last + LAST_START_BEFORE_EXPIRY + EXPIRY_GRACE;
}

/** Says whether a job waits in the revision after `revision`: it was moved once since then, for example by a redrive. */
export function isNextRevision(home: Head, revision: number): boolean {
  return home.state === "scheduled" && home.revision === revision + 1;
}

/**
 * A bucket's entry before the time that its waiting job was moved to sends nothing: the look of the move does. Otherwise a key that is replaced
 * each second while no tick runs would cost as many messages as it has looks.
 */
export function isMovedPast({ state, dueAt }: Head, sk: string): boolean {
  return state === "scheduled" && sk < sortable(dueAt);
}

export function isBeyondBound({ postponeUntil }: Pick<Head, "postponeUntil">, now: number): boolean {
  return postponeUntil !== undefined && postponeUntil <= now;
}

/** Says whether a writer must send a job's message itself, because a sweep may already have passed the job's start. */
export function isNear(start: number, now: number): boolean {
  return start <= now + NEAR;
}

/** Whether a sweep by any clock may have passed this start. If not, a later one surely reads a job that is stored by `now`. */
export function mayBeSwept(start: number, now: number): boolean {
  return start <= now + SWEPT_AHEAD;
}

/** The state that users see: `running` only while the lease is live, and `handed-off` for an untracked job that SQS may have. */
export function stateAt(home: Head, now: number): State | "handed-off" {
  if (home.untracked && home.state === "scheduled" && isNear(startsAt(home), now)) return "handed-off";
  if (hasCrashed(home, now)) return "scheduled";
  return home.state;
}
