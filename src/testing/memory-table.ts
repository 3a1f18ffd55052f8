import type { Item, Key } from "../core/items.ts";
import { byBytes, storedValue } from "./stored-value.ts";

export type Row = Record<string, unknown>;

/** The rows of one partition by sort key. `keys`: the sort keys in order, `undefined` until a page needs them. */
export type Partition = { readonly rows: Map<string, Row>; keys: string[] | undefined };

export type Table = Map<string, Partition>;

export function findRow(table: Table, key: Key): Row | undefined {
  return table.get(key.pk)?.rows.get(key.sk);
}

export function copyOf(row: Row | undefined): Item | undefined {
  return row && (storedValue(row) as Item);
}

export function putItem(table: Table, item: object): void {
  const row = storedValue(item) as Row & Key;
  assertKey(row);
  const partition = table.get(row.pk) ?? { rows: new Map<string, Row>(), keys: undefined };
  if (!partition.rows.has(row.sk)) partition.keys = undefined;
  partition.rows.set(row.sk, row);
  table.set(row.pk, partition);
}

export function dropItem(table: Table, key: Key): void {
  const partition = table.get(key.pk);
  if (!partition?.rows.delete(key.sk)) return;
  partition.keys = undefined;
  if (partition.rows.size === 0) table.delete(key.pk);
}

export function itemsIn(table: Table): Item[] {
  return [...table]
    .sort(([one], [other]) => byBytes(one, other))
    .flatMap(([, partition]) => sortedKeys(partition).map((sk) => copyOf(partition.rows.get(sk)) as Item));
}

/** The sort keys of a partition between two keys, in order. */
export function keysBetween(partition: Partition, from: string, before: string): string[] {
  return sortedKeys(partition).filter((sk) => byBytes(from, sk) < 0 && byBytes(sk, before) < 0);
}

function sortedKeys(partition: Partition): readonly string[] {
  partition.keys ??= [...partition.rows.keys()].sort(byBytes);
  return partition.keys;
}

export function assertKey({ pk, sk }: Key): void {
  if (typeof pk !== "string" || typeof sk !== "string" || pk === "" || sk === "")
    throw new Error(`pk and sk must be text of at least one character, not ${pk}, ${sk}`);
}
