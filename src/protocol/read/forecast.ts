import { COUNT_BYTES, COUNT_PART } from "../../core/constants.ts";
import { type Head, isFinished, stateAt } from "../../core/home.ts";
import { minuteOf, timeOf } from "../../core/item-keys.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import type { Context } from "../ports.ts";
import { dueJobs } from "./due-jobs.ts";
import { type Wait, waitsOf } from "./waits.ts";

/** The state of a job as `stateAt` tells it. A waiting job is `late`, `held` or `retrying` if `waitsOf` says so. */
export type CountedState = ReturnType<typeof stateAt> | Wait["is"];

/** How many jobs of a topic and a state are due in the step that begins at `from`: ms since the epoch. */
export type JobCount = { from: number; topic: string; state: CountedState; count: number };

export type Forecast = {
  /** The unfinished jobs of each minute. Times are ms since the epoch: the beginnings of the minutes. */
  minutes: { minute: number; count: number }[];
  /** All jobs, whether they have finished or not. Absent without a `step`. */
  counts?: JobCount[];
  /** Where the next call goes on. Absent: the whole range has been counted. */
  cursor?: Position;
};

export type ForecastRequest = {
  topic?: string;
  /** ms since the epoch, `from ≤ dueAt < to`. */
  from: number;
  to: number;
  /** ms. */
  step?: number;
  cursor?: Position;
};

/**
 * Counts the jobs of a range, as many as one call may read (`ctx.sizes.countEntries`, `COUNT_BYTES`, `COUNT_PART`). A call ends between two
 * milliseconds, because earlier clients go on at a time. Only a millisecond with more jobs than a call may read is counted in parts.
 */
export async function forecast(ctx: Context, request: ForecastRequest): Promise<Forecast> {
  const begun = ctx.clock();
  const end = beforeTime(request.to);
  const start = request.cursor ?? beforeTime(request.from);
  const bound = { entries: ctx.sizes.countEntries, bytes: COUNT_BYTES };
  const whole: Head[] = [];
  let position = start;
  // The jobs of the last millisecond, of which there may be more.
  let last: Head[] = [];
  for await (const { homes, until } of dueJobs(ctx, start, end, bound.entries, bound)) {
    const time = timeOf(until);
    const read = [...last, ...homes.filter(({ topic }) => (request.topic ?? topic) === topic)];
    whole.push(...read.filter(({ dueAt }) => dueAt < time));
    last = read.filter(({ dueAt }) => dueAt >= time);
    position = until;
    if (ctx.clock() - begun >= COUNT_PART) break;
  }
  if (position >= end) return countsOf(ctx, [...whole, ...last], request);
  const isMidway = timeOf(position) === timeOf(start);
  const counted = isMidway ? [...whole, ...last] : whole;
  const cursor = isMidway ? position : beforeTime(timeOf(position));
  return { ...(await countsOf(ctx, counted, request)), cursor };
}

async function countsOf(
  ctx: Context,
  homes: readonly Head[],
  { step }: ForecastRequest,
): Promise<Pick<Forecast, "minutes" | "counts">> {
  const unfinished = homes.filter((home) => !isFinished(home));
  // The jobs are in due order, and so are their minutes.
  const byMinute = Map.groupBy(unfinished, ({ dueAt }) => minuteOf(dueAt));
  const minutes = [...byMinute].map(([minute, { length: count }]) => ({ minute, count }));
  return step === undefined ? { minutes } : { minutes, counts: await countStates(ctx, homes, step) };
}

async function countStates(ctx: Context, homes: readonly Head[], step: number): Promise<JobCount[]> {
  const waits = await waitsOf(ctx, homes);
  const now = ctx.clock();
  const cells = new Map<string, JobCount>();
  for (const home of homes) {
    const from = home.dueAt - (home.dueAt % step);
    const state = waits.get(home.id)?.is ?? stateAt(home, now);
    const name = `${from} ${state} ${home.topic}`;
    const cell = cells.get(name) ?? { from, topic: home.topic, state, count: 0 };
    cells.set(name, cell);
    cell.count += 1;
  }
  return [...cells.values()];
}
