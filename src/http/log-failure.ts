import { MinutehandError, messageOf } from "../core/errors.ts";
import type { Service } from "./route.ts";

/** Logs a failure of a call, unless the caller made the error. */
export function logFailure(log: Service["log"], thrown: unknown): void {
  if (!(thrown instanceof MinutehandError)) log.error("a request failed", bare(thrown as Error));
  else if (thrown.code === "unavailable") log.warn("a request was not served", { error: messageOf(thrown) });
}

/** The logger writes every field, and an error of AWS contains the item that failed a condition: with its body and the token of its claim. */
function bare({ name, message, stack }: Error): Error {
  return Object.assign(new Error(message), { name, stack });
}
