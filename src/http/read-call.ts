import * as z from "zod/mini";
import { actorOf, callerName } from "../core/actor.ts";
import { BATCH_BYTES } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import { actingFor } from "../protocol/policy.ts";
import { HEADERS, refusal, ruleOf } from "./issues.ts";
import { reasoned } from "./parameters.ts";
import type { Bindings, Call, HttpRequest, Route, Service } from "./route.ts";

/** Throws `bad-request` with every rule that the input breaks. */
export function validate<T>(schema: z.ZodMiniType<T>, input: unknown, where: string): T {
  const result = z.safeParse(schema, input, { error: ruleOf });
  if (result.success) return result.data;
  throw refusal(result.error.issues, input, where);
}

const NOTHING = z.strictObject({});

/** Throws `bad-request` or `too-large`. */
export function readCall(
  route: Route,
  request: HttpRequest,
  params: Readonly<Record<string, string>>,
  service: Service,
  { caller, logs = () => undefined }: Bindings = {},
): Call<unknown, unknown, unknown, unknown> {
  const text = route.body ? textOf(request.body) : "";
  const asked = queryOf(request.query);
  const query = validate(route.query ?? NOTHING, asked, "the query string");
  const acting = route.query === reasoned ? serviceFor(service, caller, query as Reasoned) : service;
  return {
    service: acting,
    ctx: acting.ctx,
    logs,
    method: route.method,
    path: request.path,
    params: validate(route.params ?? NOTHING, params, "the path"),
    query,
    headers: route.headers && validate(route.headers, headersOf(request), HEADERS),
    body: route.body && validate(route.body, bodyOf(text, route), "the request"),
    text,
    signal: request.signal,
  };
}

type Reasoned = z.output<typeof reasoned>;

/** `caller`: see `Bindings`. */
function serviceFor(service: Service, caller: string | undefined, { reason }: Reasoned): Service {
  const name = (): string | undefined => (caller === undefined ? undefined : callerName(caller));
  return { ...service, ctx: actingFor(service.ctx, () => actorOf("caller", { name: name(), reason })) };
}

function queryOf(text: string): Record<string, string> {
  if (!isUtf8(text)) {
    throw new MinutehandError(
      "bad-request",
      "the query string must be percent-encoded UTF-8: its bytes are not UTF-8",
    );
  }
  const searchParams = new URLSearchParams(`?${text}`);
  const names = [...searchParams.keys()];
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated !== undefined) {
    throw new MinutehandError(
      "bad-request",
      `a query parameter must be given at most once, got ${repeated} twice or more`,
    );
  }
  return Object.fromEntries(searchParams);
}

/** URLSearchParams would replace other bytes, so a list would look for another tag than the caller's. A `%` that encodes nothing is allowed. */
function isUtf8(encoded: string): boolean {
  try {
    decodeURIComponent(encoded.replace(/%(?![0-9a-f]{2})/gi, "%25"));
    return true;
  } catch {
    return false;
  }
}

/** HTTP's white space around a value does not belong to the value. */
function headersOf({ headers }: HttpRequest): Record<string, string> {
  const values = Object.entries(headers);
  return Object.fromEntries(values.map(([name, value]) => [name, trimmed(value)]));
}

/** A regular expression would take quadratic time for a value with much white space inside. */
export function trimmed(value: string): string {
  const start = value.search(/[^\t\n\r ]/);
  let end = value.length;
  while (end > start && "\t\n\r ".includes(value.charAt(end - 1))) end -= 1;
  return start === -1 ? "" : value.slice(start, end);
}

export function checkBytes(bytes: number): void {
  if (bytes <= BATCH_BYTES) return;
  throw new MinutehandError(
    "too-large",
    `a request must have at most ${BATCH_BYTES} bytes (${BATCH_BYTES / 1e6} MB), got ${bytes}`,
  );
}

/** The text of a body, without a byte order mark. */
function textOf(body: string | Uint8Array = ""): string {
  checkBytes(typeof body === "string" ? Buffer.byteLength(body) : body.byteLength);
  if (typeof body === "string") return body.toWellFormed().replace(/^\ufeff/, "");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new MinutehandError("bad-request", "the request must be JSON in UTF-8: its bytes are not UTF-8");
  }
}

function bodyOf(text: string, route: Route): unknown {
  if (text.trim() !== "") return parseJson(text);
  if (route.bodyOptional) return {};
  throw new MinutehandError("bad-request", "the request must be a JSON object: its body is empty");
}
