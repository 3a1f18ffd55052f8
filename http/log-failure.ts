import { MinutehandError, messageOf } from "../core/errors.ts";
import type { Service } from "./route.ts";

/** Logs what made a call fail, unless the caller made the error. */
export function logFailure(log: Service["log"], thrown: unknown): void {
  if (!(thrown instanceof MinutehandError)) log.error("a request failed", bare(thrown as Error));
  else if (thrown.code === "unavailable") log.warn("a request was not served", { error: messageOf(thrown) });
}

/**
 * Copies the fields of an error that may be logged. The logger writes every field. An error of AWS contains the item that
 * failed a condition, with the job's body and the token of its claim.
 */
function bare({ name, message, stack }: Error): Error {
  return Object.assign(new Error(message), { name, stack });
}
