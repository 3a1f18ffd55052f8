import { NEAR, STARTS_AHEAD } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { isLongPast } from "../../core/home.ts";
import { homeKey, type Parked, type Pause } from "../../core/items.ts";
import { BEGINNING, beforeTime, END, type Position } from "../../core/position.ts";
import { nextOpening } from "../../cron/window.ts";
import { inParallel } from "../../general/batches.ts";
import { lift } from "../change/pause.ts";
import { noteCrowd } from "../gate/limited-topics.ts";
import { countParked } from "../gate/park.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { shardsToRelease } from "../store/shards.ts";
import { parkedNotes } from "./parked-notes.ts";
import { firstStart, NO_TURN, type Release, releaseJobs, type Turn, takeTurns } from "./release-turn.ts";

/** `released`: how many parked jobs this call let go. `left`: how many are parked still, counted up to 1,000. */
export type Resumed = { released: number; left: number };

/** How many steps a release takes at once. */
const LANES = 2;
/** How many notes of expired jobs a release remembers, until all starts are given and it ends these jobs. */
const HELD = 20_000;
/** How long a caller waits for a resume; ticks do the rest. */
const CALLER_WAITS = 5_000;

/** Lets a paused topic's jobs go, at most `rate` a second, or all at once. Throws `unavailable`. */
export async function resume(ctx: Context, topic: string, rate: number | undefined): Promise<Resumed> {
  const until = ctx.clock() + CALLER_WAITS;
  const lifted = await lift(ctx, topic, rate);
  if (!lifted) return { released: 0, left: 0 };
  const released = await release(ctx, topic, lifted, until);
  return { released, left: await countParked(ctx, topic, await shardsToRelease(ctx)) };
}

/** Part of a topic's notes, between two positions. `isPaced`: their jobs wait for the turn that a resume's rate gives them. */
type Range = { readonly from: Position; readonly before: Position; readonly isPaced: boolean };

/**
 * Gives starts to a topic's parked jobs, the oldest first, as its limit and the rate of its resume let it: none further
 * ahead than `STARTS_AHEAD`, so that the next tick decides on the others anew. `pause`: the topic's, if it is not over.
 * `until`: ms on the context's clock after which nothing new is begun. `sick`: partitions that earlier releases of this tick could
 * not read or write. Answers how many jobs got a start. Throws when it has met a sick one, after all else was let go.
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
  const run: Release = { topic, pause, bound, room: new Map(), sick, isClosed: false };
  let released = 0;
  let isLeft = false;
  for (const range of rangesOf(pause, isLimited, bound, now)) {
    const part = await releaseRange(ctx, run, range, until);
    released += part.released;
    isLeft ||= part.isLeft;
  }
  if (isLimited) await noteCrowd(ctx, topic, isLeft ? bound : undefined);
  if (run.sick.size > 0) {
    const where = [...run.sick].join(", ");
    const message = `parked jobs of topic ${topic} in ${where} could not be let go; the next tick tries again`;
    throw new MinutehandError("unavailable", message);
  }
  return released;
}

/** Where a topic has a limit, the jobs that are due after the resume wait for that alone, not for the rate of the resume. */
function rangesOf(pause: Pause | undefined, isLimited: boolean, bound: number, now: number): Range[] {
  const all = { from: BEGINNING, before: END, isPaced: pause?.rate !== undefined };
  if (!isLimited) {
    // What a limit has left that is gone: as far ahead as SQS keeps it.
    return [pause ? all : { ...all, before: beforeTime(now + NEAR) }];
  }
  const end = beforeTime(bound);
  if (pause?.rate === undefined) return [{ ...all, before: end }];
  const between = beforeTime(pause.changedAt + 1);
  return [
    { ...all, before: between },
    { from: between, before: end, isPaced: false },
  ];
}

async function releaseRange(
  ctx: Context,
  run: Release,
  { from, before, isPaced }: Range,
  until: number,
): Promise<{ released: number; isLeft: boolean }> {
  const notes = parkedNotes(ctx, run, from, before, ctx.sizes.released);
  const expired: Parked[] = [];
  let released = 0;
  let isLeft = false;
  let isLast = false;
  const turnOf = async (some: readonly Parked[]): Promise<Turn> => {
    const turn = ctx.clock() < until && !run.isClosed ? await takeTurns(ctx, run, some, isPaced) : NO_TURN;
    isLeft ||= turn.isLeft;
    isLast ||= turn.isLast;
    return turn;
  };
  /** Starts are taken in the order of the notes; the writes and messages that follow are not waited for. */
  const next = async (): Promise<Turn | undefined> => {
    while (!isLast) {
      const some = await notes.next();
      if (some.done) return undefined;
      const [now, first] = [ctx.clock(), firstStart(ctx, run)];
      const waiting: Parked[] = [];
      for (const note of some.value) {
        const { last = Number.POSITIVE_INFINITY } = note;
        // No start is left that its job could use: its home need not be read to know that.
        if (run.sick.size > 0 && (run.sick.has(note.pk) || run.sick.has(homeKey(note.id).pk))) continue;
        if (last >= first) waiting.push(note);
        else if (isLongPast(last, now) && expired.length < HELD) expired.push(note);
      }
      isLeft ||= waiting.length < some.value.length;
      if (waiting.length > 0 || now >= until) return turnOf(waiting);
    }
    return undefined;
  };
  /** Expired jobs are ended last: there may be more of them than there is time for, and starts that nobody takes are lost. */
  const nextExpired = async (): Promise<Turn | undefined> => {
    const some = expired.splice(0, ctx.sizes.released);
    return some.length > 0 && ctx.clock() < until ? turnOf(some) : undefined;
  };
  const lanes = Array.from({ length: LANES }, (_, lane) => lane);
  for (const take of [next, nextExpired]) {
    const inTurn = oneByOne();
    await inParallel(lanes, LANES, async () => {
      for (let turn = await inTurn(take); turn; turn = await inTurn(take)) {
        const count = await releaseJobs(ctx, run, turn);
        released += count;
      }
    });
  }
  return { released, isLeft };
}

/** Begins each piece of work when the one before has ended, well or not. */
function oneByOne(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const begun = last.then(work, work);
    last = begun.catch(() => {});
    return begun;
  };
}
