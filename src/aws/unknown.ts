import { MinutehandError, messageOf } from "../core/errors.ts";
import type { Deadline } from "../protocol/ports.ts";
import type { Connection } from "./connection.ts";
import { assertBefore } from "./deadlines.ts";

/** The first and the longest wait between tries, in ms, before jitter multiplies a wait by 0.5 to 1.5. */
const FIRST_WAIT = 25;
const LONGEST_WAIT = 2000;

/** Codes after which a write may have taken effect. Exceptions, statements and cancellations name the same failure differently. */
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

export function isUnknownCode(code: string | undefined): boolean {
  return code !== undefined && UNKNOWN_CODES.has(code);
}

/** `undefined` if no answer arrived. */
export function statusOf(thrown: unknown): number | undefined {
  const { $metadata, $response } = thrown as {
    $metadata?: { httpStatusCode?: number };
    $response?: { statusCode?: number };
  };
  return $metadata?.httpStatusCode ?? $response?.statusCode;
}

/** The call may have taken effect, or the next try may succeed. */
export function isUnknown(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown instanceof MinutehandError) return false;
  if (isUnknownCode(thrown.name)) return true;
  const status = statusOf(thrown);
  if (status === undefined) return isNetworkTrouble(thrown);
  // An answer with success can break off in its body.
  return status >= 500 || status < 300;
}

/** A timeout of the SDK, or an error of Node such as ECONNRESET or EAI_AGAIN. */
function isNetworkTrouble(thrown: Error): boolean {
  const { code } = thrown as { code?: unknown };
  return thrown.name === "TimeoutError" || (typeof code === "string" && /^E[A-Z_]+$/.test(code));
}

/** Waits before the next try. From `by` on, throws `unavailable`. */
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

/** `what`: what the service did not do. A `MinutehandError` is answered unchanged. */
export function unavailable(what: string, cause: unknown): MinutehandError {
  if (cause instanceof MinutehandError) return cause;
  return new MinutehandError("unavailable", `${what}: ${messageOf(cause)}`, {}, cause);
}
