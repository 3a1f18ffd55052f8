import { backoffMs } from "../../core/backoff.ts";
import { type AskedRuns, withOneMoreRun } from "../../core/chain.ts";
import { BACKLOG_SOON } from "../../core/constants.ts";
import type { Throttled } from "../../core/home.ts";
import { mostOfChain, policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";

// Runs that use no attempt.

/** A throttled job's backoff is at least this long, ms, because each run costs a claim and a move. */
const LEAST_BACKOFF = 30_000;

type Asking = { readonly id: string; readonly topic: string; readonly askedRuns?: AskedRuns };

/** Counts a run that a job's handler asks for (`retryIn`). `refusal`: why the job is dead instead. */
export function askForRun(ctx: Context, job: Asking): { askedRuns: AskedRuns; refusal?: string } {
  const { id, topic } = job;
  const most = mostOfChain(ctx);
  const askedRuns = withOneMoreRun(job.askedRuns, ctx.clock());
  const { runs } = askedRuns;
  if (most === undefined) return { askedRuns };
  if (runs > most / 2) ctx.report({ type: "runaway", topic, id, jobs: runs });
  if (runs <= most) return { askedRuns };
  return { askedRuns, refusal: `its handler may ask for at most ${most} runs on a day (UTC) by retryIn` };
}

type Job = { readonly id: string; readonly topic: string; readonly throttled?: Throttled };

/**
 * Counts a run that could not begin, because the target is throttled. Answers how long the job waits, ms: from half of the backoff on, so that jobs
 * that were throttled together do not come back together.
 */
export function countThrottled(ctx: Context, job: Job): { throttled: Throttled; wait: number } {
  const { id, topic, throttled: before } = job;
  const now = ctx.clock();
  const { since, runs } = { since: before?.since ?? now, runs: (before?.runs ?? 0) + 1 };
  if (now - since >= BACKLOG_SOON) ctx.report({ type: "throttled", topic, id, since });
  const [byte = 0, second = 0] = ctx.random(2);
  const longest = Math.max(backoffMs(policyOf(ctx, topic).backoff, runs, byte / 256), LEAST_BACKOFF);
  return { throttled: { since, runs }, wait: Math.round(longest * (0.5 + second / 510)) };
}
