import { STATUS_CODES } from "node:http";
import { type ErrorCode, MinutehandError } from "../core/errors.ts";
import type { Problem } from "./answers.ts";

/** What an answer can say went wrong. */
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
  "job-handed-off": 409,
  "untracked-topic": 409,
  "not-a-pull-topic": 409,
  "claim-lost": 409,
  "too-large": 413,
  "too-many-jobs": 413,
  "idempotency-mismatch": 422,
  internal: 500,
  unavailable: 503,
};

const INTERNAL = "Minutehand failed with an internal error, which is in its log";
// Its message may carry the words of AWS, with names of queues and accounts.
const UNAVAILABLE =
  "an AWS service did not take the request in time, or the job, key, schedule or pause kept changing; nothing was acknowledged: repeat the call";

/** Problem details for HTTP APIs (RFC 9457). */
export function problem(
  code: ProblemCode,
  detail: string,
  data: Readonly<Record<string, unknown>> = {},
): Problem {
  const status = STATUS[code];
  return { ...data, type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, detail, code };
}

/** What a caller is told of anything thrown; what is no `MinutehandError` is nobody's business. */
export function problemOf(thrown: unknown): Problem {
  if (!(thrown instanceof MinutehandError)) return problem("internal", INTERNAL);
  const { code, message, data } = thrown;
  if (code === "forbidden" || code === "bad-answer") return problem("internal", INTERNAL);
  // What cannot be read is said in our own words.
  if (code === "unavailable") return problem(code, "unreadable" in data ? message : UNAVAILABLE, data);
  return problem(code, message, data);
}
