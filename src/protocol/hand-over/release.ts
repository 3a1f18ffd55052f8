import { NEAR, STARTS_AHEAD } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { isLastStartOver } from "../../core/home.ts";
import { homeKey } from "../../core/item-keys.ts";
import type { Parked, Pause } from "../../core/items.ts";
import { BEGINNING, beforeTime, END, type Position } from "../../core/position.ts";
import { nextOpening } from "../../cron/window.ts";
import { inParallel } from "../../general/batches.ts";
import { resumeTopic } from "../change/pause.ts";
import { noteLastStartGiven } from "../gate/limited-topics.ts";
import { countParked } from "../gate/park.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { shardsToRelease } from "../store/shards.ts";
import { findStartsForNotes, NOTHING_GIVEN, type ReleaseStep } from "./find-starts.ts";
import { parkedNotes } from "./parked-notes.ts";
import { releaseJobs } from "./release-jobs.ts";
import { firstStart, type Release } from "./release-state.ts";

export type Resumed = {
  released: number;
  /** Counted up to 1,000. */
  left: number;
};

const LANES = 2;
/** It ends the expired jobs of a range when the range's starts are given. */
const MOST_EXPIRED = 20_000;
/** How long a call releases jobs: ms. Ticks release the rest. */
const CALLER_WAITS = 5_000;

/** Resumes a paused topic: its parked jobs start at most `rate` a second, or all at once. @throws `unavailable` */
export async function resume(ctx: Context, topic: string, rate: number | undefined): Promise<Resumed> {
  const until = ctx.clock() + CALLER_WAITS;
  const lifted = await resumeTopic(ctx, topic, rate);
  if (!lifted) return { released: 0, left: 0 };
  const released = await release(ctx, topic, lifted, until);
  return { released, left: await countParked(ctx, topic, await shardsToRelease(ctx)) };
}

type Range = {
  readonly from: Position;
  readonly before: Position;
  /** The jobs wait for their turn at the rate of a resume. */
  readonly isPaced: boolean;
};

/**
 * Releases parked jobs, the oldest first, as the limit and the rate of the resume allow for the next `STARTS_AHEAD`. The next tick decides anew
 * on the other jobs. Answers how many jobs got a start. Nothing new is begun after `until` (ms on the context's clock).
 * @param sick partitions that earlier releases of this tick could not read or write. This release adds those that it finds
 * @throws `unavailable` if there are sick partitions, after the jobs of all other partitions were released
 */
export async function release(
  ctx: Context,
  topic: string,
  pause: Pause | undefined,
  until: number,
  sick = new Set<string>(),
): Promise<number> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  const isLimited = maxPerSecond !== undefined;
  const now = ctx.clock();
  const bound = now + STARTS_AHEAD;
  if (pause?.state === "paused" || (isLimited && nextOpening(window, now) >= bound)) return 0;
  const run: Release = { topic, pause, bound, room: new Map(), turns: new Map(), sick, isClosed: false };
  let released = 0;
  let isLeft = false;
  for (const range of rangesOf(pause, isLimited, bound, now)) {
    const part = await releaseRange(ctx, run, range, until);
    released += part.released;
    isLeft ||= part.isLeft;
  }
  if (isLimited) await noteLastStartGiven(ctx, topic, isLeft ? bound : undefined);
  if (run.sick.size > 0) {
    const where = [...run.sick].join(", ");
    const message = `parked jobs of topic ${topic} in ${where} could not be released; the next tick tries again`;
    throw new MinutehandError("unavailable", message);
  }
  return released;
}

/** Jobs that are due after the resume do not wait for its rate, but only for the limit, if there is one. */
function rangesOf(pause: Pause | undefined, isLimited: boolean, bound: number, now: number): Range[] {
  // Without a limit and a pause, a deploy has removed the limit. Then SQS delays the messages of jobs with near starts.
  const end = isLimited ? beforeTime(bound) : pause ? END : beforeTime(now + NEAR);
  if (pause?.rate === undefined) return [{ from: BEGINNING, before: end, isPaced: false }];
  const between = beforeTime(pause.changedAt + 1);
  return [
    { from: BEGINNING, before: between, isPaced: true },
    { from: between, before: end, isPaced: false },
  ];
}

/** `isLeft`: some job got no start. */
async function releaseRange(
  ctx: Context,
  run: Release,
  { from, before, isPaced }: Range,
  until: number,
): Promise<{ released: number; isLeft: boolean }> {
  const notes = parkedNotes(ctx, run, from, before, ctx.sizes.released);
  const expired: Parked[] = [];
  let isLeft = false;
  let isLast = false;
  const takeStep = async (some: readonly Parked[]): Promise<ReleaseStep> => {
    const isOver = ctx.clock() >= until || run.isClosed;
    const step = isOver ? NOTHING_GIVEN : await findStartsForNotes(ctx, run, some, isPaced);
    isLeft ||= step.isLeft;
    isLast ||= step.isLast;
    return step;
  };
  /** Answers the steps in the order of the notes, and does not wait for the writes and messages of earlier steps. */
  const next = async (): Promise<ReleaseStep | undefined> => {
    while (!isLast) {
      const some = await notes.next();
      if (some.done) return undefined;
      const now = ctx.clock();
      const sorted = sortNotes(run, some.value, now);
      expired.push(...sorted.expired.slice(0, MOST_EXPIRED - expired.length));
      isLeft ||= sorted.waiting.length < some.value.length;
      if (sorted.waiting.length > 0 || now >= until) return takeStep(sorted.waiting);
    }
    return undefined;
  };
  /** Last, because there may be more expired jobs than time, and a start that nobody takes is lost. */
  const nextExpired = async (): Promise<ReleaseStep | undefined> => {
    const some = expired.splice(0, ctx.sizes.released);
    return some.length > 0 && ctx.clock() < until ? takeStep(some) : undefined;
  };
  const released = (await releaseSteps(ctx, run, next)) + (await releaseSteps(ctx, run, nextExpired));
  return { released, isLeft };
}

/** `expired`: the notes of expired jobs. Notes of sick partitions, and of jobs that can use no start, are in neither list. */
function sortNotes(
  run: Release,
  notes: readonly Parked[],
  now: number,
): { waiting: Parked[]; expired: Parked[] } {
  const first = firstStart(run, now);
  const lastOf = ({ last = Number.POSITIVE_INFINITY }: Parked): number => last;
  const isSick = ({ pk, id }: Parked): boolean => run.sick.has(pk) || run.sick.has(homeKey(id).pk);
  const well = notes.filter((note) => run.sick.size === 0 || !isSick(note));
  return {
    waiting: well.filter((note) => lastOf(note) >= first),
    // The homes of jobs that can use none of the starts that are left need not be read.
    expired: well.filter((note) => lastOf(note) < first && isLastStartOver(lastOf(note), now)),
  };
}

/** Releases the steps that `take` answers, until it answers none. Calls `take` one at a time. */
async function releaseSteps(
  ctx: Context,
  run: Release,
  take: () => Promise<ReleaseStep | undefined>,
): Promise<number> {
  const inTurn = oneByOne();
  const lanes = Array.from({ length: LANES }, (_, lane) => lane);
  const counts = await inParallel(lanes, LANES, async () => {
    let released = 0;
    for (let step = await inTurn(take); step; step = await inTurn(take))
      released += await releaseJobs(ctx, run, step);
    return released;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

/** A piece of work that fails does not stop the next one. */
function oneByOne(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work, work);
    last = result.catch(() => {});
    return result;
  };
}
