import { MinutehandError } from "../../core/errors.ts";
import type { Home } from "../../core/items.ts";
import { type CallMark, knownCall } from "../../core/once.ts";

/**
 * Says whether a try of this call has changed the job before.
 * @throws `idempotency-mismatch`: a different request with the same `Idempotency-Key` has changed the job
 */
export function isKnownCall({ id, calls }: Pick<Home, "id" | "calls">, call: CallMark): boolean {
  const known = knownCall(calls, call);
  if (known === "other") throw differentRequest({ id });
  // rule: repeated-call-changes-nothing
  return known;
}

/** Makes the error for an `Idempotency-Key` that was used with two different requests. */
export function differentRequest(data: Record<string, unknown>): MinutehandError {
  return new MinutehandError(
    "idempotency-mismatch",
    "an Idempotency-Key must be used with one request only, but this key was used with a different request",
    data,
  );
}
