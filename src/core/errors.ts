/** The codes of errors. A code never changes, so a caller can act on it. */
export type ErrorCode =
  | "bad-request"
  | "unknown-topic"
  | "job-not-found"
  | "schedule-not-found"
  | "job-already-exists"
  | "job-running"
  | "job-finished"
  | "job-not-dead"
  | "untracked-topic"
  | "not-a-pull-topic"
  | "claim-lost"
  | "changed-meanwhile"
  | "idempotency-mismatch"
  | "too-large"
  | "too-many-jobs"
  | "too-many-filed"
  | "runaway-chain"
  | "unavailable"
  // Only the HTTP API has these.
  | "not-found"
  | "method-not-allowed"
  | "internal"
  // Only the client has these: for answers that another server gave. `forbidden` also says that the client has no AWS
  // credentials, or that AWS refused a call of a direct client.
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
    // `JSON.stringify` keeps only enumerable properties, and the JSON of an error needs the message. A `toJSON` would hide the error's class from
    // loggers, which would then write no stack.
    Object.defineProperty(this, "message", { enumerable: true });
    this.code = code;
    this.data = data;
  }
}

/** What can happen to a job that was filed untracked. Each refusal of anything else says this. */
export const UNTRACKED_JOBS = "the jobs of an untracked topic only run, are retried, or fail";

/** Makes the error that refuses something for an untracked topic. `what`: what is refused, the first words of the message. */
export function untrackedTopic(topic: string, what: string): MinutehandError {
  return new MinutehandError(
    "untracked-topic",
    `${what} is not possible in topic ${topic}: ${UNTRACKED_JOBS}`,
    { topic },
  );
}

/** Makes the error of a call that other calls have outrun at each try. `what`: what they keep changing. */
export function keepsChanging(what: string, data: Record<string, unknown> = {}): MinutehandError {
  return new MinutehandError("unavailable", `other calls keep changing ${what}; repeat the call`, data);
}

/** Answers anything that was thrown as an `Error`. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown));
}

/** Answers the message of anything that was thrown. Never throws. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    return ownMessageOf(thrown) ?? JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return "an unknown error that has no text";
  }
}

/**
 * Answers the message of an error, or of another object that has one, and its name if the message is empty. `undefined`: the value has no
 * message. An error of another realm, such as a vm context of a test runner, is no `instanceof Error`. Throws what a getter throws.
 */
export function ownMessageOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  const { message, name } = thrown as { message?: unknown; name?: unknown };
  if (typeof message !== "string") return undefined;
  return message || (typeof name === "string" && name) || "an error without a message";
}

/** How many causes `reasonOf` follows. An error can be its own cause. */
const DEEPEST_CAUSE = 8;

/**
 * Answers the message of the error that caused this one, at the end of the chain of causes. If there are several errors, the first
 * one counts. Never throws.
 */
export function reasonOf(thrown: unknown, deeper = DEEPEST_CAUSE): string {
  try {
    const { cause, errors = [cause] } = thrown as { cause?: unknown; errors?: unknown[] };
    if (deeper > 0 && ownMessageOf(errors[0]) !== undefined) return reasonOf(errors[0], deeper - 1);
  } catch {
    // The error has no cause that can be read, so its own message is the reason.
  }
  return messageOf(thrown);
}

/**
 * Makes the error that a caller gets for a job that was not filed. If the job is part of a batch, the other jobs of the batch are
 * unaffected.
 */
export function notFiledError(cause: unknown): MinutehandError {
  if (cause instanceof MinutehandError) return cause;
  return new MinutehandError("unavailable", `the job was not filed: ${messageOf(cause)}`, {}, cause);
}

/**
 * Makes the error that a caller gets for a job that was filed but not sent in time. The job is not acknowledged, although a sweep
 * or the audit sends it later.
 */
export function notSentError(cause: unknown): MinutehandError {
  const why = `the job was filed, but may not have been sent to SQS: ${messageOf(cause)}`;
  return new MinutehandError("unavailable", why, {}, cause);
}
