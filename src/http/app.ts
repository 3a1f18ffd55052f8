import { PatternRouter } from "hono/router/pattern-router";
import type { Problem } from "./answers/problem.ts";
import { etagOf } from "./etag.ts";
import { logFailure } from "./log-failure.ts";
import { problem, problemOf, STATUS } from "./problem.ts";
import { readCall } from "./read-call.ts";
import type { Bindings, Decision, HttpAnswer, HttpRequest, Route, Service } from "./route.ts";

const RETRY_AFTER_SECONDS = 2;
const BY_KEY = "/topics/{topic}/jobs/{key}";

/** Every answer that is not a success is problem details (RFC 9457). */
export type App = (request: HttpRequest, bindings?: Bindings) => Promise<HttpAnswer>;

export function createApp(service: Service, routes: readonly Route[]): App {
  const router = routerOf(routes);
  const serve = async (request: HttpRequest, bindings: Bindings): Promise<HttpAnswer> => {
    // The router also takes a slash at the end, but no path of the API ends so.
    const [found] = request.path.endsWith("/") ? [] : router.match("ALL", request.path)[0];
    if (!found) {
      const path = request.path.split("/").map(decodeSegment).join("/");
      return problemAnswer(problem("not-found", `there is no path ${path}; /openapi.json lists all paths`));
    }
    const [{ path, mates }, encoded] = found;
    // The server before the function counts the body of a HEAD for Content-Length, and leaves it out (RFC 9110).
    const method = request.method === "HEAD" ? "GET" : request.method;
    const route = mates.find((mate) => mate.method === method);
    if (!route) return methodNotAllowed(path, request.method, mates);
    const params = Object.entries(encoded).map(([name, segment]) => [name, decodeSegment(String(segment))]);
    const call = readCall(route, request, Object.fromEntries(params), service, bindings);
    const answer = await route.handle(call);
    if (route.isDecision)
      service.log.info(
        "a call changed a topic, a schedule or many jobs",
        decisionOf(route, call, bindings.caller),
      );
    return jsonAnswer(answer.status, answer.body, "application/json", answer.headers);
  };
  const refuse = (thrown: unknown, path: string): HttpAnswer => {
    logFailure(service.log, thrown);
    const refusal = problemOf(thrown);
    const { id, revision } = refusal as { id?: string; revision?: number };
    const isChanged = refusal.code === "changed-meanwhile" && id !== undefined && revision !== undefined;
    return problemAnswer(refusal, isChanged ? { etag: etagOf(path, { id, revision }) } : {});
  };
  return (request, bindings = {}) => serve(request, bindings).catch((thrown) => refuse(thrown, request.path));
}

function routerOf(routes: readonly Route[]): PatternRouter<{ path: string; mates: Route[] }> {
  const byPath = [...Map.groupBy(routes, ({ path }) => path)];
  // Literal paths first: otherwise `/jobs/{id}` would take `/jobs/batch`.
  byPath.sort(([a], [b]) => parametersOf(a) - parametersOf(b));
  // Of Hono only the router is used: an app of Hono needs the objects of `fetch`, which take a sixth of a call's CPU time.
  const router = new PatternRouter<{ path: string; mates: Route[] }>();
  for (const [path, mates] of byPath) router.add("ALL", path.replace(/\{(\w+)\}/g, ":$1"), { path, mates });
  return router;
}

/** Bytes that are not UTF-8 stay encoded, so that the schemas refuse them. */
function decodeSegment(segment: string): string {
  return segment.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}

function decisionOf(
  { operationId }: Route,
  { params, body }: { params: unknown; body: unknown },
  caller: string | undefined,
): Decision {
  const { topic, name } = { ...(body as object), ...(params as object) } as { topic?: string; name?: string };
  return {
    call: operationId,
    ...(topic !== undefined && { topic }),
    ...(name !== undefined && { schedule: name }),
    ...(caller !== undefined && { caller }),
  };
}

function parametersOf(path: string): number {
  return path.split("{").length;
}

function methodNotAllowed(path: string, method: string, routes: readonly Route[]): HttpAnswer {
  const allow = routes.map((route) => route.method).join(", ");
  const way =
    method === "PATCH" && path === BY_KEY
      ? "; to change the job of a key, GET its id, and PATCH /jobs/{id}"
      : "";
  const detail = `the method of ${path} must be one of ${allow}, got ${method}${way}`;
  return problemAnswer(problem("method-not-allowed", detail), { allow });
}

export function problemAnswer(body: Problem, headers: Record<string, string> = {}): HttpAnswer {
  const seconds = body.status === STATUS.unavailable ? RETRY_AFTER_SECONDS : body.retryAfter;
  const retry = seconds === undefined ? {} : { "retry-after": String(seconds) };
  return jsonAnswer(body.status, body, "application/problem+json", { ...retry, ...headers });
}

function jsonAnswer(
  status: number,
  body: unknown,
  type: string,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  return { status, headers: { ...headers, "content-type": type }, body: JSON.stringify(body) };
}
