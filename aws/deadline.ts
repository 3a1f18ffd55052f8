import { MinutehandError } from "../core/errors.ts";
import type { Deadline } from "../protocol/ports.ts";

type Middleware = <A, R>(next: (args: A) => Promise<R>) => (args: A) => Promise<R>;

/** The part of an SDK command that a deadline uses. */
type Command = {
  middlewareStack: {
    addRelativeTo(
      middleware: Middleware,
      options: { name: string; relation: "after"; toMiddleware: string },
    ): void;
  };
};

/**
 * Makes each try of a command, also each retry by the SDK itself, check the clock before the try is signed. From `by` on, a try throws
 * `unavailable`, which the SDK does not retry.
 */
export function withDeadline<C extends Command>(command: C, by: Deadline, clock: () => number): C {
  command.middlewareStack.addRelativeTo(
    (next) => async (args) => {
      assertBefore(by, clock());
      return next(args);
    },
    { name: "minutehandDeadline", relation: "after", toMiddleware: "retryMiddleware" },
  );
  return command;
}

/** Throws `unavailable` if `now` is at or after `by`. `cause`: the failure of the try before. */
export function assertBefore(by: Deadline, now: number, cause?: unknown): void {
  // rule: writes-have-a-deadline
  if (now < by) return;
  const message = `a write must be issued before its deadline ${by}, but the time is ${now}`;
  throw new MinutehandError("unavailable", message, {}, cause);
}
