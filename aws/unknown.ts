import { MinutehandError, messageOf } from "../core/errors.ts";
import type { Deadline } from "../protocol/ports.ts";
import type { Connection } from "./connection.ts";
import { assertBefore } from "./deadlines.ts";

/** The first and the longest wait between tries, in ms, before jitter. Jitter multiplies a wait by 0.5 to 1.5. */
const FIRST_WAIT = 25;
const LONGEST_WAIT = 2000;

/**
 * Codes after which it is unknown whether a write took effect. The same failure may have one code in an exception, and another code in
 * the answer to a batch statement or in the reason why a transaction was cancelled.
 */
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

/** Whether this code leaves a statement or transaction undecided: the code of a conflict, throttling, or an internal error of DynamoDB. */
export function isUnknownCode(code: string | undefined): boolean {
  return code !== undefined && UNKNOWN_CODES.has(code);
}

/** The HTTP status of an SDK error. `undefined` if no answer arrived. */
export function statusOf(thrown: unknown): number | undefined {
  const { $metadata, $response } = thrown as {
    $metadata?: { httpStatusCode?: number };
    $response?: { statusCode?: number };
  };
  return $metadata?.httpStatusCode ?? $response?.statusCode;
}

/** Whether to retry a call after this failure: the call may already have taken effect, or the next try may succeed. */
export function isUnknown(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown instanceof MinutehandError) return false;
  if (isUnknownCode(thrown.name)) return true;
  const status = statusOf(thrown);
  if (status === undefined) return isNetworkTrouble(thrown);
  // An answer with a status of success can break off in its body, so that the SDK cannot read it.
  return status >= 500 || status < 300;
}

/** Whether an error is a timeout of the SDK, or a network error of Node such as ECONNRESET or EAI_AGAIN. */
function isNetworkTrouble(thrown: Error): boolean {
  const { code } = thrown as { code?: unknown };
  return thrown.name === "TimeoutError" || (typeof code === "string" && /^E[A-Z_]+$/.test(code));
}

/** Makes a function that waits before the next try, with exponential backoff and jitter. From `by` on, it throws `unavailable`. */
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

/** Retries a call while its outcome is unknown. From `by` on, throws `unavailable`. */
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

/**
 * The error for a service that did not do its work. `what`: says what the service did not do. In the error's text, the cause follows. A
 * cause that is a `MinutehandError` is answered unchanged.
 */
export function unavailable(what: string, cause: unknown): MinutehandError {
  if (cause instanceof MinutehandError) return cause;
  return new MinutehandError("unavailable", `${what}: ${messageOf(cause)}`, {}, cause);
}
