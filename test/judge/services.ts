import { messageOf } from "../../src/core/errors.ts";
import type { Key } from "../../src/core/items.ts";
import type { Change, Pool, Queues, Write } from "../../src/protocol/ports.ts";
import type { MemoryPool } from "../../src/testing/memory-pool.ts";
import type { MemoryQueues } from "../../src/testing/memory-queues.ts";
import type { Link } from "./link.ts";

/** The link has judged the deadline already, by the clock of the process. */
const ANY_TIME = Number.POSITIVE_INFINITY;
/** A deadline that has passed: the pool answers such an entry of a batch as it answers each entry that fails. */
const TOO_LATE = 0;

/** The job pool as one process sees it. Each entry of a batch has a fate of its own. */
export function linkedPool(pool: MemoryPool, { call }: Link): Pool {
  const apart = async <E, R>(
    name: string,
    entries: readonly E[],
    keyOf: (entry: E) => Key,
    by: number,
    write: (entry: E, by: number) => Promise<R[]>,
  ): Promise<R[]> => {
    const results = entries.map((entry) =>
      call({ name, keys: [keyOf(entry)], by }, () => write(entry, ANY_TIME)).catch(() =>
        write(entry, TOO_LATE),
      ),
    );
    return (await Promise.all(results)).flat();
  };
  return {
    read: (keys) => call({ name: "read", keys }, () => pool.read(keys)),
    insert: (items, by) => apart("insert", items, keyIn, by, (item, until) => pool.insert([item], until)),
    change: (change, by) =>
      call({ name: "change", keys: [change.key], by }, () => pool.change(change, ANY_TIME)),
    changeMany: (changes, by) =>
      apart("change", changes, keyOfChange, by, (change, until) => pool.changeMany([change], until)),
    transact: (writes, by) =>
      call({ name: "transact", keys: writes.map(keyOfWrite), by }, () => pool.transact(writes, ANY_TIME)),
    page: (pk, ...range) => call({ name: "page", keys: [{ pk, sk: "" }] }, () => pool.page(pk, ...range)),
    count: (key, amounts, expiresAt, by) =>
      call({ name: "count", keys: [key], by }, () => pool.count(key, amounts, expiresAt, ANY_TIME)),
    remove: (keys, by) =>
      call({ name: "remove", keys: keys.map(keyIn), by }, () => pool.remove(keys, ANY_TIME)),
    scan: (after, limit) => call({ name: "scan", keys: [] }, () => pool.scan(after, limit)),
    createdAt: () => pool.createdAt(),
  };
}

export function linkedQueues(queues: MemoryQueues, { call }: Link): Queues {
  const to = <T>(name: string, effect: () => Promise<T>): Promise<T> =>
    call({ name: `queue.${name}`, keys: [] }, effect);
  return {
    send: (queue, messages) =>
      to("send", () => queues.send(queue, messages)).catch((error) =>
        messages.map(() => ({ outcome: "unreachable", reason: messageOf(error) })),
      ),
    receive: (queue, options) => to("receive", () => queues.receive(queue, options)),
    remove: (queue, handles) => to("remove", () => queues.remove(queue, handles)),
    hide: (queue, messages) => to("hide", () => queues.hide(queue, messages)),
    depth: (queue) => to("depth", () => queues.depth(queue)),
  };
}

function keyIn({ pk, sk }: Key): Key {
  return { pk, sk };
}

function keyOfChange({ key }: Change): Key {
  return key;
}

function keyOfWrite(write: Write): Key {
  if ("insert" in write) return keyIn(write.insert);
  if ("change" in write) return write.change.key;
  return "remove" in write ? write.remove.key : write.check.key;
}
