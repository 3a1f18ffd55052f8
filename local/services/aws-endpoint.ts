import { randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { isSameText } from "../../src/general/same-text.ts";
import { decodePath } from "../functions/http-event.ts";
import { matchRoute, parseRoute, type Route } from "../functions/routes.ts";
import { errorText } from "../local-error.ts";
import { closeServer, listenOnLoopback, readRequestBody } from "../loopback-server.ts";
import { refusalOfWebPage } from "../web-page.ts";
import { AwsError } from "./aws-error.ts";

/** Enough for the largest request: PutEvents with 1 MiB of events, whose details are JSON inside JSON and so get longer. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

export type AwsRequest = {
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
};

export type Operation = {
  /** The HTTP status of a success. Default: 200. */
  readonly status?: number;
  /** Answers the request. Throws `AwsError`, or rejects with it. */
  readonly answer: (request: AwsRequest) => object | Promise<object>;
};

/** An answer that is sent as it is. */
export type Reply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
};

/** An operation whose answer is not an object: an invocation answers what the function says. */
type Replying = { readonly reply: (request: AwsRequest) => Promise<Reply> };
type AnyOperation = Operation | Replying;

/** By route, `GET /schedules/{Name}`, or for AWS JSON 1.0 and 1.1 by target: `secretsmanager.GetSecretValue`. */
export type Operations = Readonly<Record<string, Operation>>;
export type AnyOperations = Readonly<Record<string, AnyOperation>>;

export type AwsEndpoint = { readonly url: string; readonly stop: () => Promise<void> };

type EndpointOptions = {
  readonly port?: number;
  readonly maxBodyBytes?: number;
  /** The first segment of each path, and the path of the answered URL. Only who has the URL can call. Default: everybody on this machine can. */
  readonly key?: string;
};

/** Speaks https://smithy.io/2.0/aws/protocols/index.html. Checks no signatures. Refuses requests of web pages. */
export async function startAwsEndpoint(
  operations: AnyOperations,
  { port = 0, maxBodyBytes = MAX_BODY_BYTES, key }: EndpointOptions = {},
): Promise<AwsEndpoint> {
  const targets: Served["targets"] = new Map(Object.entries(operations));
  const routes = [...targets]
    .filter(([key]) => key.includes(" "))
    .map(([key, operation]) => parseRoute(key, operation));
  const server = createServer((request, response) => {
    void serve(request, response, { targets, routes, maxBodyBytes, key }).catch(() => response.destroy());
  });
  const url = await listenOnLoopback(server, port);
  return { url: key === undefined ? url : `${url}/${key}`, stop: () => closeServer(server, 0) };
}

type Served = {
  readonly targets: ReadonlyMap<string, AnyOperation>;
  readonly routes: readonly Route<AnyOperation>[];
  readonly maxBodyBytes: number;
  readonly key: string | undefined;
};

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { targets, routes, maxBodyBytes, key }: Served,
): Promise<void> {
  try {
    const refusal = refusalOfWebPage(request.headers);
    if (refusal !== undefined) throw new AwsError("AccessDeniedException", 403, refusal);
    const url = key === undefined ? (request.url ?? "/") : withoutKey(request.url ?? "/", key);
    const body = await readRequestBody(request, maxBodyBytes);
    const { operation, parameters, query } = findOperation(request, url, targets, routes);
    const { headers } = request;
    const asked = { parameters, query, headers, body: parseBody(body, maxBodyBytes) };
    if ("reply" in operation) {
      const { status, headers, body } = await operation.reply(asked);
      response.writeHead(status, headers).end(body);
      return;
    }
    writeJson(response, operation.status ?? 200, await operation.answer(asked));
  } catch (error) {
    const { code, status, message, members } =
      error instanceof AwsError ? error : new AwsError("InternalServerException", 500, errorText(error));
    response.setHeader("x-amzn-errortype", code);
    writeJson(response, status, { ...members, __type: code, Message: message });
  }
}

/** The rest of a URL after the key. Throws `AwsError` if the URL has another key or none. */
function withoutKey(url: string, key: string): string {
  const [given = ""] = url.slice(1).split(/[/?]/, 1);
  if (isSameText(given, key)) return `/${url.slice(given.length + 1).replace(/^\//, "")}`;
  const rule = 'the path must begin with the key of this run: use the URL "services" in runner.json';
  throw new AwsError("AccessDeniedException", 403, rule);
}

function findOperation(
  { method = "GET", headers }: IncomingMessage,
  url: string,
  targets: ReadonlyMap<string, AnyOperation>,
  routes: readonly Route<AnyOperation>[],
): Omit<AwsRequest, "body" | "headers"> & { readonly operation: AnyOperation } {
  const query = new URL(url, "http://localhost").searchParams;
  const target = headers["x-amz-target"];
  if (target !== undefined) {
    const operation = targets.get(String(target));
    if (operation) return { operation, parameters: {}, query };
  } else {
    const match = matchRoute(routes, method, decodePath(url) ?? "");
    if (match) return { operation: match.route.target, parameters: match.pathParameters, query };
  }
  const asked = target ?? `${method} ${url.split("?", 1)[0]}`;
  throw new AwsError("UnknownOperationException", 404, `the local stack does not play ${asked}`);
}

function parseBody(body: Buffer | "too-large", maxBodyBytes: number): unknown {
  if (body === "too-large")
    throw new AwsError("ValidationException", 413, `the body must have at most ${maxBodyBytes} bytes`);
  if (body.length === 0) return {};
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new AwsError("SerializationException", 400, "the body must be JSON");
  }
}

function writeJson(response: ServerResponse, status: number, answer: object): void {
  response.writeHead(status, { "content-type": "application/json", "x-amzn-requestid": randomUUID() });
  response.end(JSON.stringify(answer));
}
