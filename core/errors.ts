/** The codes of errors. A code never changes, so a caller can act on it. */
export type ErrorCode =
  | "bad-request"
  | "unknown-topic"
  | "job-not-found"
  | "schedule-not-found"
  | "job-already-exists"
  | "job-running"
  | "job-finished"
  | "job-handed-off"
  | "untracked-topic"
  | "not-a-pull-topic"
  | "claim-lost"
  | "idempotency-mismatch"
  | "too-large"
  | "too-many-jobs"
  | "unavailable"
  // Only of the HTTP API.
  | "not-found"
  | "method-not-allowed"
  | "internal"
  // Only of the client, for answers that another server gave.
  | "forbidden"
  | "bad-answer";

/**
 * An error of Minutehand. The message names the rule, the value and what is allowed. The HTTP answer contains the fields of
 * `data` too.
 */
export class MinutehandError extends Error {
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>>;
  /** The status of the HTTP answer. Absent if there was no answer. */
  status?: number;

  constructor(code: ErrorCode, message: string, data: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "MinutehandError";
    this.code = code;
    this.data = data;
  }
}

/** The words of anything thrown. Never throws itself, whatever that is. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    if (thrown instanceof Error && typeof thrown.message === "string") return thrown.message || thrown.name;
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return "an unknown error that has no text";
  }
}

/** As deep as anybody wraps errors; a cause may be its own. */
const DEEPEST_CAUSE = 8;

/** The words of what an error came from; of several things the first's. Never throws itself either. */
export function reasonOf(thrown: unknown, deeper = DEEPEST_CAUSE): string {
  try {
    const { cause, errors = [cause] } = thrown as { cause?: unknown; errors?: unknown[] };
    if (deeper > 0 && errors[0] instanceof Error) return reasonOf(errors[0], deeper - 1);
  } catch {
    // Then its own words are all there is.
  }
  return messageOf(thrown);
}

/** What kept one job of a batch from being filed or changed, as callers know it: the trouble of one job is no other's. */
export function notFiled(cause: unknown): MinutehandError {
  if (cause instanceof MinutehandError) return cause;
  return new MinutehandError("unavailable", `the job was not filed: ${messageOf(cause)}`, {}, cause);
}

/** What kept a job from being sent in time, which is filed: the audit, or a sweep, will find it. So it is not acknowledged. */
export function notSent(cause: unknown): MinutehandError {
  const why = `the job was filed, but may not have been sent to SQS: ${messageOf(cause)}`;
  return new MinutehandError("unavailable", why, {}, cause);
}
