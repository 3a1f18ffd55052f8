import type { ServerResponse } from "node:http";
import type { ErrorCode } from "../src/core/errors.ts";

type Headers = Readonly<Record<string, string>>;

/** Why a request is refused. */
export type Refusal = {
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly headers?: Headers;
};

export function answerJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Headers = {},
): void {
  response.writeHead(status, {
    "content-type": "application/json",
    ...headers,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
  });
  response.end(JSON.stringify(body));
}

/** Answers in the form of the API's own problems. */
export function answerProblem(
  response: ServerResponse,
  { status, code, detail, headers = {} }: Refusal,
): void {
  const body = { type: "about:blank", title: code, status, detail, code };
  answerJson(response, status, body, { ...headers, "content-type": "application/problem+json" });
}

/** Answers a problem without reading the request's body. The connection can then carry no other request, so it is closed. */
export function refuse(response: ServerResponse, refusal: Refusal): void {
  response.setHeader("connection", "close");
  answerProblem(response, refusal);
}
