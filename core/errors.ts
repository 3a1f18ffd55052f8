/** What a caller can do something about, by a name that never changes. */
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
  // HTTP's own.
  | "not-found"
  | "method-not-allowed"
  | "internal"
  // The client's, of answers that are not the API's.
  | "forbidden"
  | "bad-answer";

/**
 * An answer that is not the one asked for. The message names the rule, the value and what is allowed.
 * `data` goes into the HTTP answer beside it.
 */
export class MinutehandError extends Error {
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>>;
  /** Of the HTTP answer that said so; absent where there was none. */
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
    return "something that cannot be put into words";
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
  const why = `the job was filed, but perhaps not sent: ${messageOf(cause)}`;
  return new MinutehandError("unavailable", why, {}, cause);
}
