import type { Table } from "./table-store.ts";
import { type Item, sizeOfItem } from "./values.ts";

/** "Read and write operations", DynamoDB Developer Guide. Bytes. */
const READ_UNIT = 4096;
const WRITE_UNIT = 1024;

/** A read that is not strongly consistent costs half. */
export function readUnits(items: readonly (Item | undefined)[], consistent = false): number {
  const bytes = items.reduce((sum, item) => sum + (item ? sizeOfItem(item) : 0), 0);
  return Math.max(1, Math.ceil(bytes / READ_UNIT)) * (consistent ? 1 : 0.5);
}

export function writeUnits(before: Item | undefined, after?: Item | undefined): number {
  const bytes = Math.max(...[before, after].map((item) => (item ? sizeOfItem(item) : 0)));
  return Math.max(1, Math.ceil(bytes / WRITE_UNIT));
}

export function consumed(
  { ReturnConsumedCapacity: asked = "NONE" }: { ReturnConsumedCapacity?: string | undefined },
  units: readonly (readonly [Table, number])[],
  form: "one" | "list" = "one",
): { ConsumedCapacity?: object } {
  if (asked === "NONE") return {};
  const sums = new Map<string, number>();
  for (const [{ name }, some] of units) sums.set(name, (sums.get(name) ?? 0) + some);
  const list = [...sums].map(([TableName, CapacityUnits]) => ({
    TableName,
    CapacityUnits,
    ...(asked === "INDEXES" && { Table: { CapacityUnits } }),
  }));
  return { ConsumedCapacity: form === "list" ? list : (list[0] ?? {}) };
}
