import type { Capacity } from "./capacity.ts";
import type { Row } from "./expressions.ts";
import { problem } from "./service.ts";
import { type Stored, storedTable } from "./stored-table.ts";

export type Settings = {
  clock: () => number;
  createdAt: number;
  /** The most items of a page, in place of DynamoDB's limit of 1 MB. */
  pageItems: number;
  /** If absent, the capacity is unlimited. */
  capacity?: Capacity | undefined;
  onWrite: (before: Row | undefined, after: Row | undefined) => void;
};

const MOST = { statements: 25, keys: 100, writes: 100 };

export type Table = Settings & {
  stored: Stored;
  /** When each token of a transaction was used, ms since the epoch. */
  tokens: Map<string, number>;
};

export function tableOf(settings: Settings): Table {
  return { ...settings, stored: storedTable(), tokens: new Map() };
}

export function write({ stored, onWrite }: Table, key: Row, after: Row | undefined): void {
  const before = stored.get(key);
  if (after) stored.put(after);
  else stored.drop(key);
  onWrite(before, after);
}

export function admits(
  { capacity }: Table,
  what: "read" | "write",
  { pk }: Row,
  ...rows: (Row | undefined)[]
): boolean {
  const bytes = (): number => rows.reduce((sum, row) => sum + bytesOf(row), 0);
  return !capacity || capacity.admits(what, pk?.S ?? "", bytes());
}

export function mustAdmit(...asked: Parameters<typeof admits>): void {
  if (!admits(...asked)) throw throttled();
}

export function throttled(): Error {
  return problem("ProvisionedThroughputExceededException", "simulated");
}

export function mustFit(what: keyof typeof MOST, keys: readonly Row[]): void {
  const distinct = new Set(keys.map(({ pk, sk }) => `${pk?.S} ${sk?.S}`));
  if (keys.length < 1 || keys.length > MOST[what] || distinct.size < keys.length)
    throw problem("ValidationException", `1 to ${MOST[what]} different ${what}, got ${keys.length}`);
}

/** The size of an item, about as DynamoDB counts it: names and values. */
function bytesOf(row: Row | undefined): number {
  return row === undefined ? 0 : JSON.stringify(row).length;
}
