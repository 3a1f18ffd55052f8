import ky, { HTTPError, NetworkError, type RetryOptions, TimeoutError } from "ky";
import { MinutehandError, reasonOf } from "../core/errors.ts";
import type { Authorize } from "./authorize.ts";
import type { Transport } from "./call.ts";

/** What says that a call may succeed when it is repeated. */
const REPEATED = [429, 502, 503, 504];
/** ms. */
const LONGEST_WAIT = 20_000;

export type HttpOptions = {
  readonly authorize: Authorize;
  /** Of each try, ms; a call that may take longer has as long. */
  readonly timeout: number;
  readonly retries: number;
  /** The first repeat waits up to so many ms, each further one up to twice as long as the one before. */
  readonly firstWait: number;
  /** 0 up to 1. */
  readonly random: () => number;
};

/**
 * Carries requests over the network. One that met trouble on its way is repeated, whatever its method: an enqueue has an
 * Idempotency-Key. One that is sent `once` is repeated only after 429: then it has had no effect. Throws `unavailable` when
 * no try was answered.
 */
export function httpTransport({ authorize, timeout, retries, firstWait, random }: HttpOptions): Transport {
  const repeated = {
    limit: retries,
    methods: ["get", "post", "put", "patch", "delete"],
    statusCodes: REPEATED,
    afterStatusCodes: [429, 503],
    maxRetryAfter: LONGEST_WAIT,
    backoffLimit: LONGEST_WAIT,
    retryOnTimeout: true,
    delay: (tries) => firstWait * 2 ** (tries - 1),
    jitter: (wait) => wait * random(),
  } satisfies RetryOptions;
  const afterNoEffect: RetryOptions = {
    ...repeated,
    shouldRetry: ({ error }) => (isRefused(error) ? undefined : false),
  };
  const send = ky.create({
    throwHttpErrors: (status) => REPEATED.includes(status),
    fetch: (request) => oneTry(request as Request, authorize),
  });
  return async (request, { patience = 0, once } = {}) => {
    const limit = Math.max(timeout, patience);
    try {
      return await send(request, { timeout: limit, retry: once ? afterNoEffect : repeated });
    } catch (error) {
      if (error instanceof HTTPError) return lastAnswer(error);
      if (!(error instanceof NetworkError || error instanceof TimeoutError)) throw error;
      const reason = error instanceof TimeoutError ? `no answer in ${limit} ms` : reasonOf(error);
      const call = `${request.method} ${request.url}`;
      const tries = once ? "which is not repeated" : `tried ${retries + 1} times`;
      throw new MinutehandError("unavailable", `no answer to ${call}, ${tries}: ${reason}`, {}, error);
    }
  };
}

/** Whether a gateway had no room for the request. */
function isRefused(error: Error): boolean {
  return error instanceof HTTPError && error.response.status === 429;
}

/** The answer is read here, so that one that breaks off is repeated too, and a slow one times out. */
async function oneTry(request: Request, authorize: Authorize): Promise<Response> {
  const { method, url, signal } = request;
  const body = await request.text();
  const headers = await authorize({ method, url, headers: request.headers, body });
  // A redirect would turn a POST into a GET, and its signature is for one host.
  const init = { method, headers, signal, redirect: "manual" } as const;
  const response = await fetch(url, body === "" ? init : { ...init, body });
  const bytes = await response.arrayBuffer();
  return new Response(bytes.byteLength === 0 ? null : bytes, response);
}

/** ky has read it already. */
function lastAnswer({ response, data }: HTTPError): Response {
  const { status, headers } = response;
  return new Response(typeof data === "string" ? data : JSON.stringify(data), { status, headers });
}
