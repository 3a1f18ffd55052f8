import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, listenOnBothLoopbacks, readRequestBody } from "../local/loopback-server.ts";
import { refusalOfWebPage } from "../local/web-page.ts";
import type { Authorize, Outgoing } from "../src/client/authorize.ts";
import { MinutehandError, reasonOf } from "../src/core/errors.ts";
import { MAX_ANSWER_BYTES, readAnswer } from "../src/general/read-answer.ts";
import { isSameText } from "../src/general/same-text.ts";
import { ABOUT_PATH, type About, ACTIONS_PATH, KEY_HEADER } from "./about.ts";
import { answerJson, answerProblem, type Refusal, refuse } from "./answers.ts";
import { callForActions } from "./call-for-actions.ts";
import { carriedRoute } from "./carried-route.ts";
import { type OwnAnswers, ownAnswer } from "./own-answers.ts";

/** API Gateway's limit: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const MAX_BODY_BYTES = 10 * 1024 * 1024;
/** How long an answer may take, ms. API Gateway answers within 30 s. */
const PATIENCE_MS = 35_000;
const READS = ["GET", "HEAD"];
const METHODS = [...READS, "POST", "PUT", "PATCH", "DELETE"];
/** Headers of the page's requests that are passed on. The browser's other headers are about this server. */
const SENT = ["accept", "content-type", "idempotency-key", "if-match"];
/** Headers of the API's answers that are passed on. */
const ANSWERED = ["content-type", "idempotent-replayed", "location", "retry-after"];

export type ProxyOptions = {
  /** Answers requests that are not for the API. Returns whether it has taken the request. */
  readonly pages: (request: IncomingMessage, response: ServerResponse, ownHost: string) => boolean;
  /** What the page gets at `ABOUT_PATH`, with the key. */
  readonly about: About;
  /** What this server answers itself, with the key. */
  readonly own?: OwnAnswers;
  readonly url: string;
  readonly authorize: Authorize;
  /** The key that each call must have. It keeps other users and programs of this machine from calling with the user's credentials. */
  readonly key: string;
  /**
   * The host of the page's address: a name under `localhost` that nobody could know before this run. So no earlier server of the port can
   * have left a service worker, a cached page or stored data at the page's origin, and no other page can guess the origin.
   */
  readonly host: string;
  readonly port: number;
  /** How long an answer of the API may take, ms. Default: 35,000, because API Gateway answers within 30 s. */
  readonly patience?: number;
};

type Answer = { readonly status: number; readonly headers: Headers; readonly body: Buffer };

/** Passes calls on to an API elsewhere, with the user's own credentials. Throws `LocalError` if the port cannot be opened. */
export async function openProxy(options: ProxyOptions) {
  let ownHost = options.host;
  const call = callForActions(options.url, options.authorize);
  const actions = carriedRoute(() => call);
  const own = { ...options.own, [ACTIONS_PATH]: actions.answer };
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (options.pages(request, response, ownHost)) return;
    answer(options, own, ownHost, request, response).catch(() => response.destroy());
  };
  const servers = [createServer(serve), createServer(serve)] as const;
  const port = await listenOnBothLoopbacks(servers, options.port);
  const address = new URL(`http://${options.host}:${port}`);
  ownHost = address.host;
  const stop = async () => void (await Promise.all(servers.map((server) => closeServer(server, 0))));
  return { address: address.origin, port, stop, stopActions: actions.carried.stopAll };
}

async function answer(
  options: ProxyOptions,
  own: OwnAnswers,
  ownHost: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const refusal = refusalOf(options, ownHost, request);
  if (refusal !== undefined) return refuse(response, refusal);
  if (request.url === ABOUT_PATH) return answerJson(response, 200, options.about);
  const { method = "", url: path = "" } = request;
  const answerOwn = ownAnswer(own, path.split("?")[0] ?? "");
  if (answerOwn !== undefined) return answerOwn(request, response);
  const target = targetOf(options.url, path);
  if (target === undefined) {
    const detail = `the path must begin with "/" and must not leave ${baseOf(options.url)}, got ${JSON.stringify(request.url)}`;
    return refuse(response, { status: 400, code: "bad-request", detail });
  }
  const body = await readRequestBody(request, MAX_BODY_BYTES);
  if (body === "too-large") {
    const detail = `the body must have at most ${MAX_BODY_BYTES} bytes`;
    return refuse(response, { status: 413, code: "too-large", detail });
  }
  const left = new AbortController();
  response.on("close", () => left.abort());
  const sent = { method, url: target, headers: headersOf(request), body: body.toString() };
  const found = await callApi(options, sent, left.signal).catch((error: unknown) => error);
  if (left.signal.aborted) return;
  if (!isAnswer(found)) return answerProblem(response, problemOf(options, found));
  passOn(options.url, found, response);
}

/** Says why a request is not passed on; `undefined` if it may be. */
function refusalOf(
  { key, about }: ProxyOptions,
  ownHost: string,
  { method = "", headers }: IncomingMessage,
): Refusal | undefined {
  const foreign = refusalOfWebPage(headers, ownHost);
  if (foreign !== undefined) return { status: 403, code: "forbidden", detail: foreign };
  if (!isSameText(String(headers[KEY_HEADER] ?? ""), key)) {
    const detail = `the header ${KEY_HEADER} must have the key of this run: open the address that "minutehand console" has printed`;
    // The page shows how to get the key when it finds this header in an answer.
    return { status: 403, code: "forbidden", detail, headers: { [KEY_HEADER]: "wrong" } };
  }
  if (about.isViewOnly && !READS.includes(method)) return VIEW_ONLY;
  if (METHODS.includes(method)) return undefined;
  const allowed = METHODS.join(", ");
  const detail = `the method must be one of ${allowed}, got ${method}`;
  return { status: 405, code: "method-not-allowed", detail, headers: { allow: allowed } };
}

const VIEW_ONLY: Refusal = {
  ...{ status: 403, code: "forbidden" },
  detail: "this console shows the queue and changes nothing: it was started with --view-only",
};

/** The URL of a call. `undefined`: the path leads to another host, or out of the path of the API's URL. */
function targetOf(url: string, path: string): string | undefined {
  if (!path.startsWith("/")) return undefined;
  const target = URL.parse(`${url}${path}`)?.href;
  return target?.startsWith(baseOf(url)) ? target : undefined;
}

function baseOf(url: string): string {
  return new URL(`${url}/`).href;
}

async function callApi(
  { authorize, patience = PATIENCE_MS }: ProxyOptions,
  sent: Outgoing,
  left: AbortSignal,
): Promise<Answer> {
  const { method, url } = sent;
  // Nothing that reads has a body, and `fetch` would refuse one.
  const body = READS.includes(method) ? "" : sent.body;
  const headers = await authorize({ ...sent, body });
  const signal = AbortSignal.any([left, AbortSignal.timeout(patience)]);
  // A redirect would carry the signature to another host.
  const init = { method, headers, signal, redirect: "manual" } as const;
  const response = await fetch(url, body === "" ? init : { ...init, body });
  const { status, headers: answered } = response;
  const bytes = await readAnswer(response);
  if (bytes !== "too-large") return { status, headers: answered, body: Buffer.from(bytes) };
  const message = `${url} answered more than ${MAX_ANSWER_BYTES} bytes, which Minutehand's API never does: is this the URL of the API?`;
  throw new MinutehandError("bad-answer", message);
}

/** Says why there is no answer of the API. A call that could not be signed has its own error, which says what to do. */
function problemOf({ url, patience = PATIENCE_MS }: ProxyOptions, error: unknown): Refusal {
  if (error instanceof MinutehandError)
    return { status: error.code === "bad-answer" ? 502 : 403, code: error.code, detail: error.message };
  const isLate = error instanceof Error && error.name === "TimeoutError";
  const why = isLate ? ` within ${patience / 1000} s` : `: ${reasonOf(error)}`;
  const detail = `no answer from ${url}${why}. Check the network of this machine, and whether this is the API's address`;
  return { status: 502, code: "unavailable", detail };
}

function passOn(url: string, { status, headers, body }: Answer, response: ServerResponse): void {
  // The browser would follow a redirect, and the answer of the other address would look like an answer of the API.
  if (status >= 300 && status < 400) {
    const detail = `${url} answered ${status}, a redirect, which Minutehand's API never does: is this the URL of the API?`;
    answerProblem(response, { status: 502, code: "unavailable", detail });
    return;
  }
  for (const name of ANSWERED) {
    const value = headers.get(name);
    if (value !== null) response.setHeader(name, value);
  }
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("cache-control", "no-store");
  response.writeHead(status);
  response.end(body);
}

function headersOf(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const name of SENT) {
    const value = request.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  return headers;
}

function isAnswer(found: unknown): found is Answer {
  return typeof found === "object" && found !== null && "body" in found && "status" in found;
}
