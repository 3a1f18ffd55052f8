import { LONGEST_DELAY, WRITER_DEADLINE } from "../core/constants.ts";
import { isFinished, isRunning } from "../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type Parked, parkedKey, ttl } from "../core/items.ts";
import type { MessageJob } from "../core/message.ts";
import { isPaused, pausedNow, pausedTopics } from "./pause.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";

/**
 * Parks those of these jobs whose topic is paused: each is noted, and moved when its topic is resumed. Answers their
 * ids; the others may go on. Throws what kept a job from being noted.
 */
export async function park(ctx: Context, homes: readonly Home[]): Promise<Set<string>> {
  const paused = await pausedTopics(
    ctx,
    homes.map(({ topic }) => topic),
  );
  const held = homes.filter(({ topic }) => paused.has(topic));
  if (held.length === 0) return new Set();
  const by = ctx.clock() + WRITER_DEADLINE;
  await keepUntracked(ctx, held, by);
  const notes = held.map((home): Parked => {
    return { ...parkedKey(home), v: ITEM_VERSION, id: home.id, revision: home.revision };
  });
  for (const outcome of await ctx.pool.insert(notes, by)) if (outcome instanceof Error) throw outcome;

  // A resume may have read the notes before these stood: what it let go meanwhile goes on from here.
  const still = await pausedNow(ctx, [...paused]);
  const parked = held.filter(({ topic }) => still.has(topic));
  for (const [topic, jobs] of Map.groupBy(parked, (home) => home.topic))
    ctx.report({ type: "parked", topic, jobs: jobs.length });
  const gone = held.filter(({ topic }) => !still.has(topic));
  await ctx.pool.remove(gone.map(parkedKey), ctx.clock() + WRITER_DEADLINE);
  return new Set(parked.map(({ id }) => id));
}

/** TTL takes an untracked home 90 days past its time, and a pause may last longer. */
async function keepUntracked(ctx: Context, homes: readonly Home[], by: number): Promise<void> {
  const untracked = homes.filter((home) => home.untracked);
  const expiresAt = ttl(ctx.clock() + LONGEST_DELAY);
  const outcomes = await ctx.pool.changeMany(
    untracked.map(({ id }) => ({ key: homeKey(id), expect: { state: "scheduled" }, set: { expiresAt } })),
    by,
  );
  for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
}

/** Parks jobs whose messages a paused topic's consumer has met, as far as their messages are their homes' word. */
export async function parkCarried(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
): Promise<Set<string>> {
  if (!(await isPaused(ctx, topic))) return new Set();
  const now = ctx.clock();
  const homes = await readHomes(
    ctx,
    jobs.map(({ id }) => id),
  );
  const waiting = homes.flatMap((home, i) =>
    home && home.revision === jobs[i]?.revision && !isFinished(home) && !isRunning(home, now) ? home : [],
  );
  return park(ctx, waiting);
}
