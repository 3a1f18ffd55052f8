import type { Deadline, Pool } from "./ports.ts";

/** The same pool, but that no write is issued from `end()` on (ms since the epoch), however long its caller would try. */
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
