import { type ErrorCode, MinutehandError, messageOf } from "../core/errors.ts";
import { truncate } from "../general/text.ts";
import type { Problem } from "../http/answers.ts";

/** `patience`: how long a try is waited for at least, ms. `once`: it is not repeated where it may have taken effect. */
export type Carrying = { readonly patience?: number; readonly once?: true };

/** Carries a request to the API, and its answer back. */
export type Transport = (request: Request, carrying?: Carrying) => Promise<Response>;

export type Query = Readonly<Record<string, string | number | Date | undefined>>;
/** The members that an answer must have, by their kind. */
export type Shape = Readonly<Record<string, "string" | "number" | "array" | "object">>;
type Sent = {
  query?: Query;
  body?: object;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  carrying?: Carrying;
};

/** One call of the API: what it answers, which has this shape, or a `MinutehandError`. Aborted it throws the signal's reason. */
export type Call = <T>(method: string, path: string, shape: Shape, sent?: Sent) => Promise<T>;

/** Of a bad answer, as many bytes are quoted. */
export const QUOTED = 120;

export function callOver(transport: Transport, url: string): Call {
  const base = url.replace(/\/+$/, "");
  return async <T>(
    method: string,
    path: string,
    shape: Shape,
    { query = {}, body, idempotencyKey, signal, carrying }: Sent = {},
  ) => {
    signal?.throwIfAborted();
    const target = `${base}${path}${searchOf(query)}`;
    const headers = {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    };
    const content = body === undefined ? {} : { body: jsonOf(body) };
    const init = { method, headers, ...content, ...(signal ? { signal } : {}) };
    const response = await transport(requestOf(target, init), carrying);
    const text = await response.text();
    const value = objectIn(text);
    const missing = value && missingIn(value, shape);
    if (response.ok && value && missing === undefined) return value as T;
    if (isProblem(value)) throw errorOf(value);
    throw foreign(`${method} ${target}`, response, text, response.ok ? missing : undefined);
  };
}

/** Throws `bad-request` for what HTTP cannot carry, such as a header of other characters than Latin-1. */
function requestOf(target: string, init: RequestInit): Request {
  try {
    return new Request(target, init);
  } catch (error) {
    throw new MinutehandError("bad-request", `the request cannot be sent: ${messageOf(error)}`, {}, error);
  }
}

/** A segment of a path. Dots alone URL parsers would resolve away, and another call be made; encoded twice the API refuses them. */
export function segment(text: string): string {
  return /^\.{1,2}$/.test(text) ? "%252E" : encodeURIComponent(text.toWellFormed());
}

/** The refusal that an answer tells, or an entry of one. */
export function errorOf({ type: _, title: __, status, detail, code, ...data }: Problem): MinutehandError {
  return Object.assign(new MinutehandError(code as ErrorCode, detail, data), { status });
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

function jsonOf(body: object): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    // Of a circle it is told in several lines.
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

/** What the answer of another server has not, or as something else. */
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

/** Of an answer that is not the API's: a gateway's, a proxy's, or of another server altogether. */
function foreign(
  call: string,
  { status, headers }: Response,
  text: string,
  expected: string | undefined,
): MinutehandError {
  const type = headers.get("content-type") ?? "no type";
  const said = text === "" ? "nothing" : JSON.stringify(truncate(text, QUOTED));
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
