import ky, { HTTPError, NetworkError, type RetryOptions, TimeoutError } from "ky";
import { MinutehandError, reasonOf } from "../core/errors.ts";
import { MAX_ANSWER_BYTES, readAnswer } from "../general/read-answer.ts";
import type { Authorize } from "./authorize.ts";
import { fetchable, type Transport } from "./call.ts";

/** A retry may succeed. */
const REPEATED = [429, 502, 503, 504];
/** What Node and Deno say of such a port. Bun calls it. */
const BLOCKED_PORT = /^bad port$|Requests to port \d+ are blocked/;
/** ms. */
const LONGEST_WAIT = 20_000;

export type HttpOptions = {
  readonly authorize: Authorize;
  /** The timeout of each try, ms. A greater `patience` of a call replaces it. */
  readonly timeout: number;
  readonly retries: number;
  /** The longest wait before the first retry, ms. It doubles with each further retry. */
  readonly firstWait: number;
  /** 0 or more, less than 1. */
  readonly random: () => number;
};

/**
 * Retries with exponential backoff and jitter, also calls that are idempotent only by their Idempotency-Key. A call with `once` is retried only
 * after 429, because a throttled call had no effect. Throws `unavailable` if the last try was not answered.
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
  return async (outgoing, { patience = 0, once } = {}) => {
    const request = fetchable(outgoing);
    const limit = Math.max(timeout, patience);
    try {
      return await send(request, { timeout: limit, retry: once ? afterNoEffect : repeated });
    } catch (error) {
      if (error instanceof HTTPError) return lastAnswer(error);
      if (!(error instanceof NetworkError || error instanceof TimeoutError)) throw error;
      const reason = error instanceof TimeoutError ? `no answer in ${limit} ms` : reasonOf(error);
      const call = `${request.method} ${request.url}`;
      const times = retries === 0 ? "once" : `${retries + 1} times`;
      const tries = once ? "which is not retried" : `tried ${times}`;
      throw new MinutehandError("unavailable", `no answer to ${call}, ${tries}: ${reason}`, {}, error);
    }
  };
}

/** A request that API Gateway throttles never reaches the API. */
function isRefused(error: Error): boolean {
  return error instanceof HTTPError && error.response.status === 429;
}

/** Reads the whole answer, so that a broken-off answer is retried and a slow one times out. */
async function oneTry(request: Request, authorize: Authorize): Promise<Response> {
  const { method, url, signal } = request;
  const body = await request.text();
  const headers = await authorize({ method, url, headers: request.headers, body });
  // A redirect would turn a POST into a GET, and the signature is for one host only.
  const init = { method, headers, signal, redirect: "manual" } as const;
  // If something is wrong with the request, such as with a header, this line throws, and not `exchange`.
  return exchange(new Request(url, body === "" ? init : { ...init, body }));
}

async function exchange(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    const bytes = await readAnswer(response);
    if (bytes === "too-large") {
      const message = `the answer to ${request.method} ${request.url} has more than ${MAX_ANSWER_BYTES} bytes, so it is not from Minutehand's API`;
      throw new MinutehandError("bad-answer", message);
    }
    return new Response(bytes.byteLength === 0 ? null : bytes, response);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (BLOCKED_PORT.test(reasonOf(error))) {
      const { port } = new URL(request.url);
      const message = `the request cannot be sent: fetch calls no server on port ${port} ("Port blocking", Fetch Standard)`;
      throw new MinutehandError("bad-request", message, {}, error);
    }
    // ky knows network errors by their texts, and not all texts of Bun and Deno. It knows this one.
    throw new TypeError("fetch failed", { cause: error });
  }
}

/** ky has already read its body. */
function lastAnswer({ response, data }: HTTPError): Response {
  const { status, headers } = response;
  return new Response(typeof data === "string" ? data : JSON.stringify(data), { status, headers });
}
