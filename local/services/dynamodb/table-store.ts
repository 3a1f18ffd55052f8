import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { AwsError } from "../aws-error.ts";
import { openDatabase } from "../open-database.ts";
import { type Item, sortKey, type Value } from "./values.ts";

export type KeySchema = readonly { readonly AttributeName: string; readonly KeyType: "HASH" | "RANGE" }[];
export type Index = {
  readonly IndexName: string;
  readonly KeySchema: KeySchema;
  readonly Projection?: { readonly ProjectionType?: string; readonly NonKeyAttributes?: readonly string[] };
};

export type Table = {
  readonly id: number;
  readonly name: string;
  readonly keySchema: KeySchema;
  readonly attributes: readonly { readonly AttributeName: string; readonly AttributeType: "S" | "N" | "B" }[];
  readonly indexes: readonly Index[];
  /** ms since the epoch. */
  readonly createdAt: number;
  /** The attribute with the time, in s, at which an item expires. */
  readonly timeToLive: string | undefined;
};

/** The bounds of a read of one partition. An absent bound is open. */
export type Range = {
  readonly from?: { readonly key: string; readonly including: boolean } | undefined;
  readonly to?: { readonly key: string; readonly including: boolean } | undefined;
  readonly backwards: boolean;
};

/** A crash of the process undoes no write that has returned. For writes inside `together`, `together` must have returned. */
export type TableStore = {
  readonly tables: () => Table[];
  readonly table: (name: string) => Table | undefined;
  readonly createTable: (table: Omit<Table, "id">) => Table;
  readonly setTimeToLive: (table: Table, attribute: string | undefined) => void;
  readonly deleteTable: (table: Table) => void;
  readonly get: (table: Table, key: Item) => Item | undefined;
  readonly put: (table: Table, item: Item) => void;
  readonly remove: (table: Table, key: Item) => void;
  /** The items of a partition in the order of their sort keys. */
  readonly partition: (table: Table, hash: Value, range: Range) => Iterable<Item>;
  /** All items, in the order of their keys, that come after the key `after`. */
  readonly scan: (table: Table, after: Item | undefined) => Iterable<Item>;
  readonly count: (table: Table) => number;
  /** Deletes the items whose time to live is before `now` (ms), and the tokens that have expired. Answers how many items it deleted. */
  readonly deleteExpired: (now: number) => number;
  /** Answers the hash of the request with this token, if its token is known at `now` (ms). */
  readonly transaction: (token: string, now: number) => string | undefined;
  readonly putTransaction: (token: string, hash: string, at: number) => void;
  /** Makes all writes of `act` or, if it throws, none. */
  readonly together: <T>(act: () => T) => T;
  readonly close: () => void;
};

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS tables (id INTEGER PRIMARY KEY AUTOINCREMENT, description TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS items (
    tab INTEGER NOT NULL, hash TEXT NOT NULL, range TEXT NOT NULL, expires REAL, item TEXT NOT NULL,
    PRIMARY KEY (tab, hash, range)) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS expiring ON items (expires) WHERE expires IS NOT NULL;
  CREATE TABLE IF NOT EXISTS transactions (token TEXT PRIMARY KEY, hash TEXT NOT NULL, at REAL NOT NULL)`;

/** "Time to live", DynamoDB Developer Guide: DynamoDB deletes no item whose time is longer ago than this. s. */
const IGNORED_AFTER = 5 * 365 * 24 * 3600;

/** For how long DynamoDB recognises the repeat of a transaction ("TransactWriteItems", API Reference). ms. */
const TOKEN_LIFE = 600_000;

export function tableOf(store: TableStore, name: string): Table {
  const table = store.table(name);
  if (table) return table;
  throw new AwsError(
    "ResourceNotFoundException",
    400,
    `Requested resource not found: Table: ${name} not found`,
  );
}

/** Opens a SQLite file of tables, or keeps them in memory without a file. Throws `LocalError` if the file is broken. */
export function openTableStore(file = ":memory:"): TableStore {
  const database = openDatabase(file, SCHEMA);
  const sql = preparing(database);
  const items = itemsIn(database, sql);
  return {
    ...tablesIn(sql, items),
    ...items,
    ...transactionsIn(sql),
    deleteExpired: (now) => {
      sql("DELETE FROM transactions WHERE at <= ?").run(now - TOKEN_LIFE);
      return items.deleteExpired(now);
    },
    together: (act) => together(database, act),
    close: () => database.close(),
  };
}

type Sql = (text: string) => StatementSync;

function preparing(database: DatabaseSync): Sql {
  const prepared = new Map<string, StatementSync>();
  return (text) => {
    const statement = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, statement);
    return statement;
  };
}

type Tables = Pick<TableStore, "tables" | "table" | "createTable" | "setTimeToLive" | "deleteTable">;
type Items = Pick<TableStore, "get" | "put" | "remove" | "partition" | "scan" | "count" | "deleteExpired">;

function tablesIn(sql: Sql, { scan, put }: Items): Tables {
  const tables = new Map<string, Table>();
  const keep = (table: Table): Table => {
    tables.set(table.name, table);
    return table;
  };
  for (const { id, description } of sql("SELECT id, description FROM tables").all())
    keep({ ...JSON.parse(String(description)), id: Number(id) });
  return {
    tables: () => [...tables.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    table: (name) => tables.get(name),
    createTable: (table) => {
      const { lastInsertRowid } = sql("INSERT INTO tables (description) VALUES (?)").run(
        JSON.stringify(table),
      );
      return keep({ ...table, id: Number(lastInsertRowid) });
    },
    setTimeToLive: (table, attribute) => {
      const { id, ...description } = { ...table, timeToLive: attribute };
      sql("UPDATE tables SET description = ? WHERE id = ?").run(JSON.stringify(description), id);
      const changed = keep({ ...description, id });
      for (const item of [...scan(changed, undefined)]) put(changed, item);
    },
    deleteTable: ({ id, name }) => {
      sql("DELETE FROM items WHERE tab = ?").run(id);
      sql("DELETE FROM tables WHERE id = ?").run(id);
      tables.delete(name);
    },
  };
}

function itemsIn(database: DatabaseSync, sql: Sql): Items {
  // A prepared statement can be read once at a time, and the caller may stop or write in between.
  function* read({ text, parameters }: Reading): Iterable<Item> {
    for (const { item } of database.prepare(text).iterate(...parameters)) yield JSON.parse(String(item));
  }
  return {
    get: (table, key) => {
      const found = sql("SELECT item FROM items WHERE tab = ? AND hash = ? AND range = ?").get(
        table.id,
        ...keyOf(table, key),
      );
      return found && JSON.parse(String(found.item));
    },
    put: (table, item) => {
      const expires = Number(item[table.timeToLive ?? ""]?.N ?? Number.NaN);
      sql("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)").run(
        table.id,
        ...keyOf(table, item),
        Number.isFinite(expires) ? expires : null,
        JSON.stringify(item),
      );
    },
    remove: (table, key) =>
      void sql("DELETE FROM items WHERE tab = ? AND hash = ? AND range = ?").run(
        table.id,
        ...keyOf(table, key),
      ),
    partition: (table, hash, range) => read(partitionReading(table, hash, range)),
    scan: (table, after) => read(scanReading(table, after)),
    count: ({ id }) => Number(sql("SELECT count(*) AS n FROM items WHERE tab = ?").get(id)?.n),
    deleteExpired: (now) => {
      const seconds = now / 1000;
      const { changes } = sql("DELETE FROM items WHERE expires < ? AND expires > ?").run(
        seconds,
        seconds - IGNORED_AFTER,
      );
      return Number(changes);
    },
  };
}

type Reading = { readonly text: string; readonly parameters: readonly SQLInputValue[] };

function partitionReading(table: Table, hash: Value, { from, to, backwards }: Range): Reading {
  const bounds = [
    ...(from ? [{ term: `range ${from.including ? ">=" : ">"} ?`, key: from.key }] : []),
    ...(to ? [{ term: `range ${to.including ? "<=" : "<"} ?`, key: to.key }] : []),
  ];
  const where = ["tab = ?", "hash = ?", ...bounds.map(({ term }) => term)].join(" AND ");
  return {
    text: `SELECT item FROM items WHERE ${where} ORDER BY range ${backwards ? "DESC" : "ASC"}`,
    parameters: [table.id, sortKey(hash) ?? "", ...bounds.map(({ key }) => key)],
  };
}

function scanReading(table: Table, after: Item | undefined): Reading {
  const where = after ? "tab = ? AND (hash, range) > (?, ?)" : "tab = ?";
  return {
    text: `SELECT item FROM items WHERE ${where} ORDER BY hash, range`,
    parameters: [table.id, ...(after ? keyOf(table, after) : [])],
  };
}

function transactionsIn(sql: Sql): Pick<TableStore, "transaction" | "putTransaction"> {
  return {
    transaction: (token, now) => {
      const since = now - TOKEN_LIFE;
      const known = sql("SELECT hash FROM transactions WHERE token = ? AND at > ?").get(token, since);
      return known && String(known.hash);
    },
    putTransaction: (token, hash, at) => {
      sql("INSERT OR REPLACE INTO transactions VALUES (?, ?, ?)").run(token, hash, at);
    },
  };
}

function together<T>(database: DatabaseSync, act: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = act();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function keyOf({ keySchema }: Table, item: Item): [string, string] {
  const [hash, range] = keySchema.map(({ AttributeName }) => sortKey(item[AttributeName] ?? {}) ?? "");
  return [hash ?? "", range ?? ""];
}
