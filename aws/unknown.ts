import { MinutehandError, messageOf } from "../core/errors.ts";
import type { Deadline } from "../protocol/ports.ts";
import type { Connection } from "./connection.ts";
import { assertBefore } from "./deadline.ts";

/** ms. */
const FIRST_WAIT = 25;
const LONGEST_WAIT = 2000;

// The names of an exception, of a batch statement's error and of a cancellation reason differ.
export const UNKNOWN_CODES: ReadonlySet<string> = new Set([
  "TransactionConflict",
  "TransactionConflictException",
  "TransactionInProgressException",
  "ProvisionedThroughputExceeded",
  "ProvisionedThroughputExceededException",
  "ReplicatedWriteConflictException",
  "RequestLimitExceeded",
  "Throttling",
  "ThrottlingError",
  "ThrottlingException",
  "InternalServerError",
  "ServiceUnavailable",
]);

/** Whether a statement's or transaction's code decides nothing: conflict, throttling, trouble of DynamoDB's own. */
export function isUnknownCode(code: string | undefined): boolean {
  return code !== undefined && UNKNOWN_CODES.has(code);
}

/** The HTTP status of a thrown SDK error, if an answer arrived. */
export function statusOf(thrown: unknown): number | undefined {
  const { $metadata, $response } = thrown as {
    $metadata?: { httpStatusCode?: number };
    $response?: { statusCode?: number };
  };
  return $metadata?.httpStatusCode ?? $response?.statusCode;
}

/** Whether the call may have been applied or would be if repeated: nobody can tell from this failure. */
export function isUnknown(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown instanceof MinutehandError) return false;
  if (isUnknownCode(thrown.name)) return true;
  const status = statusOf(thrown);
  return status === undefined ? isNetworkTrouble(thrown) : status >= 500;
}

/** Timeouts of the SDK's and Node's own errors, such as ECONNRESET and EAI_AGAIN. */
function isNetworkTrouble(thrown: Error): boolean {
  const { code } = thrown as { code?: unknown };
  return thrown.name === "TimeoutError" || (typeof code === "string" && /^E[A-Z_]+$/.test(code));
}

/** Waits longer after each of its calls, with jitter, and throws `unavailable` once `by` is reached. */
export function backoffUntil(
  by: Deadline,
  { clock, wait, random }: Connection,
): (cause: unknown) => Promise<void> {
  let longest = FIRST_WAIT;
  return async (cause) => {
    assertBefore(by, clock(), cause);
    const [byte = 0] = random(1);
    await wait(Math.min(longest * (0.5 + byte / 256), Math.max(0, by - clock())));
    longest = Math.min(longest * 2, LONGEST_WAIT);
    assertBefore(by, clock(), cause);
  };
}

/** Calls until the answer is known. From `by` on throws `unavailable`. */
export async function untilKnown<T>(
  by: Deadline,
  connection: Connection,
  call: () => Promise<T>,
): Promise<T> {
  const backoff = backoffUntil(by, connection);
  for (;;) {
    try {
      return await call();
    } catch (thrown) {
      if (!isUnknown(thrown)) throw thrown;
      await backoff(thrown);
    }
  }
}

/** What failed for a reason of the service's own, as callers know it. */
export function unavailable(what: string, cause: unknown): MinutehandError {
  if (cause instanceof MinutehandError) return cause;
  return new MinutehandError("unavailable", `${what}: ${messageOf(cause)}`, {}, cause);
}
