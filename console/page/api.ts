import { QueryCache, QueryClient } from "@tanstack/preact-query";
import { callOver, fetchable, type Outgoing } from "../../src/client/call.ts";
import { clientOver } from "../../src/client/client-over.ts";
import { MinutehandError } from "../../src/core/errors.ts";
import { KEY_HEADER } from "../about.ts";
import { about, callHeaders, isKeyWrong } from "./server.ts";

/** How long a call may take, ms. The server of the console gives up a little earlier. */
const PATIENCE_MS = 40_000;

/** Sends a call to the page's own server. Throws `unavailable` if no answer comes. */
async function transport(outgoing: Outgoing): Promise<Response> {
  const request = fetchable(outgoing);
  const headers = new Headers(request.headers);
  for (const [name, value] of Object.entries(callHeaders)) headers.set(name, value);
  const { method, url } = request;
  const body = await request.text();
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(PATIENCE_MS)]);
  try {
    const response = await fetch(url, { method, headers, signal, ...(body === "" ? {} : { body }) });
    if (response.headers.has(KEY_HEADER)) isKeyWrong.value = true;
    return response;
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw new MinutehandError(
      "unavailable",
      `${method} ${new URL(url).pathname}: ${silence(error)}`,
      {},
      error,
    );
  }
}

/** Why the page's own server gave no answer, and what helps. A browser only says "Failed to fetch". */
function silence(error: unknown): string {
  const server = `the server of this console, ${location.origin},`;
  const isLate = error instanceof Error && error.name === "TimeoutError";
  if (isLate)
    return `${server} gave no answer within ${PATIENCE_MS / 1000} s. Try again, and look at its output`;
  const command = about.hasLive ? "minutehand local" : "minutehand console";
  return `${server} does not answer. Look whether \`${command}\` still runs, and start it again if not`;
}

/** The calls of the API. It retries no call: `queries` retries calls that read, and the user may repeat calls that change something. */
export const api = clientOver({
  transport,
  url: location.origin,
  newKey: () => crypto.randomUUID(),
});

export const call = callOver(transport, location.origin);

/** How often the page reads again what it shows, ms. Reads of a deployed queue cost money, those of a local one do not. */
export const REFRESH_MS = about.hasLive ? 3000 : 15_000;

function isPassing(error: Error): boolean {
  return !(error instanceof MinutehandError) || ["unavailable", "internal"].includes(error.code);
}

/** Errors after which the page does not ask again by itself: the same request gets the same answer. */
export const FINAL = [
  "bad-request",
  "job-not-found",
  "schedule-not-found",
  "unknown-topic",
  "untracked-topic",
];

/** An interval for reads, ms. They end when the API has refused the request itself. */
export function refetchEvery(ms: number) {
  return ({ state: { error } }: { state: { error: Error | null } }) =>
    error instanceof MinutehandError && FINAL.includes(error.code) ? false : ms;
}

export const queries = new QueryClient({
  queryCache: new QueryCache(),
  defaultOptions: {
    queries: {
      refetchInterval: refetchEvery(REFRESH_MS),
      staleTime: 1000,
      retry: (count, error) => count < 1 && isPassing(error),
      // The page's server runs on this machine, so the page can call it also while the machine is offline.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

/** Reads everything again that is shown. Call it after each change. */
export function refresh(): Promise<void> {
  return queries.invalidateQueries();
}
