import type { Deadline, Pool } from "../protocol/ports.ts";

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
