import { lastStart, startsAt } from "../../core/home.ts";
import type { Home, Parked } from "../../core/items.ts";
import type { Wanted } from "../../core/limit.ts";
import { nextOpening } from "../../cron/window.ts";
import { bookStarts } from "../gate/book-starts.ts";
import type { GivenStart } from "../gate/given-starts.ts";
import { isPaused, readPauses, topicNow } from "../gate/known-pauses.ts";
import { limitOf, openingOf } from "../gate/start-gate.ts";
import { isNamed, policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { sendNow } from "../send/send.ts";
import { type JudgedNotes, judgeNotes, type Waiting } from "./judge-notes.ts";
import { firstFree, type Release } from "./release-state.ts";

/** The work of a release for the jobs of some notes. */
export type ReleaseStep = Omit<JudgedNotes, "waiting"> & {
  /** Jobs that get a start. */
  readonly given: readonly { hold: GivenStart; notes: readonly Parked[] }[];
  /** Some jobs got no start. */
  readonly isLeft: boolean;
  /** The jobs of later notes will get no start in this release either. */
  readonly isLast: boolean;
};

/** The step of a release that gives no more starts. */
export const NOTHING_GIVEN: ReleaseStep = {
  given: [],
  toSend: [],
  expired: [],
  done: [],
  unread: [],
  isLeft: true,
  isLast: true,
};

/**
 * Finds starts for the parked jobs of these notes, in their order. Only jobs that still wait as their notes say get one.
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
  if (isPaused(await topicNow(ctx, topic))) return NOTHING_GIVEN;
  const { waiting: all, ...others } = await judgeNotes(ctx, run, notes);
  const waiting = await startableNow(ctx, topic, all);
  // If no resume is under way, the turn of a job is the start that it has.
  const turns = run.pause
    ? await bookTurns(ctx, run, waiting, isPaced)
    : waiting.map(({ home }) => startsAt(home));
  if (!turns) return { ...NOTHING_GIVEN, unread: others.unread };
  const inTurn = waiting.flatMap((one, i) => {
    const start = turns[i];
    return start === undefined ? [] : [{ ...one, start, last: lastStart(one.home) }];
  });
  const starts = await findStarts(ctx, run, inTurn, isPaced);
  const given = inTurn.flatMap(({ home, notes }, i) => {
    const until = starts[i];
    if (until === undefined) return [];
    return { notes, hold: { home, until: Math.max(until, ctx.clock()) } };
  });
  // `isExhausted`: the jobs of later notes will get no start in this release either. No turn or start is left, or a job got none although it
  // could use any before `bound`. A job may get none for other reasons: it expires before the next free one, it has a turn whose second
  // is full, or a former window lets it start only later. Then the jobs of later notes may still get starts.
  const now = ctx.clock();
  const isInOrder = ({ home, start }: { home: Home; start: number }): boolean =>
    run.pause !== undefined || start <= Math.max(home.dueAt, now);
  const isExhausted = isPaced
    ? waiting.some(({ home }, i) => turns[i] === undefined && lastStart(home) >= run.bound)
    : inTurn.some((one, i) => starts[i] === undefined && one.last >= run.bound && isInOrder(one)) ||
      firstFree(run, now) === Number.POSITIVE_INFINITY;
  const isLeft = given.length < all.length;
  return { ...others, given, isLeft, isLast: isLeft && (isExhausted || waiting.length < all.length) };
}

/**
 * Answers the jobs that may be given starts now. A deploy may have removed their topic, and then their starts would be lost. So if the policy
 * does not name the topic, one job's message is sent first, as a test. If the queue does not take it, the jobs stay parked, and if no deploy
 * brings the topic back, sweeps record them as dead in the end. The second message of the tested job is void.
 */
async function startableNow(
  ctx: Context,
  topic: string,
  waiting: readonly Waiting[],
): Promise<readonly Waiting[]> {
  const tried = waiting[0]?.home;
  if (!tried || isNamed(ctx, topic)) return waiting;
  const sent = await sendNow(ctx, [tried]);
  return sent.get(tried.id)?.outcome === "sent" ? waiting : [];
}

/** Finds starts for jobs that have a turn: the next free ones if the topic has a limit, otherwise the turns themselves. */
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

/**
 * Books turns for parked jobs of a topic that is being resumed. A turn is the time (ms since the epoch) from which its job may start. The
 * jobs are sorted by due time. A job that gets no turn before `bound` and before it expires has `undefined`. Answers `undefined` instead of
 * turns if the topic is paused again, or if the resume is over and the topic has no limit.
 *
 * @param isPaced whether the jobs wait for the rate of the resume
 */
async function bookTurns(
  ctx: Context,
  { topic, bound, turns }: Release,
  jobs: readonly { readonly home: Home }[],
  isPaced: boolean,
): Promise<(number | undefined)[] | undefined> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  const isLimited = maxPerSecond !== undefined;
  const now = ctx.clock();
  const [pause] = await readPauses(ctx, [topic]);
  // A tick may have ended the resume meanwhile. Then the limit alone says when the jobs start.
  if (pause === undefined && isLimited) return jobs.map(({ home }) => Math.max(home.dueAt, now));
  if (pause?.state !== "resuming") return undefined;
  const { rate, followedAt = now } = pause;
  if (!isPaced || rate === undefined) {
    // In a limited topic no start may lie before consumers receive again, or all jobs with such starts would begin together.
    const first = isLimited ? Math.max(followedAt, now) : now;
    return jobs.map(({ home }) => nextOpening(window, Math.max(first, home.dueAt)));
  }
  const wanted = jobs.map(({ home }) => {
    return { start: Math.max(followedAt, home.dueAt), last: lastStart(home) };
  });
  // Turns come no faster than the starts of the limit, or some turns would find no start.
  const limit = limitOf(ctx, topic);
  const pace = { ...limit, maxPerSecond: Math.min(rate, limit.maxPerSecond), counters: "turns" } as const;
  return bookStarts(ctx, topic, { ...pace, until: bound, isCrowded: true, room: turns }, wanted);
}
