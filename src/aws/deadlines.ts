import { MinutehandError } from "../core/errors.ts";
import type { Deadline, Pool } from "../protocol/ports.ts";

type Middleware = <A, R>(next: (args: A) => Promise<R>) => (args: A) => Promise<R>;

type Command = {
  middlewareStack: {
    addRelativeTo(
      middleware: Middleware,
      options: { name: string; relation: "after"; toMiddleware: string },
    ): void;
  };
};

/** Makes each try, also each retry by the SDK, check the clock before it is signed. The SDK does not retry this `unavailable`. */
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

export function assertBefore(by: Deadline, now: number, cause?: unknown): void {
  // rule: writes-have-a-deadline
  if (now < by) return;
  const message = `a write must be issued before its deadline ${by}, but the time is ${now}`;
  throw new MinutehandError("unavailable", message, {}, cause);
}

/** Gives each write the deadline of its caller or `end()`, ms since the epoch, whichever is earlier. */
export function withWriteDeadline(pool: Pool, end: () => Deadline): Pool {
  const by = (asked: Deadline): Deadline => Math.min(asked, end());
  return {
    read: (keys) => pool.read(keys),
    page: (...asked) => pool.page(...asked),
    scan: (...asked) => pool.scan(...asked),
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
 * How long after the start of a call the HTTP API tries the call's writes, ms. The last try may take some seconds. After 30 s API Gateway answers an error ("Quotas for HTTP APIs"), which would not say which
 * jobs of a batch were written.
 */
export const API_PATIENCE = 20_000;

/** Gives writes a deadline `patience` ms after the last `begin`. Only for a process that serves one call at a time. */
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
