import type { Outcome } from "./execution-environment.ts";

export type HttpAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
};

type Result = {
  statusCode?: unknown;
  headers?: Record<string, unknown> | null;
  cookies?: string[] | null;
  body?: unknown;
  isBase64Encoded?: unknown;
};

/** Headers that Node's server sets itself. */
const OWN_HEADERS = new Set(["connection", "content-length", "keep-alive", "transfer-encoding"]);

/** An answer that API Gateway gives itself, without the function. */
export function gatewayAnswer(status: number, message: string): HttpAnswer {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: Buffer.from(JSON.stringify({ message })),
  };
}

/** Payload format 2.0. */
export function httpAnswer(outcome: Outcome): HttpAnswer {
  if (outcome.outcome === "too-large") return gatewayAnswer(413, "Request Entity Too Large");
  if (outcome.outcome === "timed-out") return gatewayAnswer(503, "Service Unavailable");
  if (outcome.outcome !== "returned") return gatewayAnswer(500, "Internal Server Error");
  const result: Result | string | null = JSON.parse(outcome.payload);
  if (typeof result !== "object" || result?.statusCode === undefined)
    // API Gateway treats a result without a status as the body of a 200.
    return {
      status: 200,
      headers: { "content-type": "application/json" },
      body: Buffer.from(outcome.payload),
    };
  const status = Number(result.statusCode);
  if (!Number.isInteger(status) || status < 100 || status > 599)
    return gatewayAnswer(500, "Internal Server Error");
  const headers: Record<string, string | string[]> = { "content-type": "text/plain;charset=UTF-8" };
  for (const [name, value] of Object.entries(result.headers ?? {}))
    if (!OWN_HEADERS.has(name.toLowerCase())) headers[name.toLowerCase()] = String(value);
  if (result.cookies?.length) headers["set-cookie"] = result.cookies;
  const text = typeof result.body === "string" ? result.body : "";
  return { status, headers, body: Buffer.from(text, result.isBase64Encoded ? "base64" : "utf8") };
}
