import * as z from "zod/mini";
import { BATCH_BYTES } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import type { Logs } from "../core/log-groups.ts";
import { refusal, ruleOf } from "./issues.ts";
import type { Call, Route, Service } from "./route.ts";

/** Parses `input` by `schema`. Throws `bad-request` with every rule that the input breaks. */
export function validate<T>(schema: z.ZodMiniType<T>, input: unknown, where: string): T {
  const result = z.safeParse(schema, input, { error: ruleOf });
  if (result.success) return result.data;
  throw refusal(result.error.issues, input, where);
}

const NOTHING = z.strictObject({});

/** Reads a request to a route and validates its parts. Throws `bad-request` or `too-large`. */
export async function readCall(
  route: Route,
  request: Request,
  params: Readonly<Record<string, string>>,
  service: Service,
  logs?: Logs,
): Promise<Call<unknown, unknown, unknown, unknown>> {
  const { searchParams, pathname } = new URL(request.url);
  const text = route.body ? await textOf(request) : "";
  return {
    service,
    ctx: service.ctx,
    logs,
    method: route.method,
    path: pathname,
    params: validate(route.params ?? NOTHING, params, "the path"),
    query: validate(route.query ?? NOTHING, queryOf(searchParams), "the query string"),
    headers: route.headers && validate(route.headers, Object.fromEntries(request.headers), "the headers"),
    body: route.body && validate(route.body, bodyOf(text, route), "the request"),
    text,
    signal: request.signal,
  };
}

function queryOf(searchParams: URLSearchParams): Record<string, string> {
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

async function textOf(request: Request): Promise<string> {
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > BATCH_BYTES) {
    throw new MinutehandError(
      "too-large",
      `a request must have at most ${BATCH_BYTES} bytes (3 MiB), got ${bytes.byteLength}`,
    );
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new MinutehandError("bad-request", "the request must be JSON in UTF-8: its bytes are not UTF-8");
  }
}

function bodyOf(text: string, route: Route): unknown {
  if (text.trim() !== "") return parseJson(text);
  if (route.bodyOptional) return {};
  throw new MinutehandError("bad-request", "the request must be a JSON object: its body is empty");
}
