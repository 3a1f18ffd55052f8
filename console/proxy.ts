import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Authorize } from "../client/authorize.ts";
import { reasonOf } from "../core/errors.ts";
import { closeServer, listenOnLoopback, readRequestBody } from "../local/loopback-server.ts";
import { refusalOfWebPage } from "../local/web-page.ts";
import { KEY_HEADER } from "./about.ts";

/** API Gateway's limit: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const MAX_BODY_BYTES = 10 * 1024 * 1024;
/** API Gateway answers within 30 s. */
const PATIENCE_MS = 35_000;
/** Headers of the page's requests that are passed on. The browser's other headers are about this server. */
const SENT = ["accept", "content-type", "idempotency-key"];
/** Headers of the API's answers that are passed on. */
const ANSWERED = ["content-type", "idempotent-replayed", "location", "retry-after"];

export type ProxyOptions = {
  /** Answers requests that are not for the API. Returns whether it has taken the request. */
  readonly pages: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** The URL of the API. */
  readonly url: string;
  /** Signs a request, or adds a token. */
  readonly authorize: Authorize;
  /** The key that each call must have. It keeps other users and programs of this machine from calling with the user's credentials. */
  readonly key: string;
  /** The port on 127.0.0.1; 0 picks a free port. */
  readonly port: number;
};

/**
 * Serves the console and passes its calls on to an API elsewhere, with the user's own credentials. Throws `LocalError` if the port cannot be
 * opened.
 *
 * @example
 * const proxy = await openProxy({ pages, url, authorize, key: randomUUID(), port: 0 });
 */
export async function openProxy({ pages, url, authorize, key, port }: ProxyOptions) {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalOfWebPage(request.headers);
    if (refusal !== undefined) return problem(response, 403, "forbidden", refusal);
    if (!isSame(String(request.headers[KEY_HEADER] ?? ""), key)) {
      const text = `the header ${KEY_HEADER} must have the key of this run: open the address that "minutehand console" has printed`;
      return problem(response, 403, "forbidden", text);
    }
    const body = await readRequestBody(request, MAX_BODY_BYTES);
    if (body === "too-large") {
      response.setHeader("connection", "close");
      return problem(response, 413, "bad-request", `the body must have at most ${MAX_BODY_BYTES} bytes`);
    }
    const left = new AbortController();
    response.on("close", () => left.abort());
    const called = await callApi(request, body.toString(), left.signal).catch((error: unknown) => ({
      error,
    }));
    if (left.signal.aborted) return;
    if ("error" in called) {
      return problem(response, 502, "unavailable", `no answer from ${url}: ${reasonOf(called.error)}`);
    }
    const { response: api, content } = called;
    for (const name of ANSWERED) {
      const value = api.headers.get(name);
      if (value !== null) response.setHeader(name, value);
    }
    response.setHeader("x-content-type-options", "nosniff");
    response.writeHead(api.status);
    response.end(content);
  }

  async function callApi(request: IncomingMessage, body: string, left: AbortSignal) {
    const { method = "GET", url: path = "/" } = request;
    const asked = new Headers();
    for (const name of SENT) {
      const value = request.headers[name];
      if (typeof value === "string") asked.set(name, value);
    }
    const target = `${url}${path}`;
    const headers = await authorize({ method, url: target, headers: asked, body });
    const signal = AbortSignal.any([left, AbortSignal.timeout(PATIENCE_MS)]);
    // A redirect would carry the signature to another host.
    const init = { method, headers, signal, redirect: "manual" } as const;
    const response = await fetch(target, body === "" ? init : { ...init, body });
    // Read the whole answer before the first byte is passed on, so that an answer that breaks off is an error.
    return { response, content: Buffer.from(await response.arrayBuffer()) };
  }

  const server = createServer((request, response) => {
    if (pages(request, response)) return;
    answer(request, response).catch(() => response.destroy());
  });
  const address = await listenOnLoopback(server, port);
  return { address, stop: () => closeServer(server, 0) };
}

/** Compares in the same time whatever the difference is. */
function isSame(given: string, wanted: string): boolean {
  const [one, other] = [given, wanted].map((text) => createHash("sha256").update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}

/** Answers a problem in the form of the API's own problems. */
function problem(response: ServerResponse, status: number, code: string, detail: string): void {
  const body = JSON.stringify({ type: "about:blank", title: code, status, detail, code });
  response.writeHead(status, { "content-type": "application/problem+json", "cache-control": "no-store" });
  response.end(body);
}
