import { BOOKED_FOR, BUCKET, LOOKAHEAD, STARTS_AHEAD, WRITER_DEADLINE } from "../../core/constants.ts";
import { asError } from "../../core/errors.ts";
import { hasExpired, isBeyondBound, isNear, lastStart, startsAt } from "../../core/home.ts";
import { type Home, type Limited, type Parked, parkedKey } from "../../core/items.ts";
import { nextOpening } from "../../cron/window.ts";
import { batchConcurrentCalls } from "../../general/batches.ts";
import { policyOf } from "../policy.ts";
import type { Context, Deadline } from "../ports.ts";
import { bookStarts, type Limit } from "./book-starts.ts";
import { type GivenStart, moveToStarts, noteStarts, type StartOutcome } from "./given-starts.ts";
import { knownLimited, limitedNow, topicNow } from "./known-pauses.ts";
import { listLimited } from "./limited-topics.ts";
import { park } from "./park.ts";

/**
 * What the caller of `startGate` must do. A job in none of the first three fields is parked, has a look at its new start, has changed, or is
 * sent by another sender.
 */
export type Gated = {
  /** The jobs to send now. Each home says when the job may start. */
  ready: Home[];
  /** The jobs to park once the ready jobs are sent: the limit has no free start for them soon. */
  later: Home[];
  /** The errors of jobs for which the gate may have done nothing, by the jobs' ids. They need another look. */
  failed: Map<string, Error>;
  /** Notes of jobs that no pause holds any more, by the jobs' ids. The caller removes the notes once these jobs are sent. */
  spare: ReadonlyMap<string, Parked>;
};

/** A job that starts this long after its own time is late: ms. */
const LATE = 1000;

/** What a sweep, an audit or a consumer knows about the jobs of limited topics that it sends. A call of a user knows nothing of them. */
export type KnownJobs = {
  /** The ids of the jobs that wait for a release. Absent: the gate reads the notes of the jobs with `spare`. */
  readonly parked?: ReadonlySet<string>;
};

/**
 * Decides for each of a topic's tracked jobs whether it may start, and when. Nothing holds an untracked job.
 * - Jobs that a pause holds are parked.
 * - In a topic with a limit each job gets a start. All senders together give at most `maxPerSecond` starts in a second. A given start
 *   stays, unless it has passed.
 * - In a topic with a window, jobs that would start outside the window wait for its next opening.
 *
 * @throws if the pause cannot be read, or a note of a job that the pause holds cannot be written
 */
export async function startGate(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  known?: KnownJobs,
): Promise<Gated> {
  const tracked = jobs.filter(({ untracked }) => !untracked);
  const { parked, spare } = await park(ctx, topic, tracked);
  const unparked = tracked.filter(({ id }) => !parked.has(id));
  // A job whose run crashed needs no start: its message does not run the job, but makes its reader settle the crashed run.
  const waiting = unparked.filter(({ state }) => state === "scheduled");
  const crashed = unparked.filter(({ state }) => state !== "scheduled");
  const untracked = jobs.filter((home) => home.untracked);
  const started = await startsOf(ctx, topic, waiting, known).catch((error) => allFailed(waiting, error));
  return { ...started, ready: [...untracked, ...crashed, ...started.ready], spare };
}

/** What becomes of waiting jobs that no pause holds. */
type Started = Omit<Gated, "spare">;

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
  // Parked jobs are left to the release: it gives them new starts, from which their lateness counts.
  const noted = await parkedAmong(ctx, jobs);
  const free = jobs.filter(({ id }) => !noted.has(id));
  if (window !== undefined) return holdOutsideWindow(ctx, topic, free);
  return { ready: free, later: [], failed: new Map() };
}

/** Gives starts to the jobs of a limited topic that have none. Jobs that have one are ready, also if the others fail. */
async function giveStarts(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  known: KnownJobs | undefined,
): Promise<Started> {
  const now = ctx.clock();
  // A job that will have expired at its start needs no start of the limit. It is sent, and its consumer ends it.
  const isOver = (home: Home): boolean => hasExpired(home, Math.max(startsAt(home), now));
  const isReady = (home: Home): boolean =>
    (isOver(home) || isStartAhead(home, now)) && !startsOutsideWindow(ctx, home);
  const ready = jobs.filter(isReady);
  const others = jobs.filter((home) => !isReady(home));
  // A call of a user relies on the sender that gave the job a start up to `BOOKED_FOR` ago: it has sent the job, or filed a look, or died,
  // and then the audit finds the job. If the call sent such jobs, all would start in one second. If it gave them other starts, calls
  // with `onDuplicate: "keep"` could use up the limit.
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
  // Ticks look for the notes of listed topics only.
  if (free.length < jobs.length) await listLimited(ctx, topic, now + WRITER_DEADLINE);
  if (free.length === 0) return { ready: [], later: [], failed: new Map() };
  // rule: handed-over-jobs-keep-the-limit
  const { holds, left } = await bookForJobs(ctx, topic, free);
  // No sweep has reached this start of a writer yet. If the home did not contain it, the sweep would give the job another one.
  const isAhead = ({ until }: GivenStart): boolean =>
    known === undefined && until > ctx.clock() + LOOKAHEAD - BUCKET;
  // A start is stored if the job waits for it, or is late: its lateness counts from this start. Other starts are stored only if the home has
  // another start, or if other processes may send the job too: each would take another start.
  const isLater = ({ home, until }: GivenStart): boolean =>
    until > Math.max(startsAt(home), ctx.clock()) || until - startsAt(home) >= LATE;
  const isNoted = (one: GivenStart): boolean =>
    isLater(one) ||
    one.home.heldUntil !== undefined ||
    one.home.spare === true ||
    // The next call that postpones the job keeps this start, and a void message runs the job once it has come.
    isBeyondBound(one.home, now) ||
    isAhead(one);
  const [noted, others] = [holds.filter(isNoted), holds.filter((one) => !isNoted(one))];
  const { ready, failed } = await startedBy(ctx, noted, noteStarts(ctx, noted));
  return { ready: [...others.map(({ home }) => home), ...ready], later: left, failed };
}

/** Says whether a job has a start that lies ahead, or passed at most `BOOKED_FOR` ago: it may run now for that start. */
export function hasUsableStart(home: Home, now: number): boolean {
  return isStartAhead(home, now - BOOKED_FOR);
}

/**
 * Says whether a job was given a start that is still to come. A start that has passed does not count: a process may have died before it
 * sent the jobs of a minute, and all of them would start in the same second.
 */
export function isStartAhead({ heldUntil }: Home, now: number): boolean {
  // rule: one-start-for-each-job
  return heldUntil !== undefined && heldUntil >= now;
}

/** Answers the ids of the jobs with `Home.spare` that are parked. They are left to the release, which gives them starts. */
async function parkedAmong(ctx: Context, jobs: readonly Home[]): Promise<Set<string>> {
  const spare = jobs.filter((home) => home.spare === true);
  if (spare.length === 0) return new Set();
  const notes = await ctx.pool.read(spare.map(parkedKey));
  return new Set(spare.filter((_, i) => notes[i]).map(({ id }) => id));
}

/** Answers why a sender hands nothing over at or after `by`: the sender stood still, and its knowledge is too old. */
export function readTooLongAgo(by: Deadline): string {
  return `the topic's jobs, pauses and windows were read too long ago: the jobs had to be handed over by ${by} (ms since the epoch)`;
}

/** Holds the jobs of a topic without a limit that would start outside its window. All others are ready. */
async function holdOutsideWindow(ctx: Context, topic: string, jobs: readonly Home[]): Promise<Started> {
  // rule: given-start-keeps-the-window
  const outside = jobs.filter((home) => startsOutsideWindow(ctx, home));
  const now = ctx.clock();
  const holds = outside.map((home): GivenStart => {
    return { home, until: openingOf(ctx, topic, Math.max(startsAt(home), now)) };
  });
  // The clock is read after the writes: meanwhile a sweep may have passed the new places of these jobs.
  const isReady = (home: Home): boolean => isNear(startsAt(home), ctx.clock());
  const { ready, failed } = await startedBy(ctx, holds, moveToStarts(ctx, holds), isReady);
  if (holds.length > 0) ctx.report({ type: "deferred", topic, jobs: holds.length });
  return { ready: [...jobs.filter((home) => !outside.includes(home)), ...ready], later: [], failed };
}

/** Answers `time` if a topic's window is open then or the topic has none, and else the next opening: ms since the epoch. */
export function openingOf(ctx: Context, topic: string, time: number): number {
  return nextOpening(policyOf(ctx, topic).window, time);
}

/** Says whether a job would start outside its topic's window: at its start, or now if that has passed. */
export function startsOutsideWindow(ctx: Context, home: Home): boolean {
  const start = Math.max(startsAt(home), ctx.clock());
  // rule: start-only-in-the-window
  return openingOf(ctx, home.topic, start) > start;
}

/** Sorts jobs by the outcomes of the writes of their starts: into `failed`, or into `ready` if `isReady`, or into neither. */
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
    // The start may be one that another process gave long ago.
    if (startsOutsideWindow(ctx, outcome.home))
      failed.set(home.id, new Error("the topic's window has shut since the job's start"));
    else if (isReady(outcome.home)) ready.push(outcome.home);
  }
  return { ready, failed };
}

/** Books starts for jobs of one topic. Answers `undefined` for a job that gets none now. */
type Book = (jobs: readonly Home[]) => Promise<(GivenStart | undefined)[]>;
/** One for each context and topic, so that all callers that book at the same time with one context share one call. */
const books = new WeakMap<Context, Map<string, Book>>();

/**
 * Books starts for jobs of a limited topic. `left`: the jobs that get no start now. Calls that come while another call is under way are
 * booked together: the hundreds of calls of a batch would ask for the same starts.
 */
async function bookForJobs(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
): Promise<{ holds: GivenStart[]; left: Home[] }> {
  const ofContext = books.get(ctx) ?? new Map<string, Book>();
  books.set(ctx, ofContext);
  const bookOf = ofContext.get(topic) ?? batchConcurrentCalls((some) => bookTogether(ctx, topic, some));
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
  // A release may have given starts to all waiting jobs since that read. A job that is parked then would wait for the next tick in vain.
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
    return start === undefined ? undefined : { home, until: start };
  });
}

/**
 * Answers the last start that a release gave while more jobs waited: ms since the epoch. No new job takes a later start. `undefined` if no
 * more jobs wait, or if that start has passed: then no tick has come for a while, and every job may take a start.
 */
function lastGiven(limited: Limited | undefined, now: number): number | undefined {
  const until = limited?.until ?? now;
  return until > now ? until : undefined;
}

/** Answers a topic's limit and window by its policy. */
export function limitOf(ctx: Context, topic: string): Pick<Limit, "maxPerSecond" | "window" | "counters"> {
  const { maxPerSecond = Number.POSITIVE_INFINITY, window } = policyOf(ctx, topic);
  // rule: limit-gives-starts-in-the-window
  return { maxPerSecond, counters: "starts", ...(window === undefined ? {} : { window }) };
}
