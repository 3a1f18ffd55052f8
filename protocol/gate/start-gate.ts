import { BOOKED_FOR, BUCKET, LOOKAHEAD, STARTS_AHEAD, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { hasExpired, isBeyondBound, isNear, lastStart, startsAt } from "../../core/home.ts";
import { type Home, type Parked, parkedKey } from "../../core/items.ts";
import { nextOpening } from "../../cron/window.ts";
import { gathering } from "../../general/batches.ts";
import { policyOf } from "../policy.ts";
import type { Context, Deadline } from "../ports.ts";
import { bookStarts, type Limit } from "./book-starts.ts";
import { type GivenStart, moveToStarts, noteStarts } from "./given-starts.ts";
import { heldFromNow, knownFollowedAt, knownLimited } from "./known-pauses.ts";
import { listLimited } from "./limited-topics.ts";
import { park } from "./park.ts";

/**
 * What becomes of jobs that may start soon. `ready`: they are sent now, and each says when it starts. `later`: no start of the limit
 * is free soon, so they are parked when the others are sent. `failed`: nothing is known to be done for them. `spare`: notes of jobs
 * that no pause holds any more, by the jobs' ids, to be removed when those are sent. All other jobs are parked, or wait for a release.
 */
export type Gated = {
  ready: Home[];
  later: Home[];
  failed: Map<string, Error>;
  spare: ReadonlyMap<string, Parked>;
};

/**
 * What a sweep, an audit or a consumer knows of jobs of limited topics that it sends, by their ids. `parked`: they wait for a release;
 * absent: their notes are read. `behind`: they lie in their queue, and go there once more as they are. `by`: from then on this is too
 * old to give starts by, because others may have parked the jobs since.
 */
export type Looks = {
  readonly parked?: ReadonlySet<string>;
  readonly behind: ReadonlySet<string>;
  readonly by: Deadline;
};

/**
 * When may these jobs start? Everybody who sends jobs of a topic asks here. Jobs of a paused topic are parked. In a topic with a limit
 * each job gets a start, at most `maxPerSecond` in a second, whoever sends the jobs. A start once given stays, unless it has passed.
 * In a topic with a window, jobs that would start outside the window wait for its next opening. `by`: from then on what the caller
 * knows of the jobs is too old. Throws when no job's pause can be read or noted.
 */
export async function startGate(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  by: Deadline,
  looks?: Looks,
): Promise<Gated> {
  const { parked, spare } = await park(ctx, topic, jobs);
  const unparked = jobs.filter(({ id }) => !parked.has(id));
  // A crashed run is sent to be settled, not to be run.
  const waiting = unparked.filter(({ state }) => state === "scheduled");
  const crashed = unparked.filter(({ state }) => state !== "scheduled");
  const gated: Gated = { ready: crashed, later: [], failed: new Map(), spare };
  try {
    const { maxPerSecond, window } = policyOf(ctx, topic);
    if (maxPerSecond !== undefined) await giveStarts(ctx, topic, waiting, gated, by, looks);
    else if (window !== undefined) await holdShut(ctx, topic, waiting, gated);
    else gated.ready.push(...waiting);
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(messageOf(error));
    const settled = new Set([...gated.ready, ...gated.later]);
    for (const home of waiting) if (!settled.has(home)) gated.failed.set(home.id, failure);
  }
  return gated;
}

/** Whether a job that would start now, or when it may, would start outside its topic's window. */
export function isShut(ctx: Context, home: Home): boolean {
  const start = Math.max(startsAt(home), ctx.clock());
  // rule: start-only-in-the-window
  return openingOf(ctx, home.topic, start) > start;
}

/** When a topic's window lets a job start that may at `time`: ms since the epoch. */
export function openingOf(ctx: Context, topic: string, time: number): number {
  return nextOpening(policyOf(ctx, topic).window, time);
}

/** Holds jobs of a topic without a limit that would start outside its window; the others go. */
async function holdShut(ctx: Context, topic: string, jobs: readonly Home[], gated: Gated): Promise<void> {
  // rule: given-start-keeps-the-window
  const outside = jobs.filter((home) => isShut(ctx, home));
  gated.ready.push(...jobs.filter((home) => !outside.includes(home)));
  // A release lets parked jobs go, by their notes, which know since when a pause has held them.
  const parked = await notedAmong(
    ctx,
    outside.filter(({ spare }) => spare === true),
  );
  const shut = outside.filter(({ id }) => !parked.has(id));
  const holds = openings(ctx, shut);
  const now = ctx.clock();
  // What nothing holds any more, as its window has opened since, is as far ahead as its sender chose.
  const isReady = ({ from, until }: GivenStart): boolean => until <= from || isNear(until, now);
  const near = holds.filter(isReady);
  const far = holds.filter((one) => !isReady(one));
  await takeStarts(ctx, near, await noteStarts(ctx, near), gated);
  // Looked at after the writes: meanwhile a sweep may have passed the place of what was far.
  await takeStarts(ctx, far, await moveToStarts(ctx, far), gated, (home) =>
    isNear(startsAt(home), ctx.clock()),
  );
  if (far.length > 0) ctx.report({ type: "deferred", topic, jobs: far.length });
}

/** When the jobs of a topic without a limit start by its window. */
export function openings(ctx: Context, jobs: readonly Home[]): GivenStart[] {
  const now = ctx.clock();
  return jobs.map((home) =>
    givenStartOf(ctx, home, now, openingOf(ctx, home.topic, Math.max(startsAt(home), now))),
  );
}

/** A hold counts from now on for a late job: what the job had lost before stays lateness. */
function givenStartOf(ctx: Context, home: Home, now: number, until: number): GivenStart {
  return { home, from: heldFromNow(ctx, home, now), until };
}

/** Lets go what was held as asked. */
async function takeStarts(
  ctx: Context,
  holds: readonly GivenStart[],
  outcomes: readonly (Home | undefined | Error)[],
  { ready, failed }: Gated,
  isReady: (home: Home) => boolean = () => true,
): Promise<void> {
  for (const [i, { home }] of holds.entries()) {
    const held = outcomes[i];
    if (held instanceof Error) failed.set(home.id, held);
    // Another's start serves as well, but for one that has passed when the window has shut.
    else if (held && isShut(ctx, held)) failed.set(home.id, new Error("its window has shut since its start"));
    else if (held && isReady(held)) ready.push(held);
  }
}

/** Why a sender that stood still until after `by` hands nothing over. */
export function readTooLongAgo(by: Deadline): string {
  return `the topic's jobs, pauses and windows were read too long ago: this had to be done by ${by}`;
}

/** Gives starts to jobs of a limited topic that have none. */
async function giveStarts(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  gated: Gated,
  by: Deadline,
  looks: Looks | undefined,
): Promise<void> {
  const now = ctx.clock();
  const isSent = (home: Home): boolean =>
    looks?.behind.has(home.id) === true ||
    (isCounted(home) && (looks ? isStartAhead(home, now) : isGiven(home, now)));
  // A job that will have expired by its start is sent without one: its consumer ends it.
  const isOver = (home: Home): boolean => hasExpired(home, Math.max(startsAt(home), now));
  const isReady = (home: Home): boolean => (isOver(home) || isSent(home)) && !isShut(ctx, home);
  gated.ready.push(...jobs.filter(isReady));
  const parked =
    looks?.parked ??
    (await notedAmong(
      ctx,
      jobs.filter((home) => home.spare === true && !isReady(home)),
    ));
  const isParked = ({ id }: Home): boolean => parked.has(id);
  // A late job with a note waits for a release, and ticks look for the notes of listed topics alone.
  if (jobs.some((home) => isParked(home) && !isReady(home)))
    await listLimited(ctx, topic, now + WRITER_DEADLINE);
  const free = jobs.filter((home) => !isReady(home) && !isParked(home));
  if (free.length === 0) return;
  // A sender that stood still may have jobs that others have parked since. A start counts the time until now as lateness.
  const last = Math.min(by, looks?.by ?? by);
  if (ctx.clock() >= last) throw new Error(readTooLongAgo(last));

  // rule: handed-over-jobs-keep-the-limit
  const { holds, left } = await book(ctx, topic, free);
  gated.later.push(...left);
  // A sweep may come to it still, and would give it another.
  const isAhead = ({ until }: GivenStart): boolean =>
    looks === undefined && until > ctx.clock() + LOOKAHEAD - BUCKET;
  // Others may be sent to be sure as well, and each would take another start.
  const isNoted = (one: GivenStart): boolean =>
    one.until > one.from ||
    one.home.heldUntil !== undefined ||
    one.home.spare === true ||
    // The next call that postpones the job reads the start in its home and keeps it. So does a claim by a void message.
    isBeyondBound(one.home, now) ||
    isAhead(one);
  gated.ready.push(...holds.filter((one) => !isNoted(one)).map(({ home }) => home));
  const noted = holds.filter(isNoted);
  await takeStarts(ctx, noted, await noteStarts(ctx, noted), gated);
}

/**
 * The ids of those of these jobs that are parked. Their senders only want to be sure: the release will give each parked job a start,
 * and its note knows since when the limit has held the job.
 */
async function notedAmong(ctx: Context, spare: readonly Home[]): Promise<Set<string>> {
  if (spare.length === 0) return new Set();
  const notes = await ctx.pool.read(spare.map(parkedKey));
  return new Set(spare.filter((_, i) => notes[i]).map(({ id }) => id));
}

/** Whether a job was given a start that it may count on still. */
export function isGiven(home: Home, now: number): boolean {
  return isStartAhead(home, now - BOOKED_FOR);
}

/**
 * Whether a job was given a start that is still to come. Ticks count on no other: one that died may not have sent the jobs of
 * a minute, and sent at once they would share a second.
 */
export function isStartAhead({ heldUntil }: Home, now: number): boolean {
  // rule: one-start-for-each-job
  return heldUntil !== undefined && heldUntil >= now;
}

/** Whether a limit has counted a job's start. A window gave all its jobs one start, when the topic had no limit yet. */
export function isCounted({ uncounted, heldUntil }: Home): boolean {
  return uncounted === undefined || uncounted !== heldUntil;
}

/** A job's start, `undefined`: none now. By the topic, of whoever does several things at once. */
type Book = (jobs: readonly Home[]) => Promise<(GivenStart | undefined)[]>;
const books = new WeakMap<Context, Map<string, Book>>();

/**
 * Books starts for jobs of a limited topic, which share them with all others. `left`: those that get none now. The jobs of a batch
 * may come one by one, hundreds at once. They would all ask for the same starts, so that they are booked together.
 */
export async function book(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
): Promise<{ holds: GivenStart[]; left: Home[] }> {
  const ofContext = books.get(ctx) ?? new Map<string, Book>();
  books.set(ctx, ofContext);
  const bookOf = ofContext.get(topic) ?? gathering((some) => bookTogether(ctx, topic, some));
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
  const limited = await knownLimited(ctx, topic);
  // While jobs wait, others take no start behind those that were given. When no tick has come since, all may.
  const isCrowded = limited?.until !== undefined && limited.until > now;
  // rule: starts-given-shortly-ahead
  const until = Math.min(now + STARTS_AHEAD, isCrowded ? (limited.until ?? now) : Number.POSITIVE_INFINITY);
  // rule: no-start-before-lambda-follows
  const first = Math.max(await knownFollowedAt(ctx, topic), now);
  const wanted = jobs.map((home) => ({ start: Math.max(startsAt(home), first), last: lastStart(home) }));
  const starts = await bookStarts(ctx, topic, { ...limitOf(ctx, topic), until, isCrowded }, wanted);
  return jobs.map((home, i) => {
    const start = starts[i];
    return start === undefined ? undefined : givenStartOf(ctx, home, now, start);
  });
}

/** A topic's limit as its policy says it. */
export function limitOf(ctx: Context, topic: string): Pick<Limit, "maxPerSecond" | "window"> {
  const { maxPerSecond = Number.POSITIVE_INFINITY, window } = policyOf(ctx, topic);
  // rule: limit-gives-starts-in-the-window
  return { maxPerSecond, ...(window === undefined ? {} : { window }) };
}
