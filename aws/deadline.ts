import { MinutehandError } from "../core/errors.ts";
import type { Deadline } from "../protocol/ports.ts";

type Middleware = <A, R>(next: (args: A) => Promise<R>) => (args: A) => Promise<R>;

/** As much of an SDK command as a deadline needs. */
type Command = {
  middlewareStack: {
    addRelativeTo(
      middleware: Middleware,
      options: { name: string; relation: "after"; toMiddleware: string },
    ): void;
  };
};

/**
 * Makes every try of a command, the SDK's own repeats too, look at the clock before it is signed. From
 * `by` on it throws `unavailable` instead, which the SDK does not repeat.
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

/** Throws `unavailable` when `now` is at or after `by`; `cause` is why the write is still to be issued. */
export function assertBefore(by: Deadline, now: number, cause?: unknown): void {
  // rule: writes-have-a-deadline
  if (now < by) return;
  const message = `a write must be issued before its deadline ${by}, but it is ${now}`;
  throw new MinutehandError("unavailable", message, {}, cause);
}
