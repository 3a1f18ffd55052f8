import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, listenOnLoopback, readRequestBody } from "../loopback-server.ts";
import { refusalOfWebPage } from "../web-page.ts";
import type { Outcome } from "./execution-environment.ts";
import { gatewayAnswer, type HttpAnswer, httpAnswer } from "./http-answer.ts";
import { decodePath, httpEvent } from "./http-event.ts";
import { matchRoute, type Route } from "./routes.ts";

/** API Gateway's limit: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_HEADER_BYTES = 10_240;
/** A request must arrive completely within this time, so that slow senders do not hold connections for long. */
const REQUEST_LIMIT_MS = 30_000;
const HEADERS_LIMIT_MS = 10_000;
const KEEP_ALIVE_MS = 60_000;
/** How often Node checks those limits. Node's default is 30 s. */
const LIMITS_EVERY_MS = 1_000;

type Target = {
  /** `caller` is aborted when it has hung up. Then a `receive` gives its jobs back. */
  readonly invoke: (event: object, caller: AbortSignal) => Promise<Outcome>;
  readonly timeoutMs: number;
};

/** Answers a request that is not for the API, such as one for a web page. Returns whether it has taken the request. */
export type Pages = (request: IncomingMessage, response: ServerResponse) => boolean;

export type HttpApi = {
  readonly url: string;
  /** Sets the routes. Until then requests wait. */
  readonly serve: (routes: readonly Route<Target>[], account: string, now?: () => number) => void;
  /** Accepts no more requests, and waits up to `graceMs` for running requests. */
  readonly stop: (graceMs: number) => Promise<void>;
};

type Served = {
  readonly routes: readonly Route<Target>[];
  readonly account: string;
  readonly now: () => number;
};

/**
 * Port 0 takes a free one. Throws `LocalError` if the port cannot be opened. While `shortage` says that the disk is full, each request
 * except a GET gets a 507 with its text. A request that `pages` takes does not reach the API.
 */
export async function openHttpApi(
  port: number,
  { shortage, pages }: { shortage?: (() => string | undefined) | undefined; pages?: Pages | undefined } = {},
): Promise<HttpApi> {
  const { promise: routed, resolve: serve } = Promise.withResolvers<Served>();
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: REQUEST_LIMIT_MS,
      headersTimeout: HEADERS_LIMIT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: LIMITS_EVERY_MS,
    },
    (request, response) => {
      if (pages?.(request, response)) return;
      void (async () => {
        const refusal = refusalOfWebPage(request.headers);
        if (refusal !== undefined) return refuse(response, gatewayAnswer(403, refusal));
        const body = await readRequestBody(request, MAX_BODY_BYTES);
        if (body === "too-large") return refuse(response, gatewayAnswer(413, "Request Entity Too Large"));
        const served = await routed;
        const full = request.method === "GET" ? undefined : shortage?.();
        if (full !== undefined) return write(response, gatewayAnswer(507, full));
        const caller = new AbortController();
        response.once("close", () => caller.abort());
        if (response.destroyed) caller.abort();
        write(response, await answer(request, body, caller.signal, served));
      })().catch(() => response.destroy());
    },
  );
  const url = await listenOnLoopback(server, port);
  return {
    url,
    serve: (routes, account, now = Date.now) => serve({ routes, account, now }),
    stop: (graceMs) => closeServer(server, graceMs),
  };
}

async function answer(
  request: IncomingMessage,
  body: Buffer,
  caller: AbortSignal,
  { routes, account, now }: Served,
): Promise<HttpAnswer> {
  const { method = "GET", url = "/", headers } = request;
  const path = decodePath(url);
  if (path === undefined) return gatewayAnswer(400, "Bad Request");
  const match = matchRoute(routes, method, path);
  if (!match) return gatewayAnswer(404, "Not Found");
  const { route, pathParameters } = match;
  const event = httpEvent(
    { method, url, headers, body, sourceIp: request.socket.remoteAddress ?? "" },
    { routeKey: route.key, pathParameters, requestId: randomUUID(), now: now(), account },
  );
  const outcome = await within(route.target.timeoutMs, route.target.invoke(event, caller));
  return outcome ? httpAnswer(outcome) : gatewayAnswer(503, "Service Unavailable");
}

async function within<T>(ms: number, answered: Promise<T>): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([answered, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Answers without reading the rest of the request's body. The connection can then carry no other request, so it is closed. */
function refuse(response: ServerResponse, answer: HttpAnswer): void {
  response.setHeader("connection", "close");
  write(response, answer);
}

function write(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  response.writeHead(status, { ...headers, "content-length": body.length });
  response.end(body);
}
