import { MinutehandError } from "../core/errors.ts";
import type { Deadline, Pool } from "../protocol/ports.ts";

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

/**
 * Gives each write of a pool the deadline of its caller or `end()`, whichever is earlier. `end` is called when a write begins, and
 * answers ms since the epoch. Reads stay as they are.
 */
export function withWriteDeadline(pool: Pool, end: () => Deadline): Pool {
  const by = (asked: Deadline): Deadline => Math.min(asked, end());
  return {
    read: (keys) => pool.read(keys),
    page: (...asked) => pool.page(...asked),
    createdAt: () => pool.createdAt(),
    insert: (items, asked) => pool.insert(items, by(asked)),
    change: (change, asked) => pool.change(change, by(asked)),
    changeMany: (changes, asked, onChanged) => pool.changeMany(changes, by(asked), onChanged),
    transact: (writes, asked) => pool.transact(writes, by(asked)),
    count: (key, amounts, expiresAt, asked) => pool.count(key, amounts, expiresAt, by(asked)),
    remove: (keys, asked) => pool.remove(keys, by(asked)),
  };
}

/**
 * How long after the start of a call the HTTP API tries the call's writes, in ms. The last try may take some seconds, and API Gateway
 * answers an error after 30 s ("Quotas for HTTP APIs"). Such an error would not say which jobs of a batch were written.
 */
export const API_PATIENCE = 20_000;

/**
 * Gives the writes of each call a deadline `patience` ms after the call's `begin`. Only for a process that serves one
 * call at a time. `clock`: ms since the epoch.
 */
export function withDeadlinePerCall(
  pool: Pool,
  clock: () => number,
  patience: number,
): { pool: Pool; begin: () => void } {
  let end = Number.POSITIVE_INFINITY;
  return {
    pool: withWriteDeadline(pool, () => end),
    begin: () => {
      end = clock() + patience;
    },
  };
}
