import { iso } from "../general/times.ts";
import type { Actor, Holder } from "./actor.ts";
import type { AskedRuns } from "./chain.ts";
import { EXPIRY_GRACE, LAST_START_BEFORE_EXPIRY, LEASE_GRACE, NEAR, SWEPT_AHEAD } from "./constants.ts";
import { sortable } from "./item-keys.ts";
import type { Key } from "./items.ts";
import type { KeptOptions } from "./job-options.ts";

export type State = "scheduled" | "running" | "done" | "cancelled" | "dead" | "expired";

/** What a caller, an event or a schedule has asked for. */
type Asked = KeptOptions & {
  topic: string;
  /** JSON text as it stands in messages. */
  body: string;
  key?: string;
  untracked?: true;
  /** The chain of the job, if a handler has filed it: see `src/core/chain.ts`. */
  chain?: string;
  /** The span that was active when a caller filed or replaced the job, in W3C's form: see `traceparent.ts`. */
  traceparent?: string;
  /** When the job was filed. If an event filed it: when that event happened. */
  createdAt: number;
  /**
   * The due time that was asked for last, with the random part of its `spread`. It may lie before `dueAt`: whoever asks late, the job is due at
   * once. Retries keep it, and `expiresAfter` counts from it.
   */
  wantedAt: number;
  /** When a caller or an event last moved, replaced or redrove the job, or when an event filed it. */
  askedAt?: number;
  /** The time of the latest event that filed, replaced or kept the job. */
  eventAt?: number;
  /** Up to when the job may be postponed. */
  postponeUntil?: number;
};

/** When the job may start. */
type Start = {
  /** When the job is due: the time of its next run, or of its last. */
  dueAt: number;
  /** Set if the time that was asked for had passed when the job was filed or moved. Then `ifLate` counts from `wantedAt`, until a retry. */
  askedLate?: true;
  /** The start that a pause, a limit or a window gave the job. The time before it does not count as lateness. */
  heldUntil?: number;
  /** What gave the job that start, and when. It is only for the timeline. Earlier versions wrote none. */
  heldBy?: { kind: Holder; at: number };
  /** Set if a schedule that promotes the job was requested. The schedule may be missing. */
  hasSchedule?: true;
};

/** The present claim, or the last one if the job has ended. */
type Claim = {
  token: string;
  leaseEnd: number;
  claimedAt: number;
  /** An event asked for a cancel during the run: the job does not run again, unless a `keep`, or a change after a crash, lifts the cancel. */
  cancelAskedAt?: number;
};
/** Since its last move the job has not been claimed. */
type NoClaim = {
  token?: never;
  leaseEnd?: never;
  cancelAskedAt?: never;
  /** When the job was claimed before its last move. */
  claimedAt?: number;
};

/** `since`: when the first of these runs could not begin, ms since the epoch. `runs`: how many could not begin, without another run between. */
export type Throttled = { readonly since: number; readonly runs: number };

type End = { finishedAt: number; expiresAt: number };
/** `expiresAt`: only of an untracked job. */
type NoEnd = { finishedAt?: never; expiresAt?: number };

/** What the queue itself notes of a job. */
type Bookkeeping = {
  v: number;
  id: string;
  /** How often the job was moved. */
  revision: number;
  /** Attempts used, a present run included. A redrive, a reschedule or a replacement sets 0. A run that asked for another does not count. */
  attempt: number;
  /** Never stored. The job may have been sent before, and the present sender only makes sure that there is a message. */
  spare?: true;
  /** When the message was sent that led to the job's present claim, or to its end without a claim. A move removes this time. */
  sentAt?: number;
  /** Set if the job has run since its last restart, and its time was then changed, which sets `attempt` to 0. */
  hasRun?: true;
  /** Set if the job's handler has asked for another run. */
  askedRuns?: AskedRuns;
  /** Set while a job waits whose last run could not begin, because the target of its topic is throttled. */
  throttled?: Throttled;
  /** How often the job was redriven, or was changed to something else after it had run. */
  restarts?: number;
  /** The last ten bulks that moved or cancelled the job, newest first: `<id of the bulk> <due time before the bulk, in ms>` of each. */
  bulk?: string;
  /** The last ten once items that name the job, a line each: `<expiresAt> <token>`. The items must outlive the job. Of an untracked job: the token of its schedule, without an item. */
  once?: string;
  /** The last ten calls with an `Idempotency-Key` that changed the job, a line each: `<hash of the key>.<hash of the request>`. */
  calls?: string;
  /** What happened to the job before its last move: the last entries, oldest first. Each move adds what it overwrites. */
  log?: LogEntry[];
  /** Who cancelled the job. An event that cancelled the job's run is known by `cancelAskedAt`. */
  cancelledBy?: Actor;
  lastError?: string;
  /** The last ten settles of pulled runs that did not succeed, a line each: `<verb>:<token>`. A repeat with the same receipt is recognised. */
  settledBy?: string;
};

/** A job. A job that succeeds at once costs three writes: file, claim, settle. Each write is billed by the size of the whole item. */
export type Home = Key &
  Asked &
  Start &
  Bookkeeping &
  (
    | ({ state: "scheduled" } & NoClaim & NoEnd)
    | ({ state: "running" } & Claim & NoEnd)
    | ({ state: "done" } & Claim & End)
    | ({ state: "expired" } & NoClaim & End)
    | ({ state: "cancelled" } & (Claim | NoClaim) & End)
    | ({ state: "dead" } & (Claim | NoClaim) & End)
  );
/** The home of a job in one of these states. */
export type HomeIn<S extends State> = Extract<Home, { state: S }>;

/** A job without its body. Code that keeps many jobs in memory keeps heads: a body may have 200 KiB. */
export type Head = HeadOf<Home>;
type HeadOf<H> = H extends unknown ? Omit<H, "body"> : never;
export type HeadIn<S extends State> = HeadOf<HomeIn<S>>;

/** One thing that happened to a job, at the time `at`. */
export type LogEntry = {
  what: "held" | "sent" | "claimed" | "failed" | "asked-to-retry" | "retried" | "moved" | "dead";
  at: number;
  /** The number of the run, if the entry is about one. */
  attempt?: number;
  /** The new due time, if the entry is about a move or a retry. */
  dueAt?: number;
  /** Of a hold: the start that the job got. */
  until?: number;
  /** Who moved the job, or what held it. */
  by?: Actor;
  /** How late the run started, in ms, if the entry is about a claim. Holds do not count. */
  late?: number;
  error?: string;
};

export function headOf({ body: _, ...head }: Home): Head {
  return head;
}

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
