import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { decodePath } from "../http-event.ts";
import { errorText } from "../local-error.ts";
import { close, listen, readRequestBody } from "../loopback-server.ts";
import { matchRoute, parseRoute, type Route } from "../routes.ts";
import { refusalOfWebPage } from "../web-page.ts";
import { AwsError } from "./aws-error.ts";

/** Of the largest: 1 MiB of events, whose details are JSON in JSON. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

export type AwsRequest = {
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: unknown;
};

export type Operation = {
  /** Of an answer that is no error; default 200. */
  readonly status?: number;
  /** Throws `AwsError`, or rejects with it. */
  readonly answer: (request: AwsRequest) => object | Promise<object>;
};

/** By route, `GET /schedules/{Name}`, or, where the service speaks JSON 1.1, by target, `secretsmanager.GetSecretValue`. */
export type Operations = Readonly<Record<string, Operation>>;

export type AwsEndpoint = { readonly url: string; readonly stop: () => Promise<void> };

/**
 * Serves operations of AWS services, of several at once, on a free port of loopback, in the protocols that their
 * SDK clients speak: https://smithy.io/2.0/aws/protocols/index.html. Signatures are not looked at; web pages are refused.
 */
export async function startAwsEndpoint(operations: Operations): Promise<AwsEndpoint> {
  const targets = new Map(Object.entries(operations));
  const routes = [...targets]
    .filter(([key]) => key.includes(" "))
    .map(([key, operation]) => parseRoute(key, operation));
  const server = createServer((request, response) => {
    void serve(request, response, targets, routes).catch(() => response.destroy());
  });
  const url = await listen(server, 0);
  return { url, stop: () => close(server, 0) };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  targets: ReadonlyMap<string, Operation>,
  routes: readonly Route<Operation>[],
): Promise<void> {
  try {
    const refusal = refusalOfWebPage(request.headers);
    if (refusal !== undefined) throw new AwsError("AccessDeniedException", 403, refusal);
    const body = await readRequestBody(request, MAX_BODY_BYTES);
    const { operation, parameters, query } = find(request, targets, routes);
    const answer = await operation.answer({ parameters, query, body: parse(body) });
    write(response, operation.status ?? 200, answer);
  } catch (error) {
    const { code, status, message } =
      error instanceof AwsError ? error : new AwsError("InternalServerException", 500, errorText(error));
    response.setHeader("x-amzn-errortype", code);
    write(response, status, { __type: code, Message: message });
  }
}

function find(
  { method = "GET", url = "/", headers }: IncomingMessage,
  targets: ReadonlyMap<string, Operation>,
  routes: readonly Route<Operation>[],
): Omit<AwsRequest, "body"> & { readonly operation: Operation } {
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

function parse(body: Buffer | "too-large"): unknown {
  if (body === "too-large")
    throw new AwsError("ValidationException", 413, `a body has at most ${MAX_BODY_BYTES} bytes`);
  if (body.length === 0) return {};
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new AwsError("SerializationException", 400, "the body must be JSON");
  }
}

function write(response: ServerResponse, status: number, answer: object): void {
  response.writeHead(status, { "content-type": "application/json", "x-amzn-requestid": randomUUID() });
  response.end(JSON.stringify(answer));
}
