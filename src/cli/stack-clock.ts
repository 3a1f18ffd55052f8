import { CLOCK_PATH } from "../../local/clock-path.ts";
import { CliError } from "./cli-error.ts";
import { LOCAL_PATIENCE } from "./target.ts";

export type ClockMove = { readonly by: number } | { readonly to: "next-job" };
/** `ahead`: how far the stack's clock is ahead of the machine's, ms. `runs`: how many runs of jobs its runner has begun. */
type StackClock = { readonly now: string; readonly ahead: number; readonly runs?: number };

/** Reads the clock of the local stack at `url`, or moves it. Throws `CliError` if the API has no such clock, or refuses the move. */
export async function callClock(url: string, move?: ClockMove, signal?: AbortSignal): Promise<StackClock> {
  const request = move === undefined ? {} : { method: "POST", body: JSON.stringify(move) };
  const response = await fetch(`${url}${CLOCK_PATH}`, {
    ...request,
    redirect: "manual",
    signal: signal ?? null,
  });
  const answer = (await response.json().catch(() => ({}))) as Partial<StackClock> & { message?: string };
  const { now, ahead, runs, message = `status ${response.status}` } = answer;
  if (response.ok && now !== undefined && ahead !== undefined)
    return { now, ahead, ...(runs !== undefined && { runs }) };
  if (move === undefined)
    throw new CliError(`the API at ${url} has no clock that can be moved: it is no local stack`);
  throw new CliError(`the clock was not moved: ${message}`);
}

/** How far the clock of the local stack at `url` is ahead of the machine's, ms. 0 for a stack of an earlier version, which has no such clock. */
export async function aheadAt(url: string): Promise<number> {
  try {
    return (await callClock(url, undefined, AbortSignal.timeout(LOCAL_PATIENCE))).ahead;
  } catch {
    // If nothing answers, the command's own call says so.
    return 0;
  }
}
