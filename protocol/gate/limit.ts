import { BOOKED_FOR, BUCKET, LOOKAHEAD, STARTS_AHEAD, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { hasExpired, isBeyondBound, isNear, lastStart, startsAt } from "../../core/home.ts";
import { type Home, parkedKey } from "../../core/items.ts";
import { nextOpening } from "../../cron/window.ts";
import { gathering } from "../../general/batches.ts";
import { policyOf } from "../policy.ts";
import type { Context, Deadline } from "../ports.ts";
import { bookStarts, type Limit } from "./book-starts.ts";
import { type Hold, moveHeld, noteStarts } from "./hold.ts";
import { heldFromNow, knownFollowedAt, knownLimited } from "./known-pauses.ts";
import { listLimited } from "./limited-topics.ts";

/**
 * Jobs as limits and windows let them. `going`: to be sent now, each saying when it starts. `left`: no start is free soon, and they
 * are to be parked when the others are sent. `failed`: those that could not be settled.
 */
export type Shaped = { going: Home[]; left: Home[]; failed: Map<string, Error> };

/**
 * What a sweep or an audit knows of jobs of limited topics that it sends, by their ids. `parked`: they wait for a release.
 * `behind`: they lie in their queue, and go there once more as they are. `by`: from then on this is too old to give starts by,
 * because others may have parked the jobs since.
 */
export type Looks = {
  readonly parked: ReadonlySet<string>;
  readonly behind: ReadonlySet<string>;
  readonly by: Deadline;
};

/**
 * Gives jobs of a topic with a limit their starts, at most `maxPerSecond` in a second, whoever hands them over.
 * Holds jobs of another topic that would start outside its window till its next opening. A start once given stays, unless it has
 * passed. What goes wrong is told as the failure of the jobs that wait. `by`: from then on the jobs are too old to be given starts.
 */
export async function shape(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  by: Deadline,
  looks?: Looks,
): Promise<Shaped> {
  // A crashed run is sent to be settled, not to be run.
  const waiting = jobs.filter(({ state }) => state === "scheduled");
  const crashed = jobs.filter(({ state }) => state !== "scheduled");
  const shaped: Shaped = { going: crashed, left: [], failed: new Map() };
  try {
    if (policyOf(ctx, topic).maxPerSecond === undefined) await holdShut(ctx, topic, waiting, shaped);
    else await giveStarts(ctx, topic, waiting, shaped, by, looks);
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(messageOf(error));
    const settled = new Set([...shaped.going, ...shaped.left]);
    for (const home of waiting) if (!settled.has(home)) shaped.failed.set(home.id, failure);
  }
  return shaped;
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
async function holdShut(ctx: Context, topic: string, jobs: readonly Home[], shaped: Shaped): Promise<void> {
  // rule: given-start-keeps-the-window
  const outside = jobs.filter((home) => isShut(ctx, home));
  shaped.going.push(...jobs.filter((home) => !outside.includes(home)));
  // A release lets parked jobs go, by their notes, which know since when a pause has held them.
  const parked = await notedAmong(
    ctx,
    outside.filter(({ spare }) => spare === true),
  );
  const shut = outside.filter(({ id }) => !parked.has(id));
  const holds = openings(ctx, shut);
  const now = ctx.clock();
  // What nothing holds any more, as its window has opened since, is as far ahead as its sender chose.
  const isGoing = ({ from, until }: Hold): boolean => until <= from || isNear(until, now);
  const near = holds.filter(isGoing);
  const far = holds.filter((one) => !isGoing(one));
  await keepHolds(ctx, near, await noteStarts(ctx, near), shaped);
  // Looked at after the writes: meanwhile a sweep may have passed the place of what was far.
  await keepHolds(ctx, far, await moveHeld(ctx, far), shaped, (home) => isNear(startsAt(home), ctx.clock()));
  if (far.length > 0) ctx.report({ type: "deferred", topic, jobs: far.length });
}

/** When the jobs of a topic without a limit start by its window. */
export function openings(ctx: Context, jobs: readonly Home[]): Hold[] {
  const now = ctx.clock();
  return jobs.map((home) =>
    holdOf(ctx, home, now, openingOf(ctx, home.topic, Math.max(startsAt(home), now))),
  );
}

/** A hold counts from now on for a late job: what the job had lost before stays lateness. */
function holdOf(ctx: Context, home: Home, now: number, until: number): Hold {
  return { home, from: heldFromNow(ctx, home, now), until };
}

/** Lets go what was held as asked. */
async function keepHolds(
  ctx: Context,
  holds: readonly Hold[],
  outcomes: readonly (Home | undefined | Error)[],
  { going, failed }: Shaped,
  isGoing: (home: Home) => boolean = () => true,
): Promise<void> {
  for (const [i, { home }] of holds.entries()) {
    const held = outcomes[i];
    if (held instanceof Error) failed.set(home.id, held);
    // Another's start serves as well, but for one that has passed when the window has shut.
    else if (held && isShut(ctx, held)) failed.set(home.id, new Error("its window has shut since its start"));
    else if (held && isGoing(held)) going.push(held);
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
  shaped: Shaped,
  by: Deadline,
  looks: Looks | undefined,
): Promise<void> {
  const now = ctx.clock();
  const isSent = (home: Home): boolean =>
    looks?.behind.has(home.id) === true ||
    (isCounted(home) && (looks ? isStartAhead(home, now) : isGiven(home, now)));
  // A job that will have expired by its start is sent without one: its consumer ends it.
  const isOver = (home: Home): boolean => hasExpired(home, Math.max(startsAt(home), now));
  const isGoing = (home: Home): boolean => (isOver(home) || isSent(home)) && !isShut(ctx, home);
  shaped.going.push(...jobs.filter(isGoing));
  const parked =
    looks?.parked ??
    (await notedAmong(
      ctx,
      jobs.filter((home) => home.spare === true && !isGoing(home)),
    ));
  const isParked = ({ id }: Home): boolean => parked.has(id);
  // A late job with a note waits for a release, and ticks look for the notes of listed topics alone.
  if (jobs.some((home) => isParked(home) && !isGoing(home)))
    await listLimited(ctx, topic, now + WRITER_DEADLINE);
  const free = jobs.filter((home) => !isGoing(home) && !isParked(home));
  if (free.length === 0) return;
  // A sender that stood still may have jobs that others have parked since. A start counts the time until now as lateness.
  const last = Math.min(by, looks?.by ?? by);
  if (ctx.clock() >= last) throw new Error(readTooLongAgo(last));

  // rule: handed-over-jobs-keep-the-limit
  const { holds, left } = await book(ctx, topic, free);
  shaped.left.push(...left);
  // A sweep may come to it still, and would give it another.
  const isAhead = ({ until }: Hold): boolean =>
    looks === undefined && until > ctx.clock() + LOOKAHEAD - BUCKET;
  // Others may be sent to be sure as well, and each would take another start.
  const isNoted = (one: Hold): boolean =>
    one.until > one.from ||
    one.home.heldUntil !== undefined ||
    one.home.spare === true ||
    // The next call that postpones the job reads the start in its home and keeps it. So does a claim by a void message.
    isBeyondBound(one.home, now) ||
    isAhead(one);
  shaped.going.push(...holds.filter((one) => !isNoted(one)).map(({ home }) => home));
  const noted = holds.filter(isNoted);
  await keepHolds(ctx, noted, await noteStarts(ctx, noted), shaped);
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
type Book = (jobs: readonly Home[]) => Promise<(Hold | undefined)[]>;
const books = new WeakMap<Context, Map<string, Book>>();

/**
 * Books starts for jobs of a limited topic, which share them with all others. `left`: those that get none now. The jobs of a batch
 * may come one by one, hundreds at once. They would all ask for the same starts, so that they are booked together.
 */
export async function book(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
): Promise<{ holds: Hold[]; left: Home[] }> {
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
): Promise<(Hold | undefined)[]> {
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
    return start === undefined ? undefined : holdOf(ctx, home, now, start);
  });
}

/** A topic's limit as its policy says it. */
export function limitOf(ctx: Context, topic: string): Pick<Limit, "maxPerSecond" | "window"> {
  const { maxPerSecond = Number.POSITIVE_INFINITY, window } = policyOf(ctx, topic);
  // rule: limit-gives-starts-in-the-window
  return { maxPerSecond, ...(window === undefined ? {} : { window }) };
}
