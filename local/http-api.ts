import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "./execution-environment.ts";
import { gatewayAnswer, type HttpAnswer, httpAnswer } from "./http-answer.ts";
import { decodePath, httpEvent } from "./http-event.ts";
import { close, listen, readRequestBody } from "./loopback-server.ts";
import { matchRoute, type Route } from "./routes.ts";
import { refusalOfWebPage } from "./web-page.ts";

/** API Gateway's limit: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_HEADER_BYTES = 10_240;
/** For a whole request to arrive, so that slow senders hold nothing for long. */
const REQUEST_LIMIT_MS = 30_000;
const HEADERS_LIMIT_MS = 10_000;
const KEEP_ALIVE_MS = 60_000;
/** How often Node looks for those past their limits; by default only each half minute. */
const LIMITS_EVERY_MS = 1_000;

type Target = { readonly invoke: (event: object) => Promise<Outcome>; readonly timeoutMs: number };

export type HttpApi = {
  readonly url: string;
  /** Requests wait until this is called. */
  readonly serve: (routes: readonly Route<Target>[], account: string) => void;
  /** Accepts nothing more and gives running requests `graceMs`. */
  readonly stop: (graceMs: number) => Promise<void>;
};

/**
 * Listens on loopback; port 0 takes a free one. Throws `LocalError` if the port is not to be had. While `shortage` says why nothing can
 * be written, each request but a GET is answered 507 with those words.
 */
export async function openHttpApi(
  port: number,
  shortage: () => string | undefined = () => undefined,
): Promise<HttpApi> {
  const { promise: routed, resolve: serve } = Promise.withResolvers<[readonly Route<Target>[], string]>();
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: REQUEST_LIMIT_MS,
      headersTimeout: HEADERS_LIMIT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: LIMITS_EVERY_MS,
    },
    (request, response) => {
      void (async () => {
        const refusal = refusalOfWebPage(request.headers);
        if (refusal !== undefined) return refuse(response, gatewayAnswer(403, refusal));
        const body = await readRequestBody(request, MAX_BODY_BYTES);
        if (body === "too-large") return refuse(response, gatewayAnswer(413, "Request Entity Too Large"));
        const [routes, account] = await routed;
        const full = request.method === "GET" ? undefined : shortage();
        if (full !== undefined) return write(response, gatewayAnswer(507, full));
        write(response, await answer(request, body, routes, account));
      })().catch(() => response.destroy());
    },
  );
  const url = await listen(server, port);
  return {
    url,
    serve: (routes, account) => serve([routes, account]),
    stop: (graceMs) => close(server, graceMs),
  };
}

async function answer(
  request: IncomingMessage,
  body: Buffer,
  routes: readonly Route<Target>[],
  account: string,
): Promise<HttpAnswer> {
  const { method = "GET", url = "/", headers } = request;
  const path = decodePath(url);
  if (path === undefined) return gatewayAnswer(400, "Bad Request");
  const match = matchRoute(routes, method, path);
  if (!match) return gatewayAnswer(404, "Not Found");
  const { route, pathParameters } = match;
  const event = httpEvent(
    { method, url, headers, body, sourceIp: request.socket.remoteAddress ?? "" },
    { routeKey: route.key, pathParameters, requestId: randomUUID(), now: Date.now(), account },
  );
  const tooLate = new AbortController();
  const outcome = await Promise.race([
    route.target.invoke(event),
    sleep(route.target.timeoutMs, undefined, { signal: tooLate.signal }).catch(() => undefined),
  ]);
  tooLate.abort();
  return outcome ? httpAnswer(outcome) : gatewayAnswer(503, "Service Unavailable");
}

/** The rest of the request's body is not worth reading, so the connection cannot be used again. */
function refuse(response: ServerResponse, answer: HttpAnswer): void {
  response.setHeader("connection", "close");
  write(response, answer);
}

function write(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  response.writeHead(status, { ...headers, "content-length": body.length });
  response.end(body);
}
