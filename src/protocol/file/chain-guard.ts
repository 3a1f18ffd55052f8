import { parseChain } from "../../core/chain.ts";
import { COUNTED_GENERATION, DAY, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { chainKey, dayOf, ttl } from "../../core/item-keys.ts";
import type { NewJob } from "../new-job.ts";
import { mostOfChain } from "../policy.ts";
import type { Context } from "../ports.ts";

/**
 * Answers jobs that a handler files, as jobs of its chain. If the chain has filed all jobs that it may file on this day (UTC), each job has a
 * refusal. `chain`: see `src/core/chain.ts`. @throws `unavailable`: the jobs were not counted
 */
export async function inChain(ctx: Context, jobs: readonly NewJob[], chain: string): Promise<NewJob[]> {
  const { first = "", generation = 0 } = parseChain(chain) ?? {};
  const most = mostOfChain(ctx);
  const isCounted = generation >= COUNTED_GENERATION && most !== undefined && jobs.length > 0;
  const filed = isCounted ? await count(ctx, first, jobs.length) : 0;
  const [{ topic = "" } = {}] = jobs;
  if (most !== undefined && filed > most / 2) ctx.report({ type: "runaway", topic, id: first, jobs: filed });
  if (most === undefined || filed <= most) return jobs.map((job) => ({ ...job, chain }));
  return jobs.map((job) => {
    const { topic, refusal = runaway(topic, first, generation, most) } = job;
    return { ...job, chain, refusal };
  });
}

/** Answers how many jobs of the chain were counted today, with these ones. A call that is repeated or refused counts each time. */
async function count(ctx: Context, first: string, jobs: number): Promise<number> {
  const now = ctx.clock();
  const day = dayOf(now);
  // Processes whose clocks differ still count on the day before.
  const counted = await ctx.pool.count(
    chainKey(first, day),
    { jobs },
    ttl(day + 2 * DAY),
    now + WRITER_DEADLINE,
  );
  return counted.jobs ?? 0;
}

function runaway(topic: string, first: string, generation: number, most: number): MinutehandError {
  const text = `a chain of jobs that file jobs may file at most ${most} jobs on a day (UTC); this job of topic ${topic} would be generation ${generation} after job ${first}`;
  return new MinutehandError("runaway-chain", text, { topic, first, generation });
}
