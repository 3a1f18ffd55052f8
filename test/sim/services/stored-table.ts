import type { Row } from "./expressions.ts";

type Partition = { rows: Map<string, Row>; order: string[] | undefined };

/** Items by key. Keys are ASCII, so their text sorts in the order of its bytes. */
export type Stored = {
  get(key: Row): Row | undefined;
  put(row: Row): void;
  drop(key: Row): void;
  /** Items of a partition with `from ≤ sk ≤ to`, at most `limit`, and whether there are more. */
  between(pk: string, from: string, to: string, limit: number): { rows: Row[]; more: boolean };
  all(): Row[];
};

export function storedTable(): Stored {
  const partitions = new Map<string, Partition>();
  return {
    get: ({ pk, sk }) => partitions.get(text(pk))?.rows.get(text(sk)),
    put(row) {
      const partition = partitions.get(text(row.pk)) ?? { rows: new Map(), order: undefined };
      if (!partition.rows.has(text(row.sk))) partition.order = undefined;
      partition.rows.set(text(row.sk), row);
      partitions.set(text(row.pk), partition);
    },
    drop({ pk, sk }) {
      const partition = partitions.get(text(pk));
      if (!partition?.rows.delete(text(sk))) return;
      partition.order = undefined;
      if (partition.rows.size === 0) partitions.delete(text(pk));
    },
    between(pk, from, to, limit) {
      const partition = partitions.get(pk);
      if (!partition) return { rows: [], more: false };
      partition.order ??= [...partition.rows.keys()].sort();
      const within = partition.order.filter((sk) => from <= sk && sk <= to);
      const rows = within.slice(0, limit).map((sk) => partition.rows.get(sk) as Row);
      return { rows, more: within.length > limit };
    },
    all: () => [...partitions.values()].flatMap(({ rows }) => [...rows.values()]),
  };
}

function text(value: Row[string] | undefined): string {
  if (value?.S === undefined || value.S === "") throw new Error("a key is text of at least one character");
  return value.S;
}
