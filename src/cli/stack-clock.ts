import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { CLOCK_PATH } from "../../local/clock-path.ts";
import { CliError } from "./cli-error.ts";
import { LOCAL_PATIENCE } from "./target.ts";

export type ClockMove = { readonly by: number } | { readonly to: "next-job" };
/** `ahead`: how far the stack's clock is ahead of the machine's, ms. `runs`: how many runs of jobs its runner has begun. */
type StackClock = { readonly now: string; readonly ahead: number; readonly runs?: number };

/** Reads the clock of the local stack at `url`, or moves it. Throws `CliError` if the API has no such clock, or refuses the move. Any other error may have ended a move on its way. */
export async function callClock(url: string, move?: ClockMove, signal?: AbortSignal): Promise<StackClock> {
  const path = `${url}${CLOCK_PATH}`;
  const { status, body } = move === undefined ? await get(path, signal) : await post(path, move, signal);
  const { now, ahead, runs, message = `status ${status}` } = clockIn(body);
  if (status === 200 && now !== undefined && ahead !== undefined)
    return { now, ahead, ...(runs !== undefined && { runs }) };
  if (move === undefined)
    throw new CliError(`the API at ${url} has no clock that can be moved: it is no local stack`);
  if (status >= 500) throw new Error(message);
  throw new CliError(`the clock was not moved: ${message}`);
}

type Answered = { readonly status: number; readonly body: string };

async function get(url: string, signal: AbortSignal | undefined): Promise<Answered> {
  const response = await fetch(url, { redirect: "manual", signal: signal ?? null });
  return { status: response.status, body: await response.text() };
}

/** Without a limit of time: a move takes as long as its jobs run, and `fetch` gives up after five minutes. */
async function post(url: string, move: ClockMove, signal: AbortSignal | undefined): Promise<Answered> {
  const sent = request(url, { method: "POST", ...(signal && { signal }) }).end(JSON.stringify(move));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

function clockIn(body: string): Partial<StackClock> & { readonly message?: string } {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
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
