import type { Deadline, Pool } from "../protocol/ports.ts";

/**
 * A pool that gives each write up at an earlier deadline than its caller asks for. `end` is called as a write begins, and answers
 * that deadline: ms since the epoch. Reads are as before.
 */
export function writingUntil(pool: Pool, end: () => Deadline): Pool {
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
 * How long the HTTP API tries the writes of a call, in ms from its begin. The last try takes seconds, and API Gateway gives up after
 * 30 ("Quotas for HTTP APIs"): then nobody would learn what has become of the jobs in other parts of the pool.
 */
export const API_PATIENCE = 20_000;

/**
 * A pool for a function that serves one call at a time: each call's writes are given up `patience` ms after `begin` was called for it,
 * on `clock` (ms since the epoch).
 */
export function writingWithin(
  pool: Pool,
  clock: () => number,
  patience: number,
): { pool: Pool; begin: () => void } {
  let end = Number.POSITIVE_INFINITY;
  return {
    pool: writingUntil(pool, () => end),
    begin: () => {
      end = clock() + patience;
    },
  };
}
