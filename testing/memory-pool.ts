import { MinutehandError } from "../core/errors.ts";
import { ITEM_VERSION, type Item, type Key } from "../core/items.ts";
import { newerCounters } from "../core/readable.ts";
import type {
  Change,
  Changed,
  Deadline,
  Expected,
  Page,
  Pool,
  Transacted,
  Write,
} from "../protocol/ports.ts";
import { byBytes, storedValue } from "./stored-value.ts";

type Row = Record<string, unknown>;

/** The rows of one partition by sort key. `keys`: the sort keys in order, `undefined` until a page needs them. */
type Partition = { readonly rows: Map<string, Row>; keys: string[] | undefined };

/** One call, or one entry of a batch, because each entry of a batch can fail alone. */
export type PoolCall = { readonly operation: keyof Pool; readonly keys: readonly Key[] };

/**
 * Functions that a test can set to make calls fail. If `before` throws, the call is not applied. If `after` throws, the call is applied
 * and its answer is lost. In a batch, a thrown `MinutehandError` becomes the error of the entry. Other errors reject the batch.
 */
export type PoolHooks = {
  before?: (call: PoolCall) => void | Promise<void>;
  after?: (call: PoolCall) => void | Promise<void>;
};

export type MemoryPool = Pool & {
  readonly hooks: PoolHooks;
  /** Copies of all items, in the order of their keys. */
  items(): Item[];
  /** The partition keys, in no particular order. */
  partitions(): Iterable<string>;
  holds(pk: string): boolean;
  /** Stores an item, and replaces an item with the same key. */
  put(item: Item): void;
};

/** How many writes one `TransactWriteItems` takes. */
const TRANSACTION_WRITES = 100;

/** Creates a job pool in memory with DynamoDB's semantics. `clock` and `createdAt` are ms since the epoch. */
export function memoryPool({
  clock,
  createdAt = clock(),
}: {
  clock: () => number;
  createdAt?: number;
}): MemoryPool {
  const partitions = new Map<string, Partition>();
  const hooks: PoolHooks = {};

  const find = (key: Key): Row | undefined => partitions.get(key.pk)?.rows.get(key.sk);
  const copyOf = (row: Row | undefined): Item | undefined => row && (storedValue(row) as Item);

  const put = (item: object): void => {
    const row = storedValue(item) as Row & Key;
    assertKey(row);
    const partition = partitions.get(row.pk) ?? { rows: new Map<string, Row>(), keys: undefined };
    if (!partition.rows.has(row.sk)) partition.keys = undefined;
    partition.rows.set(row.sk, row);
    partitions.set(row.pk, partition);
  };

  const drop = (key: Key): void => {
    const partition = partitions.get(key.pk);
    if (!partition?.rows.delete(key.sk)) return;
    partition.keys = undefined;
    if (partition.rows.size === 0) partitions.delete(key.pk);
  };

  const apply = (change: Change): void => {
    const next: Row = { ...find(change.key), ...(storedValue(change.set) as Row) };
    for (const name of change.remove ?? []) delete next[name];
    put({ ...next, ...change.key });
  };

  const keysOf = (partition: Partition): readonly string[] => {
    partition.keys ??= [...partition.rows.keys()].sort(byBytes);
    return partition.keys;
  };

  /** Performs a single call or one entry of a batch: hook, deadline, effect, hook. */
  const perform = async <T>(call: PoolCall, by: Deadline | undefined, effect: () => T): Promise<T> => {
    for (const key of call.keys) assertKey(key);
    await hooks.before?.(call);
    const now = clock();
    if (by !== undefined && now >= by)
      throw new MinutehandError(
        "unavailable",
        `a ${call.operation} must be issued before ${by}, but it is ${now}`,
      );
    const result = effect();
    await hooks.after?.(call);
    return result;
  };

  const change = (wanted: Change, by: Deadline, operation: keyof Pool): Promise<Changed> => {
    assertChange(wanted);
    return perform({ operation, keys: [wanted.key] }, by, () => {
      const row = find(wanted.key);
      if (!holds(row, wanted.expect)) return { changed: false, item: copyOf(row) };
      apply(wanted);
      return { changed: true, item: copyOf(find(wanted.key)) as Item };
    });
  };

  return {
    hooks,
    put,
    partitions: () => partitions.keys(),
    holds: (pk) => partitions.has(pk),
    items: () =>
      [...partitions]
        .sort(([one], [other]) => byBytes(one, other))
        .flatMap(([, partition]) => keysOf(partition).map((sk) => copyOf(partition.rows.get(sk)) as Item)),

    read: (keys) =>
      perform({ operation: "read", keys }, undefined, () => keys.map((key) => copyOf(find(key)))),

    async insert(items, by) {
      return eachAlone(items, (item) => {
        const call: PoolCall = { operation: "insert", keys: [{ pk: item.pk, sk: item.sk }] };
        return perform(call, by, () => {
          if (find(item) !== undefined) return "exists" as const;
          put(item);
          return "inserted" as const;
        });
      });
    },

    change: async (wanted, by) => change(wanted, by, "change"),

    async changeMany(changes, by) {
      assertDistinct(changes.map(({ key }) => key));
      for (const { remove } of changes)
        if (remove !== undefined) throw new Error("changeMany cannot remove attributes: use change");
      return eachAlone(changes, async (wanted) => {
        const { changed } = await change(wanted, by, "changeMany");
        return changed ? ("changed" as const) : ("refused" as const);
      });
    },

    async transact(writes, by) {
      const keys = writes.map(keyOf);
      assertDistinct(keys);
      if (writes.length > TRANSACTION_WRITES)
        throw new Error(`a transaction has at most ${TRANSACTION_WRITES} writes, not ${writes.length}`);
      return perform({ operation: "transact", keys }, by, (): Transacted => {
        const refused = writes.map((write) => {
          const row = find(keyOf(write));
          return allows(write, row) ? (false as const) : copyOf(row);
        });
        if (refused.some((entry) => entry !== false)) return { done: false, refused };
        for (const write of writes) {
          if ("insert" in write) put(write.insert);
          if ("change" in write) apply(write.change);
        }
        return { done: true };
      });
    },

    page: (pk, from, before, limit) =>
      perform({ operation: "page", keys: [] }, undefined, (): Page => {
        const partition = partitions.get(pk);
        if (!partition) return { items: [], more: false };
        const between = keysOf(partition).filter((sk) => byBytes(from, sk) < 0 && byBytes(sk, before) < 0);
        const items = between.slice(0, limit).map((sk) => copyOf(partition.rows.get(sk)) as Item);
        return { items, more: between.length > limit };
      }),

    count: (key, amounts, expiresAt, by) =>
      perform({ operation: "count", keys: [key] }, by, () => {
        const row = find(key) ?? { v: ITEM_VERSION };
        if (row.v !== ITEM_VERSION) throw newerCounters(key);
        const sums = Object.entries(amounts).map(
          ([name, amount]) => [name, Number(row[name] ?? 0) + amount] as const,
        );
        const { pk, sk } = key;
        put({ ...row, ...Object.fromEntries(sums), pk, sk, v: ITEM_VERSION, expiresAt });
        return Object.fromEntries(sums);
      }),

    async remove(keys, by) {
      for (const key of keys) await perform({ operation: "remove", keys: [key] }, by, () => drop(key));
    },

    createdAt: () => perform({ operation: "createdAt", keys: [] }, undefined, () => createdAt),
  };
}

async function eachAlone<T, R>(
  entries: readonly T[],
  work: (entry: T) => Promise<R>,
): Promise<(R | MinutehandError)[]> {
  const results: (R | MinutehandError)[] = [];
  for (const entry of entries) {
    try {
      results.push(await work(entry));
    } catch (thrown) {
      if (!(thrown instanceof MinutehandError)) throw thrown;
      results.push(thrown);
    }
  }
  return results;
}

function keyOf(write: Write): Key {
  if ("insert" in write) return { pk: write.insert.pk, sk: write.insert.sk };
  return "change" in write ? write.change.key : write.check.key;
}

function allows(write: Write, row: Row | undefined): boolean {
  if ("insert" in write) return row === undefined;
  if ("change" in write) return holds(row, write.change.expect);
  return write.check.expect === "absent" ? row === undefined : holds(row, write.check.expect);
}

function holds(row: Row | undefined, expect: Expected): boolean {
  if (row?.v !== ITEM_VERSION) return false;
  return Object.entries(expect).every(([name, value]) => row[name] === value);
}

function assertKey({ pk, sk }: Key): void {
  if (typeof pk !== "string" || typeof sk !== "string" || pk === "" || sk === "")
    throw new Error(`pk and sk must be text of at least one character, not ${pk}, ${sk}`);
}

function assertChange({ set, remove = [] }: Change): void {
  const names = [...Object.keys(set), ...remove];
  if (names.includes("pk") || names.includes("sk")) throw new Error("a change cannot move an item's key");
  if (names.length === 0) throw new Error("a change must set or remove at least one attribute");
  if (new Set(names).size < names.length)
    throw new Error("a change cannot both set and remove the same attribute");
}

function assertDistinct(keys: readonly Key[]): void {
  const distinct = new Set(keys.map(({ pk, sk }) => JSON.stringify([pk, sk])));
  if (distinct.size < keys.length) throw new Error("the keys of one call must differ");
}
