import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod/mini";
import { readRequestBody } from "../local/loopback-server.ts";
import type { Call } from "../src/client/call.ts";
import { ACTIONS_PATH } from "./about.ts";
import { answerJson, answerProblem, type Refusal, refuse } from "./answers.ts";
import { type Carried, type CarriedAction, createCarried, type Plan } from "./carried.ts";

const MOST_BYTES = 1_000_000;
/** More topics and tags than a person reads in a dialog. */
const MOST_LINES = 200;

const text = z.optional(z.string());
/** Only the form. The API checks the values, and the action then fails with the API's error. */
const plan = z.strictObject({
  change: z.strictObject({
    action: z.enum(["cancel", "dismiss", "move", "run", "redrive"]),
    ...{ dueAt: text, reason: text, ratePerSecond: z.optional(z.number()) },
    ...{ delay: z.optional(z.union([z.number(), z.string()])), shift: text },
  }),
  at: text,
  lines: z
    .array(
      z.strictObject({
        which: z.strictObject({
          topic: z.string(),
          tag: text,
          group: text,
          from: z.string(),
          to: z.string(),
          jobs: z.optional(
            z.array(z.strictObject({ id: z.string(), revision: z.optional(z.number()), dueAt: text })),
          ),
        }),
        counted: z.number(),
      }),
    )
    .check(z.minLength(1), z.maxLength(MOST_LINES)),
});

export type CarriedRoute = {
  readonly carried: Carried;
  /** Takes requests to the actions. The caller has refused what other pages and other users have sent. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
};

/** Lets the page start, watch, stop and continue actions on many jobs. `callFor`: how the action of a request calls the API. */
export function carriedRoute(callFor: (request: IncomingMessage) => Call): CarriedRoute {
  const carried = createCarried(Date.now, randomUUID);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "" } = request;
    const id = url.slice(ACTIONS_PATH.length + 1);
    if (id === "" && (method === "GET" || method === "HEAD"))
      return answerJson(response, 200, { actions: carried.list() });
    if (id === "" && method === "POST") return start(carried, callFor(request), request, response);
    if (id !== "" && method === "DELETE") return answerOne(response, carried.stop(id));
    if (id !== "" && method === "POST") return answerOne(response, carried.goOn(id));
    const allow = id === "" ? "GET, HEAD, POST" : "POST, DELETE";
    const detail = `the method must be one of ${allow}, got ${method}`;
    refuse(response, { status: 405, code: "method-not-allowed", detail, headers: { allow } });
  };
  return {
    carried,
    answer: (request, response) => void answer(request, response).catch(() => response.destroy()),
  };
}

async function start(
  carried: Carried,
  call: Call,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readRequestBody(request, MOST_BYTES);
  if (body === "too-large") return refuse(response, TOO_LARGE);
  const { data } = z.safeParse(plan, jsonIn(body));
  if (data === undefined) return answerProblem(response, NO_PLAN);
  const started = carried.start(data as Plan, call);
  if (started === undefined) return answerProblem(response, TOO_MANY);
  answerJson(response, 201, started);
}

const TOO_LARGE: Refusal = {
  ...{ status: 413, code: "too-large", detail: `the body must have at most ${MOST_BYTES} bytes` },
};
const NO_PLAN: Refusal = {
  ...{ status: 400, code: "bad-request" },
  detail: `the body must be a change and 1 to ${MOST_LINES} lines, as the page sends it`,
};
const TOO_MANY: Refusal = {
  ...{ status: 503, code: "unavailable", detail: "too many actions run already: wait for one, or stop one" },
};
const UNKNOWN: Refusal = {
  ...{ status: 404, code: "not-found" },
  detail: "there is no such action: the server keeps the last ones since its start",
};

function jsonIn(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function answerOne(response: ServerResponse, action: CarriedAction | undefined): void {
  if (action === undefined) answerProblem(response, UNKNOWN);
  else answerJson(response, 200, action);
}
