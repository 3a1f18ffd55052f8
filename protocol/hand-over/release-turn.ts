import { AUDIT_AFTER, BATCH_PATIENCE, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { hasCrashed, hasExpired, isNear, isNextRevision, lastStart, startsAt } from "../../core/home.ts";
import {
  type Home,
  homeKey,
  type Parked,
  type Pause,
  parkedKey,
  parkedSortTime,
  parseNote,
  timeOf,
} from "../../core/items.ts";
import type { Wanted } from "../../core/limit.ts";
import { isUnreadable } from "../../core/readable.ts";
import { bookStarts } from "../gate/book-starts.ts";
import { type GivenStart, moveToStarts, noteStarts, type StartOutcome } from "../gate/given-starts.ts";
import { endExpired } from "../gate/if-late.ts";
import { heldFromNow, isPaused } from "../gate/known-pauses.ts";
import {
  hasUsableStart,
  isStartAhead,
  isStartCounted,
  limitOf,
  openingOf,
  startsOutsideWindow,
} from "../gate/start-gate.ts";
import { isNamed, policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { fileLooksAtUnsent, sendIfNear, sendNow } from "../send/send.ts";
import { readHomesApart } from "../store/read-job.ts";
import { lookAtUnreadableAgain, type UnreadableSince } from "../store/unreadable.ts";
import { reserveTurns } from "./pace.ts";

/**
 * How long a release tries to write a home: ms. If one partition of the table is throttled, the other jobs must not wait for it for
 * longer, or their starts would pass.
 */
const PATIENCE = 10_000;

/** One release of a topic's parked jobs. */
export type Release = {
  readonly topic: string;
  /** The topic's resume, if it is not over. */
  readonly pause: Pause | undefined;
  /** All starts that are given lie before this time: ms since the epoch. */
  readonly bound: number;
  /** How many starts the topic's limit has left in each period, as far as the release knows; by the period's begin. */
  readonly room: Map<number, number>;
  /**
   * Partitions whose notes or homes could not be read, whose homes could not be written, or whose notes could not be removed. Their jobs
   * are left to the next tick.
   */
  readonly sick: Set<string>;
  /** The topic's queue has not taken a message. So no further starts are given: they would be lost. */
  isClosed: boolean;
};

/** Outcomes of messages that SQS did not take, and may take in a minute. */
const TRIED_AGAIN: ReadonlySet<string> = new Set(["unreachable", "failing"]);

/** A job that waits for a start, or has expired while it waited. */
type Waiting = {
  readonly home: Home;
  /** All notes that park the job. */
  readonly notes: Parked[];
};

/** What a release does for the jobs of some notes. */
export type ReleaseStep = {
  /** Jobs that get a start. */
  readonly given: readonly { hold: GivenStart; notes: readonly Parked[] }[];
  /** Jobs that are sent as they are: they have a start, or their run has crashed. */
  readonly toSend: readonly Home[];
  /** Jobs that were moved after they were parked, and perhaps never sent. They are handed over anew. */
  readonly owed: readonly Home[];
  /** Jobs that are ended. */
  readonly expired: readonly Waiting[];
  /** Notes that are deleted when all this is done. */
  readonly done: readonly Parked[];
  /** Some jobs got no start. */
  readonly isLeft: boolean;
  /** The jobs of later notes will get no start in this release either. */
  readonly isLast: boolean;
};

/** The turn of a release that gives no more starts. */
export const NOTHING_GIVEN: ReleaseStep = {
  given: [],
  toSend: [],
  owed: [],
  expired: [],
  done: [],
  isLeft: true,
  isLast: true,
};

/**
 * Finds starts for the parked jobs of these notes, in the order of the notes. Only jobs that still wait as their notes say get one.
 * `releaseJobs` does the rest.
 *
 * @param isPaced whether the jobs wait for their turns at the rate of the resume
 */
export async function findStartsForNotes(
  ctx: Context,
  run: Release,
  notes: readonly Parked[],
  isPaced: boolean,
): Promise<ReleaseStep> {
  const { topic } = run;
  if (await isPaused(ctx, topic)) return NOTHING_GIVEN;
  const { waiting: all, ...others } = await judgeNotes(ctx, run, notes);
  const waiting = await startableNow(ctx, topic, all);
  // Where no resume is under way, the turn of a job is the start that it has.
  const turns = run.pause
    ? await reserveTurns(ctx, run, waiting, isPaced)
    : waiting.map(({ home }) => startsAt(home));
  if (!turns) return NOTHING_GIVEN;
  const inTurn = waiting.flatMap((one, i) => {
    const start = turns[i];
    return start === undefined ? [] : [{ ...one, start, last: lastStart(one.home) }];
  });
  const since = await waitingSince(ctx, inTurn);
  const starts = await findStarts(ctx, run, inTurn, isPaced);
  const given = inTurn.flatMap(({ home, notes }, i) => {
    const until = starts[i];
    if (until === undefined) return [];
    // rule: parked-wait-is-no-lateness
    const from = since[i] ?? heldFromNow(ctx, home, ctx.clock());
    const start = Math.max(until, ctx.clock());
    // Sweeps must leave an untracked job to this release, since no claim drops a second message. Its note stays until it is sent.
    const isSent = home.untracked === true && isNear(start, ctx.clock());
    return { notes, hold: { home, from, until: start, isSent } };
  });
  // Will the jobs of later notes get no start either? At a rate this is so when the turns have reached `bound`. Otherwise it is so when no
  // start is left, or when a job got none that could have used any start before `bound`. A job may also get no start because it will have
  // expired, misses its turn of a rate, or may start only later by an earlier window: then the jobs after it may still get starts.
  const now = ctx.clock();
  const isInOrder = ({ home, start }: { home: Home; start: number }): boolean =>
    run.pause !== undefined || start <= Math.max(home.dueAt, now);
  const isExhausted = isPaced
    ? turns.length < waiting.length
    : inTurn.some((one, i) => starts[i] === undefined && one.last >= run.bound && isInOrder(one)) ||
      firstFree(run, now) === Number.POSITIVE_INFINITY;
  const isLeft = given.length < all.length;
  return { ...others, given, isLeft, isLast: isLeft && (isExhausted || waiting.length < all.length) };
}

/** Reads the jobs of these notes, and decides what each note still means: see `Turn`. `waiting`: the jobs that wait for a start. */
async function judgeNotes(
  ctx: Context,
  run: Release,
  notes: readonly Parked[],
): Promise<{ waiting: Waiting[]; toSend: Home[]; owed: Home[]; expired: Waiting[]; done: Parked[] }> {
  const homes = await readHomesApart(
    ctx,
    notes.map(({ id }) => id),
  );
  const now = ctx.clock();
  const waiting = new Map<string, Waiting>();
  const expired = new Map<string, Waiting>();
  const toSend = new Map<string, Home>();
  const owed: Home[] = [];
  const done: Parked[] = [];
  const unreadable: UnreadableSince[] = [];
  const isLimited = policyOf(ctx, run.topic).maxPerSecond !== undefined;
  // A job keeps its start if it can still use that. In a limited topic the limit must have counted the start, which must be to come. In a
  // resume, only a release can have given it: a start from before the pause does not count.
  const isStartKept = (home: Home): boolean =>
    isLimited ? isStartCounted(home) && isStartAhead(home, now) : hasUsableStart(home, now);
  const keepsStart = (home: Home, isMoved: boolean): boolean =>
    isStartKept(home) && !startsOutsideWindow(ctx, home) && (isMoved || !run.pause);
  for (const [i, note] of notes.entries()) {
    const home = homes[i];
    if (home instanceof Error) {
      // The next tick tries again.
      run.sick.add(homeKey(note.id).pk);
      continue;
    }
    if (isUnreadable(home)) {
      // From now on looks find the job, so it needs no note.
      unreadable.push({ ...home, since: now });
      done.push(note);
      continue;
    }
    // A release may have moved the job to a start, by a new revision, and died before it sent the job. So may several releases in a row.
    // No audit finds an untracked job, so this note is then all that is left of the job.
    const isMoved =
      home?.heldUntil !== undefined &&
      parkedSortTime(home) === timeOf(note.sk) &&
      home.revision > note.revision;
    if (!home || !(home.revision === note.revision || isMoved)) {
      // Whoever moved the job may have died before sending it. A void message makes up for that, and so does a note.
      if (home && isNextRevision(home, note.revision) && isNear(startsAt(home), now))
        owed.push({ ...home, spare: true });
      done.push(note);
      continue;
    }
    // The release that gave the job this start may be about to send it, or may die before: the note stays.
    if (home.state === "scheduled" && isBeingSent(home, now)) continue;
    const isExpired = hasExpired(home, now);
    if (home.state === "scheduled" && (isExpired || !keepsStart(home, isMoved))) {
      const these = isExpired ? expired : waiting;
      const found = these.get(home.id) ?? { home, notes: [] };
      found.notes.push(note);
      these.set(home.id, found);
    } else {
      // The consumer that receives the message of a crashed run settles the run.
      if (home.state === "scheduled" || hasCrashed(home, now)) toSend.set(home.id, home);
      done.push(note);
    }
  }
  await lookAtUnreadableAgain(ctx, "releasing parked jobs", unreadable);
  // A note of the job's present revision says more than one of the revision before.
  const unnoted = owed.filter(({ id }) => !waiting.has(id) && !expired.has(id) && !toSend.has(id));
  return {
    waiting: [...waiting.values()],
    toSend: [...toSend.values()],
    owed: unnoted,
    expired: [...expired.values()],
    done,
  };
}

/**
 * Whether the release that gave an untracked job its start may still send the job. It sends the job within `WRITER_DEADLINE` or never.
 * Until then other releases must not send the job, since no claim drops a second message.
 */
function isBeingSent({ sentFor, ...home }: Home, now: number): boolean {
  return sentFor !== undefined && sentFor === startsAt(home) && now < sentFor + WRITER_DEADLINE;
}

/**
 * The jobs that may be given starts now. A deploy may have removed their topic for a while, and then nobody may send to its queue. The
 * jobs' starts would be lost, and the time until the topic is back would count as lateness. So one job's message is sent first, as a
 * test. If the queue does not take the message, tracked jobs stay parked. If the topic stays away, audits and sweeps record these jobs as
 * dead in the end. The test needs a tracked job, since no claim drops the second message of an untracked one.
 */
async function startableNow(
  ctx: Context,
  topic: string,
  waiting: readonly Waiting[],
): Promise<readonly Waiting[]> {
  const tried = waiting.find(({ home }) => !home.untracked)?.home;
  if (!tried || isNamed(ctx, topic)) return waiting;
  const sent = await sendNow(ctx, [tried]);
  if (sent.get(tried.id)?.outcome === "sent") return waiting;
  return waiting.filter(({ home }) => home.untracked);
}

/**
 * Since when each of these jobs waits for its pause or its limit: ms since the epoch. A note says so, if it was written for the start that
 * the job has. The answer is `undefined` if no note was: the job was given another start since, by a release that died before it sent the
 * job, or while the note's writer was slow. Then the time since that other start counts as lateness.
 */
async function waitingSince(ctx: Context, waiting: readonly Waiting[]): Promise<(number | undefined)[]> {
  const noteFor = ({ home }: Waiting, notes: readonly Parked[]): Parked | undefined =>
    notes.find(({ start = home.dueAt }) => start === startsAt(home));
  // A job that was parked again since has a note of its own revision, which may come in a later turn.
  const unknown = waiting.filter((one) => one.home.revision > 0 && !noteFor(one, one.notes));
  const read = unknown.length === 0 ? [] : await ctx.pool.read(unknown.map(({ home }) => parkedKey(home)));
  const own = new Map(unknown.map((one, i) => [one, read[i] ? parseNote(read[i]) : undefined]));
  return waiting.map((one) => {
    const other = own.get(one);
    const note = noteFor(one, other ? [...one.notes, other] : one.notes);
    return note && (note.from ?? one.home.dueAt);
  });
}

/**
 * Finds the starts of jobs that have a turn: the next free starts if the topic has a limit, otherwise the turns themselves. A job that
 * gets no start has `undefined`.
 */
async function findStarts(
  ctx: Context,
  { topic, bound, room }: Release,
  wanted: readonly Wanted[],
  isPaced: boolean,
): Promise<(number | undefined)[]> {
  const now = ctx.clock();
  // A deploy may have removed the limit that parked the jobs, and kept the window.
  if (policyOf(ctx, topic).maxPerSecond === undefined)
    return wanted.map(({ start }) => openingOf(ctx, topic, Math.max(start, now)));
  const limit = { ...limitOf(ctx, topic), until: bound, isCrowded: true, exact: isPaced, room };
  return bookStarts(ctx, topic, limit, wanted);
}

/** The first start that a release may still give, as far as it knows: ms since the epoch, `Infinity` if there is none. */
export function firstStart(ctx: Context, run: Release): number {
  const now = ctx.clock();
  return firstFree(run, now) ?? now;
}

/**
 * The first start that is left from `now` on, in ms since the epoch: `Infinity` if there is none, `undefined` if the release has not read
 * how many starts are left from `now` on.
 */
function firstFree({ room }: Release, now: number): number | undefined {
  const begins = [...room.keys()];
  if (Math.min(...begins) > now) return undefined;
  return Math.max(Math.min(...begins.filter((begin) => (room.get(begin) ?? 0) > 0)), now);
}

/**
 * Releases the jobs of a turn: writes their starts, sends their messages, and deletes their notes last, so that a crash in between loses
 * no job. Ends expired jobs. Deletes the notes of jobs that were cancelled, moved or ended. Answers how many jobs got a start.
 */
export async function releaseJobs(ctx: Context, run: Release, turn: ReleaseStep): Promise<number> {
  const { given, toSend, owed, expired, done } = turn;
  const begun = ctx.clock();
  const endings = await endExpired(
    ctx,
    run.topic,
    expired.map(({ home }) => home),
    begun + PATIENCE,
  );
  const ended = expired.filter((_, i) => endings[i] === "changed");
  const outcomes = await writeStarts(
    ctx,
    run,
    given.map(({ hold }) => hold),
  );
  const started = outcomes.flatMap((outcome) => (outcome instanceof Error || !outcome ? [] : outcome));
  // A job that starts later has a look at its start. As long as SQS does not have its message, even an untracked job can be cancelled.
  const near = [...toSend, ...started].filter((home) => isNear(startsAt(home), ctx.clock()));
  // rule: note-outlives-the-send
  const sent = await sendNow(ctx, near, begun + WRITER_DEADLINE);
  const isUntaken = ({ id }: Home): boolean => TRIED_AGAIN.has(sent.get(id)?.outcome ?? "sent");
  if (near.some(isUntaken)) run.isClosed = true;
  // If SQS did not take the message of a job that got a start now, the job keeps its note, and the next tick gives it another start. The
  // other unsent jobs have no note any more, so they get looks.
  await fileLooksAtUnsent(
    ctx,
    near.filter((home) => !(isUntaken(home) && started.includes(home))),
    sent,
  );
  // An owed job may have been parked again. Then its new note says more, and gets a turn of its own.
  const notes = await ctx.pool.read(owed.map(parkedKey));
  await sendIfNear(
    ctx,
    owed.filter((_, i) => !notes[i]),
  );
  // If an untracked job's start could not be written, another release may have given it one, and may die before it sends the job.
  const isDone = ({ home }: GivenStart, outcome: StartOutcome): boolean =>
    !(outcome instanceof Error) && (outcome !== undefined || !home.untracked);
  const isUnsent = (outcome: StartOutcome): boolean =>
    outcome !== undefined && !(outcome instanceof Error) && near.includes(outcome) && isUntaken(outcome);
  const handled = given.filter(({ hold }, i) => isDone(hold, outcomes[i]) && !isUnsent(outcomes[i]));
  await removeNotes(ctx, run, [...done, ...[...handled, ...ended].flatMap((job) => job.notes)]);
  if (started.length > 0) ctx.report({ type: "released", topic: run.topic, jobs: started.length });
  // From now on the release passes over the partitions whose homes could not be written.
  const homes = [...given.map(({ hold }) => hold.home), ...expired.map(({ home }) => home)];
  for (const [i, outcome] of [...outcomes, ...endings].entries())
    if (outcome instanceof Error) run.sick.add(homeKey(homes[i]?.id ?? "").pk);
  return started.length;
}

/** Writes starts into their jobs' homes, except for starts that the homes say anyway. Answers what became of each, in order. */
async function writeStarts(
  ctx: Context,
  run: Release,
  holds: readonly GivenStart[],
): Promise<StartOutcome[]> {
  const now = ctx.clock();
  const outcomes = new Map<GivenStart, StartOutcome>(holds.map((one) => [one, one.home]));
  // A move files a look at the start, and makes older messages void. After a pause, a message may still lie in the queue. A start that is
  // not near needs a look, and so does a late job, since the audit has passed the job's last look.
  const isMove = ({ home, until }: GivenStart): boolean =>
    run.pause !== undefined ||
    !isNear(until, now) ||
    (!home.untracked && now - startsAt(home) >= AUDIT_AFTER);
  const moves = holds.filter(isMove);
  const isNoted = (one: GivenStart): boolean =>
    one.until > one.from || one.home.heldUntil !== undefined || one.home.untracked === true;
  const noted = holds.filter((one) => !isMove(one) && isNoted(one));
  for (const [i, outcome] of (await moveToStarts(ctx, moves, PATIENCE)).entries())
    outcomes.set(moves[i] as GivenStart, outcome);
  for (const [i, outcome] of (await noteStarts(ctx, noted, PATIENCE)).entries())
    outcomes.set(noted[i] as GivenStart, outcome);
  return holds.map((one) => outcomes.get(one));
}

/** Removes notes. If DynamoDB deletes nothing in one partition, the notes of that partition stay for the next tick. */
async function removeNotes(ctx: Context, run: Release, notes: readonly Parked[]): Promise<void> {
  try {
    return await ctx.pool.remove(notes, ctx.clock() + BATCH_PATIENCE);
  } catch (error) {
    ctx.report({ type: "trouble", topic: run.topic, what: "removing notes", error: messageOf(error) });
  }
  const partitions = [...Map.groupBy(notes, ({ pk }) => pk)];
  await Promise.all(partitions.map(([pk, those]) => removeApart(ctx, run, pk, those)));
}

/** Removes notes of one partition. */
async function removeApart(ctx: Context, run: Release, pk: string, notes: readonly Parked[]): Promise<void> {
  try {
    await ctx.pool.remove(notes, ctx.clock() + BATCH_PATIENCE);
  } catch {
    // The failure was reported before. At its end the release throws, and names the sick partitions.
    run.sick.add(pk);
  }
}
