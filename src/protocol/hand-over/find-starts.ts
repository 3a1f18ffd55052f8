import type { Holder } from "../../core/actor.ts";
import { type Home, lastStart, startsAt } from "../../core/home.ts";
import type { Parked } from "../../core/items.ts";
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

export type ReleaseStep = Omit<JudgedNotes, "waiting"> & {
  /** Jobs that get a start. */
  readonly given: readonly { hold: GivenStart; notes: readonly Parked[] }[];
  /** Some jobs got no start. */
  readonly isLeft: boolean;
  /** The jobs of later notes will get no start in this release either. */
  readonly isLast: boolean;
};

export const NOTHING_GIVEN: ReleaseStep = {
  given: [],
  toSend: [],
  expired: [],
  done: [],
  isLeft: true,
  isLast: true,
};

/** Only jobs that still wait as their notes say get a start. `isPaced`: the jobs wait for their turns at the rate of the resume. */
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
  // Without a resume, the turn of a job is the start that it has.
  const turns = run.pause
    ? await bookTurns(ctx, run, waiting, isPaced)
    : waiting.map(({ home }) => startsAt(home));
  if (!turns) return NOTHING_GIVEN;
  const inTurn = waiting.flatMap((one, i) => {
    const start = turns[i];
    return start === undefined ? [] : [{ ...one, start, last: lastStart(one.home) }];
  });
  const starts = await findStarts(ctx, run, inTurn, isPaced);
  const given = inTurn.flatMap(({ home, notes }, i) => {
    const until = starts[i];
    if (until === undefined) return [];
    return { notes, hold: { home, until: Math.max(until, ctx.clock()), by: holderOf(run, home) } };
  });
  // No turn or start is left, or a job got none although it could use any before `bound`. A job may get none for other reasons: it expires
  // first, its turn's second is full, or a former window delays it. Then later jobs may still get starts.
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

/** What makes a parked job start later. Also during a resume, the limit parks jobs that were to start after the pause. */
function holderOf({ pause }: Release, home: Home): Holder {
  if (pause === undefined) return "limit";
  return startsAt(home) < (pause.followedAt ?? pause.changedAt) ? "pause" : "limit";
}

/**
 * The jobs that may be given starts now. If the policy does not name the topic, a deploy may have removed it, and the starts would be lost. So
 * one job's message is sent as a test; its second message is void. If the queue does not take it, the jobs stay parked, and sweeps record them as
 * dead in the end.
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

/** The next free starts if the topic has a limit, otherwise the turns themselves. */
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
 * Books turns, from which jobs may start (ms since the epoch). `undefined` for a job: it gets none before `bound` and before it expires. Instead
 * of turns: the topic is paused again, or the resume is over and the topic has no limit.
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
  // The resume is over, and the limit alone says when the jobs start.
  if (pause === undefined && isLimited) return jobs.map(({ home }) => Math.max(home.dueAt, now));
  if (pause?.state !== "resuming") return undefined;
  const { rate, followedAt = now } = pause;
  if (!isPaced || rate === undefined) {
    // No start may lie before consumers receive again, or all these jobs would begin together.
    const first = isLimited ? Math.max(followedAt, now) : now;
    return jobs.map(({ home }) => nextOpening(window, Math.max(first, home.dueAt)));
  }
  const wanted = jobs.map(({ home }) => {
    return { start: Math.max(followedAt, home.dueAt), last: lastStart(home) };
  });
  // Turns come no faster than the starts of the limit, or some would find no start.
  const limit = limitOf(ctx, topic);
  const pace = { ...limit, maxPerSecond: Math.min(rate, limit.maxPerSecond), counters: "turns" } as const;
  return bookStarts(ctx, topic, { ...pace, until: bound, isCrowded: true, room: turns }, wanted);
}
