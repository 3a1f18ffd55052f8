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
  ScanPage,
  Transacted,
  Write,
} from "../protocol/ports.ts";
import {
  assertKey,
  copyOf,
  dropItem,
  findRow,
  itemsIn,
  keysBetween,
  type Partition,
  putItem,
  type Row,
  type Table,
} from "./memory-table.ts";
import { byBytes, storedValue } from "./stored-value.ts";

/** One call, or one entry of a batch, because each entry of a batch can fail alone. */
export type PoolCall = { readonly operation: keyof Pool; readonly keys: readonly Key[] };

/**
 * If `before` throws, the call is not applied. If `after` throws, its answer is lost. In a batch, a thrown `MinutehandError` becomes the
 * error of the entry, and other errors reject the batch.
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
  put(item: Item): void;
};

/** AWS's limit of one `TransactWriteItems`. */
const TRANSACTION_WRITES = 100;

type State = { readonly table: Table; readonly hooks: PoolHooks; readonly clock: () => number };

/** Creates a job pool in memory with DynamoDB's semantics. `clock` and `createdAt` are ms since the epoch. */
export function memoryPool({
  clock,
  createdAt = clock(),
}: {
  clock: () => number;
  createdAt?: number;
}): MemoryPool {
  const table: Table = new Map();
  const hooks: PoolHooks = {};
  const state = { table, hooks, clock };
  return {
    hooks,
    put: (item) => putItem(table, item),
    partitions: () => table.keys(),
    holds: (pk) => table.has(pk),
    items: () => itemsIn(table),
    read: (keys) =>
      perform(state, { operation: "read", keys }, undefined, () =>
        keys.map((key) => copyOf(findRow(table, key))),
      ),
    insert: (items, by) => insert(state, items, by),
    change: async (wanted, by) => change(state, wanted, by, "change"),
    changeMany: (changes, by) => changeMany(state, changes, by),
    transact: (writes, by) => transact(state, writes, by),
    scan: (after, limit) =>
      perform(state, { operation: "scan", keys: [] }, undefined, () => scanOf(table, after, limit)),
    page: (pk, from, before, limit) =>
      perform(state, { operation: "page", keys: [] }, undefined, () =>
        pageOf(table.get(pk), from, before, limit),
      ),
    count: (key, amounts, expiresAt, by) =>
      perform(state, { operation: "count", keys: [key] }, by, () => addTo(table, key, amounts, expiresAt)),
    async remove(keys, by) {
      for (const key of keys)
        await perform(state, { operation: "remove", keys: [key] }, by, () => dropItem(table, key));
    },
    createdAt: () => perform(state, { operation: "createdAt", keys: [] }, undefined, () => createdAt),
  };
}

async function perform<T>(
  { hooks, clock }: State,
  call: PoolCall,
  by: Deadline | undefined,
  effect: () => T,
): Promise<T> {
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
}

async function insert(
  state: State,
  items: readonly Item[],
  by: Deadline,
): Promise<("inserted" | "exists" | MinutehandError)[]> {
  return eachAlone(items, (item) => {
    const call: PoolCall = { operation: "insert", keys: [{ pk: item.pk, sk: item.sk }] };
    return perform(state, call, by, () => {
      if (findRow(state.table, item) !== undefined) return "exists" as const;
      putItem(state.table, item);
      return "inserted" as const;
    });
  });
}

function change(state: State, wanted: Change, by: Deadline, operation: keyof Pool): Promise<Changed> {
  assertChange(wanted);
  return perform(state, { operation, keys: [wanted.key] }, by, () => {
    const row = findRow(state.table, wanted.key);
    if (!holds(row, wanted.expect)) return { changed: false, item: copyOf(row) };
    apply(state.table, wanted);
    return { changed: true, item: copyOf(findRow(state.table, wanted.key)) as Item };
  });
}

function apply(table: Table, { key, set, remove = [] }: Change): void {
  const next: Row = { ...findRow(table, key), ...(storedValue(set) as Row) };
  for (const name of remove) delete next[name];
  putItem(table, { ...next, ...key });
}

async function changeMany(
  state: State,
  changes: readonly Change[],
  by: Deadline,
): Promise<("changed" | "refused" | MinutehandError)[]> {
  assertDistinct(changes.map(({ key }) => key));
  for (const { remove } of changes)
    if (remove !== undefined) throw new Error("changeMany cannot remove attributes: use change");
  return eachAlone(changes, async (wanted) => {
    const { changed } = await change(state, wanted, by, "changeMany");
    return changed ? ("changed" as const) : ("refused" as const);
  });
}

async function transact(state: State, writes: readonly Write[], by: Deadline): Promise<Transacted> {
  const keys = writes.map(keyOf);
  assertDistinct(keys);
  if (writes.length > TRANSACTION_WRITES)
    throw new Error(`a transaction has at most ${TRANSACTION_WRITES} writes, not ${writes.length}`);
  return perform(state, { operation: "transact", keys }, by, (): Transacted => {
    const refused = writes.map((write) => {
      const row = findRow(state.table, keyOf(write));
      return allows(write, row) ? (false as const) : copyOf(row);
    });
    if (refused.some((entry) => entry !== false)) return { done: false, refused };
    for (const write of writes) {
      if ("insert" in write) putItem(state.table, write.insert);
      if ("change" in write) apply(state.table, write.change);
      if ("remove" in write) dropItem(state.table, write.remove.key);
    }
    return { done: true };
  });
}

function pageOf(partition: Partition | undefined, from: string, before: string, limit: number): Page {
  if (!partition) return { items: [], more: false };
  const between = keysBetween(partition, from, before);
  const items = between.slice(0, limit).map((sk) => copyOf(partition.rows.get(sk)) as Item);
  return { items, more: between.length > limit };
}

/** In the order of the keys, which is as good as DynamoDB's own. */
function scanOf(table: Table, after: Key | undefined, limit: number): ScanPage {
  const rest = itemsIn(table).filter((item) => after === undefined || isBehind(item, after));
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return rest.length > limit && last ? { items, next: { pk: last.pk, sk: last.sk } } : { items };
}

function isBehind({ pk, sk }: Key, after: Key): boolean {
  const order = byBytes(pk, after.pk);
  return order === 0 ? byBytes(sk, after.sk) > 0 : order > 0;
}

function addTo(
  table: Table,
  key: Key,
  amounts: Readonly<Record<string, number>>,
  expiresAt: number,
): Record<string, number> {
  const row = findRow(table, key) ?? { v: ITEM_VERSION };
  if (row.v !== ITEM_VERSION) throw newerCounters(key);
  const sums = Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => [name, Number(row[name] ?? 0) + amount] as const),
  );
  const { pk, sk } = key;
  putItem(table, { ...row, ...sums, pk, sk, v: ITEM_VERSION, expiresAt });
  return sums;
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
  if ("change" in write) return write.change.key;
  return "remove" in write ? write.remove.key : write.check.key;
}

function allows(write: Write, row: Row | undefined): boolean {
  if ("insert" in write) return row === undefined;
  if ("change" in write) return holds(row, write.change.expect);
  if ("remove" in write) return holds(row, write.remove.expect);
  return write.check.expect === "absent" ? row === undefined : holds(row, write.check.expect);
}

function holds(row: Row | undefined, expect: Expected): boolean {
  if (row?.v !== ITEM_VERSION) return false;
  return Object.entries(expect).every(([name, value]) => row[name] === value);
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
