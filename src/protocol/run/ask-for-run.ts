import { type AskedRuns, withOneMoreRun } from "../../core/chain.ts";
import { mostOfChain } from "../policy.ts";
import type { Context } from "../ports.ts";

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
