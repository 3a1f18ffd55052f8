import { inParallel } from "../core/batches.ts";
import { WRITER_DEADLINE } from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { deadKey, type Home } from "../core/items.ts";
import { deadJobs } from "./dead-jobs.ts";
import { reclaimKey } from "./keys.ts";
import { move } from "./move.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";

export type RedriveRequest = {
  /** These jobs; else the oldest `max`. */
  ids?: readonly string[];
  max: number;
  /** ms from now to the first run. */
  delay: number;
  /** Spreads the runs: at most this many a second. */
  ratePerSecond?: number;
};

export type Redriven = { redriven: number; left: number };

const WIDTH = 8;
/** Counting what is left stops here: the answer is then at least that. */
const COUNT_TO = 1000;

/**
 * Runs dead jobs again, job by job through their homes, each with a full set of attempts. `left`: how many
 * are dead still, counted up to 1,000. A job whose key names another by now stays dead.
 */
export async function redrive(ctx: Context, topic: string, request: RedriveRequest): Promise<Redriven> {
  const chosen = request.ids
    ? await chosenHomes(ctx, topic, request.ids)
    : await oldestHomes(ctx, topic, request.max);
  const start = ctx.clock() + request.delay;
  const apart = request.ratePerSecond === undefined ? 0 : 1000 / request.ratePerSecond;
  const moved = await inParallel([...chosen.entries()], WIDTH, ([i, home]) =>
    redriveJob(ctx, home, start + i * apart),
  );
  return { redriven: moved.filter(Boolean).length, left: await countDead(ctx, topic) };
}

/** Moves a dead job to `dueAt`. Whether it was dead and moved. */
export async function redriveJob(ctx: Context, home: Home, dueAt: number): Promise<boolean> {
  const at = Math.round(Math.max(dueAt, ctx.clock()));
  const together = home.key === undefined ? undefined : await reclaimKey(ctx, home);
  if (together === "taken") return false;
  const moved = await move(ctx, home, {
    dueAt: at,
    expect: { state: "dead" },
    set: { attempt: 0, wantedAt: at, askedAt: ctx.clock(), restarts: (home.restarts ?? 0) + 1 },
    ...(together ? { together: [together] } : {}),
    why: "redriven",
  });
  if (!moved.moved) return false;
  // Its dead letter goes in the tick, which sees that the home has moved; an entry that stays lists nothing.
  try {
    const entry = deadKey(home.topic, home.finishedAt ?? 0, home.id);
    await ctx.pool.remove([entry], ctx.clock() + WRITER_DEADLINE);
  } catch (error) {
    ctx.report({
      type: "trouble",
      topic: home.topic,
      what: "removing a dead entry",
      error: messageOf(error),
    });
  }
  return true;
}

async function chosenHomes(ctx: Context, topic: string, ids: readonly string[]): Promise<Home[]> {
  const unique = [...new Set(ids)];
  const homes = await readHomes(ctx, unique);
  return homes
    .map((home, i) => {
      if (home?.topic !== topic) {
        throw new MinutehandError("job-not-found", `topic ${topic} has no job ${unique[i]}`, {
          id: unique[i],
        });
      }
      return home;
    })
    .filter((home) => home.state === "dead");
}

async function oldestHomes(ctx: Context, topic: string, max: number): Promise<Home[]> {
  const homes: Home[] = [];
  for await (const { home } of deadJobs(ctx, topic)) {
    if (homes.length === max) break;
    homes.push(home);
  }
  return homes;
}

async function countDead(ctx: Context, topic: string): Promise<number> {
  let count = 0;
  for await (const _ of deadJobs(ctx, topic)) if (++count === COUNT_TO) break;
  return count;
}
