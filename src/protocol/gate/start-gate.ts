import { BOOKED_FOR, BUCKET, LOOKAHEAD, STARTS_AHEAD, WRITER_DEADLINE } from "../../core/constants.ts";
import { asError } from "../../core/errors.ts";
import { type Home, hasExpired, isBeyondBound, isNear, lastStart, startsAt } from "../../core/home.ts";
import { parkedKey } from "../../core/item-keys.ts";
import type { Limited, Parked } from "../../core/items.ts";
import { nextOpening } from "../../cron/window.ts";
import { batchConcurrentCalls } from "../../general/batches.ts";
import { policyOf } from "../policy.ts";
import type { Context, Deadline } from "../ports.ts";
import { bookStarts, type Limit } from "./book-starts.ts";
import { type GivenStart, moveToStarts, noteStarts, type StartOutcome } from "./given-starts.ts";
import { knownLimited, limitedNow, topicNow } from "./known-pauses.ts";
import { listLimited } from "./limited-topics.ts";
import { park } from "./park.ts";

/** What the caller must do. A job in none of the first three fields is parked, waits for a later start, has changed, or has another sender. */
export type Gated = {
  ready: Home[];
  /** The jobs to park once the ready jobs are sent. */
  later: Home[];
  /** Errors, by id, of jobs for which the gate may have done nothing. They need another look. */
  failed: Map<string, Error>;
  /** Notes, by id, of jobs that no pause holds any more. The caller removes them once these jobs are sent. */
  needless: ReadonlyMap<string, Parked>;
};

/** A start this long after the job's own time is late: ms. */
const LATE = 1000;

/** What a sweep, an audit or a consumer knows about the jobs of limited topics. A user's call knows nothing of them. */
export type KnownJobs = {
  /** Ids of jobs that wait for a release. Absent: the gate reads the notes of the jobs with `spare`. */
  readonly parked?: ReadonlySet<string>;
};

/**
 * Decides which of a topic's jobs may start, and when. Those that a pause holds are parked. A limit gives each job a start, which stays unless
 * it has passed. Jobs that would start outside the window wait for its opening. Nothing holds untracked jobs.
 * @throws if the pause cannot be read, or a note of a job that the pause holds cannot be written
 */
export async function startGate(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  known?: KnownJobs,
): Promise<Gated> {
  const tracked = jobs.filter(({ untracked }) => !untracked);
  const { parked, needless } = await park(ctx, topic, tracked);
  const unparked = tracked.filter(({ id }) => !parked.has(id));
  // A crashed run needs no start: its message only makes the reader settle it.
  const waiting = unparked.filter(({ state }) => state === "scheduled");
  const crashed = unparked.filter(({ state }) => state !== "scheduled");
  const untracked = jobs.filter((home) => home.untracked);
  const started = await startsOf(ctx, topic, waiting, known).catch((error) => allFailed(waiting, error));
  return { ...started, ready: [...untracked, ...crashed, ...started.ready], needless };
}

/** What becomes of waiting jobs that no pause holds. */
type Started = Omit<Gated, "needless">;

function allFailed(jobs: readonly Home[], error: unknown): Started {
  const failure = asError(error);
  return { ready: [], later: [], failed: new Map(jobs.map(({ id }) => [id, failure])) };
}

async function startsOf(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  known: KnownJobs | undefined,
): Promise<Started> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  if (maxPerSecond !== undefined) return giveStarts(ctx, topic, jobs, known);
  // The release gives parked jobs new starts, from which their lateness counts.
  const noted = await parkedAmong(ctx, jobs);
  const free = jobs.filter(({ id }) => !noted.has(id));
  if (window !== undefined) return holdOutsideWindow(ctx, topic, free);
  return { ready: free, later: [], failed: new Map() };
}

/** Jobs of a limited topic that have a start are ready, also if the others fail. */
async function giveStarts(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  known: KnownJobs | undefined,
): Promise<Started> {
  const now = ctx.clock();
  // A job that will have expired at its start needs none. Its consumer ends it.
  const isOver = (home: Home): boolean => hasExpired(home, Math.max(startsAt(home), now));
  const isReady = (home: Home): boolean =>
    (isOver(home) || isStartAhead(home, now)) && !startsOutsideWindow(ctx, home);
  const ready = new Set(jobs.filter(isReady));
  const others = jobs.filter((home) => !ready.has(home));
  // A user's call leaves a job to the sender that gave it a start up to `BOOKED_FOR` ago, or, if that sender has died, to the audit. If it
  // sent such jobs, all would start in one second. If it gave them other starts, calls with `onDuplicate: "keep"` could use up the limit.
  const isLeft = (home: Home): boolean =>
    known === undefined && hasUsableStart(home, now) && !startsOutsideWindow(ctx, home);
  const open = others.filter((home) => !isLeft(home));
  const given = await giveNewStarts(ctx, topic, open, known).catch((error) => allFailed(others, error));
  return { ...given, ready: [...ready, ...given.ready] };
}

/** Books starts for jobs that are not parked, and stores the starts that other processes must know. */
async function giveNewStarts(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  known: KnownJobs | undefined,
): Promise<Started> {
  const now = ctx.clock();
  const parked = known?.parked ?? (await parkedAmong(ctx, jobs));
  const free = jobs.filter(({ id }) => !parked.has(id));
  if (free.length < jobs.length) await listLimited(ctx, topic, now + WRITER_DEADLINE);
  if (free.length === 0) return { ready: [], later: [], failed: new Map() };
  // rule: handed-over-jobs-keep-the-limit
  const { holds, left } = await bookForJobs(ctx, topic, free);
  // No sweep has reached this start yet. Without a note, the sweep would give the job another one.
  const isAhead = ({ until }: GivenStart): boolean =>
    known === undefined && until > ctx.clock() + LOOKAHEAD - BUCKET;
  // A late job's lateness counts from the start. Other starts are noted if the home has another one, or other processes may send the job too.
  const isLater = ({ home, until }: GivenStart): boolean =>
    until > Math.max(startsAt(home), ctx.clock()) || until - startsAt(home) >= LATE;
  const isNoted = (one: GivenStart): boolean =>
    isLater(one) ||
    one.home.heldUntil !== undefined ||
    one.home.spare === true ||
    // The next call that postpones the job keeps this start.
    isBeyondBound(one.home, now) ||
    isAhead(one);
  const [noted, others] = [holds.filter(isNoted), holds.filter((one) => !isNoted(one))];
  const { ready, failed } = await startedBy(ctx, noted, noteStarts(ctx, noted));
  return { ready: [...others.map(({ home }) => home), ...ready], later: left, failed };
}

/** The job may run now, for a start that lies ahead or passed at most `BOOKED_FOR` ago. */
export function hasUsableStart(home: Home, now: number): boolean {
  return isStartAhead(home, now - BOOKED_FOR);
}

/** A start that has passed does not count: after a crash, all jobs of a minute would start in one second. */
export function isStartAhead({ heldUntil }: Home, now: number): boolean {
  // rule: one-start-for-each-job
  return heldUntil !== undefined && heldUntil >= now;
}

/** The ids of the parked among the jobs with `Home.spare`. The release gives them starts. */
async function parkedAmong(ctx: Context, jobs: readonly Home[]): Promise<Set<string>> {
  const spare = jobs.filter((home) => home.spare === true);
  if (spare.length === 0) return new Set();
  const notes = await ctx.pool.read(spare.map(parkedKey));
  return new Set(spare.filter((_, i) => notes[i]).map(({ id }) => id));
}

/** Why a sender that stood still until `by` hands nothing over. */
export function readTooLongAgo(by: Deadline): string {
  return `the topic's jobs, pauses and windows were read too long ago: the jobs had to be handed over by ${by} (ms since the epoch)`;
}

async function holdOutsideWindow(ctx: Context, topic: string, jobs: readonly Home[]): Promise<Started> {
  // rule: given-start-keeps-the-window
  const outside = jobs.filter((home) => startsOutsideWindow(ctx, home));
  const now = ctx.clock();
  const holds = outside.map((home): GivenStart => {
    return { home, until: openingOf(ctx, topic, Math.max(startsAt(home), now)), by: "window" };
  });
  // Read after the writes: meanwhile a sweep may have passed the new places of these jobs.
  const isReady = (home: Home): boolean => isNear(startsAt(home), ctx.clock());
  const { ready, failed } = await startedBy(ctx, holds, moveToStarts(ctx, holds), isReady);
  const deferred = holds.length - failed.size;
  if (deferred > 0) ctx.report({ type: "deferred", topic, jobs: deferred });
  return { ready: [...jobs.filter((home) => !outside.includes(home)), ...ready], later: [], failed };
}

/** `time`, or the next opening if the topic's window is shut then: ms since the epoch. */
export function openingOf(ctx: Context, topic: string, time: number): number {
  return nextOpening(policyOf(ctx, topic).window, time);
}

/** Whether a job would start outside its topic's window: at its start, or now if that has passed. */
export function startsOutsideWindow(ctx: Context, home: Home): boolean {
  const start = Math.max(startsAt(home), ctx.clock());
  // rule: start-only-in-the-window
  return openingOf(ctx, home.topic, start) > start;
}

/** Jobs that have got a start but are not `isReady` are sent by a sweep. */
async function startedBy(
  ctx: Context,
  holds: readonly GivenStart[],
  writing: Promise<readonly StartOutcome[]>,
  isReady: (home: Home) => boolean = () => true,
): Promise<Pick<Gated, "ready" | "failed">> {
  const outcomes = await writing.catch((error): StartOutcome[] =>
    holds.map(() => ({ is: "unknown", error: asError(error) })),
  );
  const ready: Home[] = [];
  const failed = new Map<string, Error>();
  for (const [i, { home }] of holds.entries()) {
    const outcome = outcomes[i] as StartOutcome;
    if (outcome.is === "unknown") failed.set(home.id, outcome.error);
    if (outcome.is !== "given") continue;
    // Another process may have given the start long ago.
    if (startsOutsideWindow(ctx, outcome.home))
      failed.set(home.id, new Error("the topic's window has shut since the job's start"));
    else if (isReady(outcome.home)) ready.push(outcome.home);
  }
  return { ready, failed };
}

/** `undefined` for a job that gets no start now. */
type Book = (jobs: readonly Home[]) => Promise<(GivenStart | undefined)[]>;
/** All callers of one context and topic that book at the same time share one call. */
const books = new WeakMap<Context, Map<string, Book>>();

/** `left`: jobs that get no start now. Concurrent calls are booked together: the calls of a batch would ask for the same starts. */
async function bookForJobs(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
): Promise<{ holds: GivenStart[]; left: Home[] }> {
  const { process = ctx } = ctx;
  const ofContext = books.get(process) ?? new Map<string, Book>();
  books.set(process, ofContext);
  const bookOf = ofContext.get(topic) ?? batchConcurrentCalls((some) => bookTogether(process, topic, some));
  ofContext.set(topic, bookOf);
  const booked = await bookOf(jobs);
  return {
    holds: booked.flatMap((hold) => hold ?? []),
    left: jobs.filter((_, i) => booked[i] === undefined),
  };
}

async function bookTogether(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
): Promise<(GivenStart | undefined)[]> {
  const now = ctx.clock();
  const known = lastGiven(await knownLimited(ctx, topic), now);
  // A release may have given starts to all waiting jobs since that read, and a parked job would wait in vain.
  const bound = known === undefined ? undefined : lastGiven(await limitedNow(ctx, topic), now);
  // rule: starts-given-shortly-ahead
  const until = Math.min(now + STARTS_AHEAD, bound ?? Number.POSITIVE_INFINITY);
  // rule: no-start-before-lambda-follows
  const first = Math.max((await topicNow(ctx, topic)).followedAt, now);
  const wanted = jobs.map((home) => ({ start: Math.max(startsAt(home), first), last: lastStart(home) }));
  const starts = await bookStarts(
    ctx,
    topic,
    { ...limitOf(ctx, topic), until, isCrowded: bound !== undefined },
    wanted,
  );
  return jobs.map((home, i) => {
    const start = starts[i];
    return start === undefined ? undefined : { home, until: start, by: "limit" };
  });
}

/** The last start that a release gave while more jobs waited, if it lies ahead. New jobs get none after it. */
function lastGiven(limited: Limited | undefined, now: number): number | undefined {
  const until = limited?.until ?? now;
  return until > now ? until : undefined;
}

export function limitOf(ctx: Context, topic: string): Pick<Limit, "maxPerSecond" | "window" | "counters"> {
  const { maxPerSecond = Number.POSITIVE_INFINITY, window } = policyOf(ctx, topic);
  // rule: limit-gives-starts-in-the-window
  return { maxPerSecond, counters: "starts", ...(window === undefined ? {} : { window }) };
}
