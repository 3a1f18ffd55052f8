import { AUDIT_AFTER, BATCH_PATIENCE, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { hasCrashed, hasExpired, isNear, isOwed, lastStart, startsAt } from "../../core/home.ts";
import {
  type Home,
  homeKey,
  noteIn,
  type Parked,
  type Pause,
  parkedKey,
  timeOf,
  turnOf,
} from "../../core/items.ts";
import type { Wanted } from "../../core/limit.ts";
import { isUnreadable } from "../../core/readable.ts";
import { bookStarts } from "../gate/book-starts.ts";
import { type GivenStart, moveToStarts, noteStarts, type StartOutcome } from "../gate/given-starts.ts";
import { endExpired } from "../gate/if-late.ts";
import { heldFromNow, isPaused } from "../gate/known-pauses.ts";
import { isCounted, isGiven, isShut, isStartAhead, limitOf, openingOf } from "../gate/start-gate.ts";
import { isNamed, policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { lookLater, sendIfNear, sendNow } from "../send/send.ts";
import { readHomesApart } from "../store/read-job.ts";
import { lookAtUnreadableAgain, type Met } from "../store/unreadable.ts";
import { reserveTurns } from "./pace.ts";

/**
 * How long a release tries to write a home: ms. Where one partition of the table is throttled, the starts of all jobs behind its
 * own would pass meanwhile.
 */
const PATIENCE = 10_000;

/**
 * One release of a topic's parked jobs. `bound`: no start is given from then on. `room`: what is left of its limit. `sick`: the
 * partitions whose homes could not be read or written, or whose notes could not be removed: their jobs are left to the next tick. `isClosed`: the topic's queue has not taken a message, so that no further starts are given:
 * they would be lost.
 */
export type Release = {
  readonly topic: string;
  readonly pause: Pause | undefined;
  readonly bound: number;
  readonly room: Map<number, number>;
  readonly sick: Set<string>;
  isClosed: boolean;
};

/** What became of a message that SQS did not take, and may take in a minute. */
const TRIED_AGAIN: ReadonlySet<string> = new Set(["unreachable", "failing"]);

/** A job that waits for a start, or has expired meanwhile, with all notes that say so. */
type Waiting = { readonly home: Home; readonly notes: Parked[] };

/**
 * What some notes come to. `given`: their jobs get a start. `toSend`: they have one, and are sent as they are. `owed`: they
 * have moved on, and are handed over anew. `expired`: they are ended. `done`: notes that nothing is left to do for, then.
 * `isLeft`: some got no start. `isLast`: nor will later ones in this release.
 */
export type Turn = {
  readonly given: readonly { hold: GivenStart; notes: readonly Parked[] }[];
  readonly toSend: readonly Home[];
  readonly owed: readonly Home[];
  readonly expired: readonly Waiting[];
  readonly done: readonly Parked[];
  readonly isLeft: boolean;
  readonly isLast: boolean;
};

/** Nobody's: the release is over before all have one. */
export const NO_TURN: Turn = {
  given: [],
  toSend: [],
  owed: [],
  expired: [],
  done: [],
  isLeft: true,
  isLast: true,
};

/**
 * Finds starts for parked jobs, in the order of their notes: for each that waits as its note says. `isPaced`: by the rate
 * of the resume.
 */
export async function takeTurns(
  ctx: Context,
  run: Release,
  notes: readonly Parked[],
  isPaced: boolean,
): Promise<Turn> {
  const { topic } = run;
  if (await isPaused(ctx, topic)) return NO_TURN;
  const { waiting: all, ...others } = await judge(ctx, run, notes);
  const waiting = await takenNow(ctx, topic, all);
  const turns = run.pause
    ? await reserveTurns(ctx, run, waiting, isPaced)
    : waiting.map(({ home }) => startsAt(home));
  if (!turns) return NO_TURN;
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
    // No claim drops what a sweep would send as well. Until it is sent its note stands.
    const isSent = home.untracked === true && isNear(start, ctx.clock());
    return { notes, hold: { home, from, until: start, isSent } };
  });
  // Jobs are left that will have expired, or that miss their turn of a rate, or that a window of before lets start only later.
  // The jobs behind them may get starts still.
  const now = ctx.clock();
  const isInOrder = ({ home, start }: { home: Home; start: number }): boolean =>
    run.pause !== undefined || start <= Math.max(home.dueAt, now);
  const isOver = isPaced
    ? turns.length < waiting.length
    : inTurn.some((one, i) => starts[i] === undefined && one.last >= run.bound && isInOrder(one)) ||
      firstFree(run, now) === Number.POSITIVE_INFINITY;
  const isLeft = given.length < all.length;
  return { ...others, given, isLeft, isLast: isLeft && (isOver || waiting.length < all.length) };
}

/**
 * The jobs that may be given starts now. A deploy may have removed their topic for a while, and nobody may send to its queue then.
 * Their starts would be lost, and the time until the topic is back would count as lateness. So one message is tried first. If the queue
 * does not take it, tracked jobs stay parked. If the topic stays away, audits and sweeps find these jobs dead in the end. An untracked
 * job is not tried, since no claim drops its second message.
 */
async function takenNow(
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

/** The starts of jobs that have a turn: the next free ones where the topic has a limit, else the turns themselves. */
async function findStarts(
  ctx: Context,
  { topic, bound, room }: Release,
  wanted: readonly Wanted[],
  isPaced: boolean,
): Promise<(number | undefined)[]> {
  const now = ctx.clock();
  // A deploy may have taken the limit away that parked them, and left the window.
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
 * The first start that is left from `now` on, in ms since the epoch; `Infinity`: there is none; `undefined`: the release has not
 * looked at all of them.
 */
function firstFree({ room }: Release, now: number): number | undefined {
  const begins = [...room.keys()];
  if (Math.min(...begins) > now) return undefined;
  return Math.max(Math.min(...begins.filter((begin) => (room.get(begin) ?? 0) > 0)), now);
}

/**
 * Lets the jobs of a turn go: their starts, the messages, and the notes last, so that a crash in between loses none. Jobs that
 * have expired are ended. Notes of jobs that were cancelled, moved or ended are deleted. Answers how many jobs got a start.
 */
export async function releaseJobs(ctx: Context, run: Release, turn: Turn): Promise<number> {
  const { given, toSend, owed, expired, done } = turn;
  const begun = ctx.clock();
  const endings = await endExpired(
    ctx,
    run.topic,
    expired.map(({ home }) => home),
    begun + PATIENCE,
  );
  const ended = expired.filter((_, i) => endings[i] === "changed");
  const outcomes = await settleStarts(
    ctx,
    run,
    given.map(({ hold }) => hold),
  );
  const started = outcomes.flatMap((outcome) => (outcome instanceof Error || !outcome ? [] : outcome));
  // What starts later has a look there, and an untracked job can be cancelled as long as SQS does not have it.
  const near = [...toSend, ...started].filter((home) => isNear(startsAt(home), ctx.clock()));
  // rule: note-outlives-the-send
  const sent = await sendNow(ctx, near, begun + WRITER_DEADLINE);
  const isUntaken = ({ id }: Home): boolean => TRIED_AGAIN.has(sent.get(id)?.outcome ?? "sent");
  if (near.some(isUntaken)) run.isClosed = true;
  // A job that has a note waits for the next tick.
  await lookLater(
    ctx,
    near.filter((home) => !(isUntaken(home) && started.includes(home))),
    sent,
  );
  // A note of what a job has become says more: its own turn comes.
  const notes = await ctx.pool.read(owed.map(parkedKey));
  await sendIfNear(
    ctx,
    owed.filter((_, i) => !notes[i]),
  );
  // Another release may have given an untracked job its start, and die before it sends the job.
  const isOver = ({ home }: GivenStart, outcome: StartOutcome): boolean =>
    !(outcome instanceof Error) && (outcome !== undefined || !home.untracked);
  const isLeft = (outcome: StartOutcome): boolean =>
    outcome !== undefined && !(outcome instanceof Error) && near.includes(outcome) && isUntaken(outcome);
  const over = given.filter(({ hold }, i) => isOver(hold, outcomes[i]) && !isLeft(outcomes[i]));
  const read = [...done, ...[...over, ...ended].flatMap(({ notes }) => notes)];
  await removeNotes(ctx, run, read);
  if (started.length > 0) ctx.report({ type: "released", topic: run.topic, jobs: started.length });
  const asked = [...given.map(({ hold }) => hold.home), ...expired.map(({ home }) => home)];
  for (const [i, outcome] of [...outcomes, ...endings].entries())
    if (outcome instanceof Error) run.sick.add(homeKey(asked[i]?.id ?? "").pk);
  return started.length;
}

/** Removes notes. A partition that deletes nothing keeps its own for the next tick, and stops no others. */
async function removeNotes(ctx: Context, run: Release, notes: readonly Parked[]): Promise<void> {
  try {
    return await ctx.pool.remove(notes, ctx.clock() + BATCH_PATIENCE);
  } catch (error) {
    ctx.report({ type: "trouble", topic: run.topic, what: "removing notes", error: messageOf(error) });
  }
  const partitions = [...Map.groupBy(notes, ({ pk }) => pk)];
  await Promise.all(partitions.map(([pk, those]) => removeApart(ctx, run, pk, those)));
}

async function removeApart(ctx: Context, run: Release, pk: string, notes: readonly Parked[]): Promise<void> {
  try {
    await ctx.pool.remove(notes, ctx.clock() + BATCH_PATIENCE);
  } catch {
    // Said above. The release throws at its end, and says which partitions are left.
    run.sick.add(pk);
  }
}

/**
 * Jobs by what their notes still mean: those that wait for a start, those that are sent as they are, those that have expired,
 * and the notes that are done with then.
 */
async function judge(
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
  const unreadable: Met[] = [];
  const isLimited = policyOf(ctx, run.topic).maxPerSecond !== undefined;
  const isStartKept = (home: Home): boolean =>
    isLimited ? isCounted(home) && isStartAhead(home, now) : isGiven(home, now);
  const keepsStart = (home: Home, isMoved: boolean): boolean =>
    isStartKept(home) && !isShut(ctx, home) && (isMoved || !run.pause);
  for (const [i, note] of notes.entries()) {
    const home = homes[i];
    if (home instanceof Error) {
      // The next tick tries again.
      run.sick.add(homeKey(note.id).pk);
      continue;
    }
    if (isUnreadable(home)) {
      // Looks take it over from its note.
      unreadable.push({ ...home, since: now });
      done.push(note);
      continue;
    }
    // A release has given it a start by a new revision, and may have died before it sent the message. So may several in a row:
    // of an untracked job, which no audit finds, the note is then all that is left.
    const isMoved =
      home?.heldUntil !== undefined && turnOf(home) === timeOf(note.sk) && home.revision > note.revision;
    if (!home || !(home.revision === note.revision || isMoved)) {
      // Whoever moved it may have died before sending, as with a void message.
      if (home && isOwed(home, note.revision) && isNear(startsAt(home), now))
        owed.push({ ...home, spare: true });
      done.push(note);
      continue;
    }
    // Whoever gave it this start may send it still, or die before: its note stays.
    if (home.state === "scheduled" && isBeingSent(home, now)) continue;
    const isOver = hasExpired(home, now);
    if (home.state === "scheduled" && (isOver || !keepsStart(home, isMoved))) {
      const these = isOver ? expired : waiting;
      const found = these.get(home.id) ?? { home, notes: [] };
      found.notes.push(note);
      these.set(home.id, found);
    } else {
      // Whoever meets the message of a crashed run settles it.
      if (home.state === "scheduled" || hasCrashed(home, now)) toSend.set(home.id, home);
      done.push(note);
    }
  }
  await lookAtUnreadableAgain(ctx, "releasing parked jobs", unreadable);
  // Its own note says more.
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
 * Whether a release that gave an untracked job its start may be about to send the job. It does so within its deadline, and no
 * claim would drop the message of another release.
 */
function isBeingSent({ sentFor, ...home }: Home, now: number): boolean {
  return sentFor !== undefined && sentFor === startsAt(home) && now < sentFor + WRITER_DEADLINE;
}

/**
 * Since when each of these jobs waits for its pause or its limit, as a note says for the start that the job has. `undefined`: no
 * note does, because the job was given another start since: a release died before it sent the job, or a note's writer was slow.
 * What has passed since that other start is then lost.
 */
async function waitingSince(ctx: Context, waiting: readonly Waiting[]): Promise<(number | undefined)[]> {
  const noteFor = ({ home }: Waiting, notes: readonly Parked[]): Parked | undefined =>
    notes.find(({ start = home.dueAt }) => start === startsAt(home));
  // A job that was parked again since has a note of its own revision, which may come in a later turn.
  const unknown = waiting.filter((one) => one.home.revision > 0 && !noteFor(one, one.notes));
  const read = unknown.length === 0 ? [] : await ctx.pool.read(unknown.map(({ home }) => parkedKey(home)));
  const own = new Map(unknown.map((one, i) => [one, read[i] ? noteIn(read[i]) : undefined]));
  return waiting.map((one) => {
    const other = own.get(one);
    const note = noteFor(one, other ? [...one.notes, other] : one.notes);
    return note && (note.from ?? one.home.dueAt);
  });
}

/** Writes the starts into the homes, as far as nobody can tell them without. Answers in order. */
async function settleStarts(
  ctx: Context,
  run: Release,
  holds: readonly GivenStart[],
): Promise<StartOutcome[]> {
  const now = ctx.clock();
  const outcomes = new Map<GivenStart, StartOutcome>(holds.map((one) => [one, one.home]));
  // The audit has passed a late job, and the messages of one that was paused may lie in its queue: both are moved.
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
