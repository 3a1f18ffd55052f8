import { type ErrorCode, MinutehandError, messageOf } from "../core/errors.ts";
import { isJobId } from "../core/job-id.ts";
import { assertKeptByJson } from "../core/kept-by-json.ts";
import { quoted } from "../general/text.ts";
import type { Problem } from "../http/answers/problem.ts";
import type { SeenOptions } from "./options.ts";

/** `patience`: the least timeout of a try, ms. `once`: not retried if it may have had an effect. */
export type Carrying = { readonly patience?: number; readonly once?: true };

/** How long a `receive` may take beyond its `waitSeconds`, ms. */
const CLAIMING = 10_000;

/**
 * How a `receive` is sent. If the client gave up before the API, claimed jobs would not reach it, and each would lose an attempt. A retry would
 * claim other jobs, and those of the lost answer would wait until their leases end.
 */
export function carryingReceive(waitSeconds: number): Carrying {
  return { patience: waitSeconds * 1000 + CLAIMING, once: true };
}

/** `url` has the path and the query string. */
export type Outgoing = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
};
export type Answered = Pick<Response, "ok" | "status" | "text"> & {
  readonly headers: Pick<Headers, "get">;
};

export type Transport = (request: Outgoing, carrying?: Carrying) => Promise<Answered>;

export type Query = Readonly<Record<string, string | number | Date | undefined>>;
/** The members that an answer must have. */
export type Shape = Readonly<Record<string, "string" | "number" | "array" | "object">>;
type Sent = {
  query?: Query;
  body?: object;
  headers?: Readonly<Record<string, string>>;
  idempotencyKey?: string | undefined;
  ifMatch?: SeenOptions["ifMatch"] | undefined;
  signal?: AbortSignal | undefined;
  carrying?: Carrying;
};

/** Checks the answer against `shape`. Throws a `MinutehandError`, or the signal's reason if the call is aborted. */
export type Call = <T>(method: string, path: string, shape: Shape, sent?: Sent) => Promise<T>;

/** How many characters of a bad answer an error text quotes. */
export const QUOTED = 120;

export function callOver(transport: Transport, url: string): Call {
  const base = url.replace(/\/+$/, "");
  return async <T>(
    method: string,
    path: string,
    shape: Shape,
    { query = {}, body, headers: given = {}, idempotencyKey, ifMatch, signal, carrying }: Sent = {},
  ) => {
    signal?.throwIfAborted();
    const target = `${base}${path}${searchOf(query)}`;
    const headers = {
      ...given,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": String(idempotencyKey) }),
      ...(ifMatch === undefined ? {} : { "if-match": `"${tagOf(ifMatch)}"` }),
    };
    const content = body === undefined ? {} : { body: jsonOf(body) };
    const request = { method, url: target, headers, ...content, ...(signal ? { signal } : {}) };
    const response = await transport(request, carrying);
    const text = await response.text();
    const value = objectIn(text);
    const missing = value && missingIn(value, shape);
    if (response.ok && value && missing === undefined) return value as T;
    if (isProblem(value)) throw errorOf(value);
    throw foreign(`${method} ${target}`, response, text, response.ok ? missing : undefined);
  };
}

/** Throws `bad-request` for what HTTP cannot carry, such as a header with characters outside Latin-1. */
export function fetchable({ url, ...init }: Outgoing): Request {
  try {
    return new Request(url, init);
  } catch (error) {
    throw new MinutehandError("bad-request", `the request cannot be sent: ${messageOf(error)}`, {}, error);
  }
}

/** The error that a problem means, of a whole call or of one entry of a batch. */
export function errorOf({ type: _, title: __, status, detail, code, ...data }: Problem): MinutehandError {
  const { id, revision } = data;
  // The API's text tells of the header that the client has sent. Its caller gave a job.
  const isChanged = code === "changed-meanwhile" && revision !== undefined;
  const seen = `job ${id} is not as you saw it: it has revision ${revision} now. Read it again with get`;
  return Object.assign(new MinutehandError(code as ErrorCode, isChanged ? seen : detail, data), { status });
}

/** The entity tag of a job that the caller saw. Only plain JavaScript can give something else. Throws `bad-request`. */
export function tagOf(seen: NonNullable<SeenOptions["ifMatch"]>): string {
  const { id, revision } = Object(seen);
  if (isJobId(String(id)) && Number.isSafeInteger(revision)) return `${id}.${revision}`;
  throw new MinutehandError("bad-request", "ifMatch must be a job with its id and its revision");
}

function searchOf(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) params.set(name, value instanceof Date ? isoOf(name, value) : String(value));
  }
  return params.size === 0 ? "" : `?${params}`;
}

function isoOf(name: string, date: Date): string {
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new MinutehandError("bad-request", `${name} must be a time, got an invalid Date`);
}

/** Throws `bad-request` for a value that JSON does not have or would alter. */
export function jsonOf(body: object): string {
  assertKeptByJson(body);
  try {
    return JSON.stringify(body);
  } catch (error) {
    // For a circular structure, JSON's message has several lines.
    const reason = messageOf(error).replace(/\s+/g, " ");
    const message = `the request must be a value that JSON can represent: ${reason}`;
    throw new MinutehandError("bad-request", message, {}, error);
  }
}

function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** `undefined`: the value meets all. */
function missingIn(value: object, shape: Shape): string | undefined {
  if (Array.isArray(value)) return "an object";
  const members = value as Record<string, unknown>;
  const wrong = Object.entries(shape).find(([name, kind]) => kindOf(members[name]) !== kind);
  return wrong && `an object whose ${wrong[0]} is ${/^[aeiou]/.test(wrong[1]) ? "an" : "a"} ${wrong[1]}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function isProblem(value: object | undefined): value is Problem {
  const { code, detail, status } = (value ?? {}) as Partial<Problem>;
  return typeof code === "string" && typeof detail === "string" && typeof status === "number";
}

/** It comes from a gateway, a proxy or another server. */
function foreign(
  call: string,
  { status, headers }: Answered,
  text: string,
  expected: string | undefined,
): MinutehandError {
  const type = headers.get("content-type") ?? "no type";
  const said = text === "" ? "nothing" : quoted(text, QUOTED);
  const code =
    status === 401 || status === 403
      ? "forbidden"
      : status === 429 || status >= 502
        ? "unavailable"
        : "bad-answer";
  const instead = expected === undefined ? "" : `, expected ${expected}`;
  const message = `the answer to ${call} is ${status} (${type}) and not from Minutehand's API: ${said}${instead}`;
  return Object.assign(new MinutehandError(code, message), { status });
}
