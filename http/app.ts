import { Hono } from "hono";
import { MinutehandError, messageOf } from "../core/errors.ts";
import type { Logs } from "../core/log-groups.ts";
import type { Problem } from "./answers.ts";
import { problem, problemOf } from "./problem.ts";
import { readCall } from "./read-call.ts";
import type { Decision, Route, Service } from "./route.ts";

const RETRY_AFTER_SECONDS = 2;

/**
 * Facts about a request from API Gateway. `caller`: the ARN of the user or role that signed the request. `logs`: where the functions of
 * topics write their logs.
 */
export type Bindings = { caller?: string | undefined; logs?: Logs | undefined };

/**
 * Creates the HTTP API of these routes. Every answer that is not a success is problem details (RFC 9457). `toProblem`: makes the
 * problem details of anything that was thrown.
 */
export function createApp(
  service: Service,
  routes: readonly Route[],
  toProblem: (thrown: unknown) => Problem = problemOf,
): Hono<{ Bindings: Bindings }> {
  const app = new Hono<{ Bindings: Bindings }>();
  const byPath = [...Map.groupBy(routes, ({ path }) => path)];
  // Register literal paths first. Otherwise `/jobs/{id}` would take `/jobs/batch`.
  byPath.sort(([a], [b]) => parametersOf(a) - parametersOf(b));
  for (const [path, mates] of byPath) {
    app.all(path.replace(/\{(\w+)\}/g, ":$1"), async (c) => {
      // Hono answers HEAD as GET without the body.
      const method = c.req.method === "HEAD" ? "GET" : c.req.method;
      const route = mates.find((mate) => mate.method === method);
      if (!route) return methodNotAllowed(path, c.req.method, mates);
      const call = await readCall(route, c.req.raw, c.req.param(), service, c.env?.logs);
      const answer = await route.handle(call);
      if (route.isDecision) service.log.info("a decision", decisionOf(route, call, c.env?.caller));
      return jsonResponse(answer.status, answer.body, "application/json", answer.headers);
    });
  }
  app.notFound((c) =>
    problemResponse(problem("not-found", `there is no path ${c.req.path}; /openapi.json lists all paths`)),
  );
  app.onError((thrown) => {
    if (!(thrown instanceof MinutehandError)) service.log.error("a request failed", bare(thrown));
    else if (thrown.code === "unavailable") {
      service.log.warn("a request was not served", { error: messageOf(thrown) });
    }
    return problemResponse(toProblem(thrown));
  });
  return app;
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

/**
 * Copies the fields of an error that may be logged. The logger writes every field. An error of AWS contains the item that
 * failed a condition, with the job's body and the token of its claim.
 */
function bare({ name, message, stack }: Error): Error {
  return Object.assign(new Error(message), { name, stack });
}

function parametersOf(path: string): number {
  return path.split("{").length;
}

function methodNotAllowed(path: string, method: string, routes: readonly Route[]): Response {
  const allow = routes.map((route) => route.method).join(", ");
  const detail = `the method of ${path} must be one of ${allow}, got ${method}`;
  return problemResponse(problem("method-not-allowed", detail), { allow });
}

export function problemResponse(body: Problem, headers: Record<string, string> = {}): Response {
  const retry = body.status === 503 ? { "retry-after": String(RETRY_AFTER_SECONDS) } : {};
  return jsonResponse(body.status, body, "application/problem+json", { ...retry, ...headers });
}

function jsonResponse(
  status: number,
  body: unknown,
  type: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...headers, "content-type": type } });
}
