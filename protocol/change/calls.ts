import { MinutehandError } from "../../core/errors.ts";
import type { Home } from "../../core/items.ts";
import { type CallMark, knownCall } from "../../core/once.ts";

/** Whether this very call has changed a job before. Throws `idempotency-mismatch` if a different one with its key has. */
export function isKnownCall({ id, calls }: Pick<Home, "id" | "calls">, call: CallMark): boolean {
  const known = knownCall(calls, call);
  if (known === "other") throw differentRequest({ id });
  // rule: repeated-call-changes-nothing
  return known;
}

export function differentRequest(data: Record<string, unknown>): MinutehandError {
  return new MinutehandError(
    "idempotency-mismatch",
    "an Idempotency-Key must be used with one request only, but this key was used with a different request",
    data,
  );
}
