import { STATUS_CODES } from "node:http";
import { DETAIL_BYTES } from "../core/constants.ts";
import { type ErrorCode, MinutehandError } from "../core/errors.ts";
import { truncate } from "../general/text.ts";
import type { Problem } from "./answers/problem.ts";

/** The others arise in the client only. */
export type ProblemCode = Exclude<ErrorCode, "forbidden" | "bad-answer">;

export const STATUS: Readonly<Record<ProblemCode, number>> = {
  "bad-request": 400,
  "unknown-topic": 404,
  "job-not-found": 404,
  "schedule-not-found": 404,
  "not-found": 404,
  "method-not-allowed": 405,
  "job-already-exists": 409,
  "job-running": 409,
  "job-finished": 409,
  "job-not-dead": 409,
  "untracked-topic": 409,
  "not-a-pull-topic": 409,
  "runaway-chain": 409,
  "claim-lost": 409,
  "changed-meanwhile": 412,
  "too-large": 413,
  "too-many-jobs": 413,
  "idempotency-mismatch": 422,
  "too-many-filed": 429,
  internal: 500,
  unavailable: 503,
};

const INTERNAL = "Minutehand failed with an internal error, which is in its log";
// The error's own message can contain AWS's text with names of queues and accounts.
const UNAVAILABLE =
  "an AWS service did not answer in time, or other calls kept changing the job, key, schedule or pause. Nothing was acknowledged: repeat the call";

/** RFC 9457. */
export function problem(
  code: ProblemCode,
  detail: string,
  data: Readonly<Record<string, unknown>> = {},
): Problem {
  const status = STATUS[code];
  const title = STATUS_CODES[status] ?? "Error";
  // A detail may quote the request.
  return { ...data, type: "about:blank", title, status, detail: truncate(detail, DETAIL_BYTES), code };
}

/** An error that is not a `MinutehandError` can contain secrets, so it is only logged. */
export function problemOf(thrown: unknown): Problem {
  if (!(thrown instanceof MinutehandError)) return problem("internal", INTERNAL);
  const { code, message, data } = thrown;
  if (code === "forbidden" || code === "bad-answer") return problem("internal", INTERNAL);
  // If this version cannot read an item, Minutehand itself wrote the message.
  if (code === "unavailable") return problem(code, "unreadable" in data ? message : UNAVAILABLE, data);
  return problem(code, message, data);
}
