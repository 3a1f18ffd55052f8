import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { Item, Key } from "../core/items.ts";
import type { RandomBytes } from "../core/job-id.ts";
import { newerCounters } from "../core/readable.ts";
import { SIZES } from "../core/work-sizes.ts";
import { inParallel } from "../general/batches.ts";
import type { Change, Changed, Deadline, Pool } from "../protocol/ports.ts";
import { fromAttributes, itemIfAny, toAttributes, toKey } from "./attributes.ts";
import type { Connection } from "./connection.ts";
import { withDeadline } from "./deadlines.ts";
import { changeExpression, countExpression } from "./expressions.ts";
import { readItems, readPage, scanTable } from "./read.ts";
import { insertStatement, runStatements, updateStatement } from "./statements.ts";
import { transactWrites } from "./transact.ts";
import { untilKnown } from "./unknown.ts";

/** Deletes in flight at once. */
const WIDTH = 8;

type Inserted = "inserted" | "exists" | Error;

type Settings = {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** ms since the epoch. */
  readonly clock: () => number;
  /** Waits between two tries of a call, ms. */
  readonly wait?: (ms: number) => Promise<void>;
  readonly random?: RandomBytes;
  /** How many statements one call has at most, 1 to 25. */
  readonly statements?: number;
};

/**
 * The job pool on DynamoDB. After a lost answer a write is repeated. If the first try took effect, `insert` answers `exists`, and `change`
 * and `changeMany` answer that they were refused: the caller knows its own item by the id, token or revision. A `count` counts twice.
 */
export function dynamoPool(settings: Settings): Pool {
  const {
    client,
    table,
    clock,
    wait = sleep,
    random = randomBytes,
    statements = SIZES.statements,
  } = settings;
  const connection: Connection = { client, table, clock, wait, random, statements };
  return {
    read: (keys) => readItems(keys, connection),
    page: (pk, after, before, limit) => readPage(pk, after, before, limit, connection),
    scan: (after, limit) => scanTable(after, limit, connection),
    insert: (items, by) => insert(items, by, connection),
    change: (wanted, by) => change(wanted, by, connection),
    changeMany: (changes, by, onChanged) => changeMany(changes, by, onChanged, connection),
    transact: (writes, by) => transactWrites(writes, by, connection),
    count: (key, amounts, expiresAt, by) => count(key, amounts, expiresAt, by, connection),
    async remove(keys, by) {
      await inParallel(keys, WIDTH, (key) => remove(key, by, connection));
    },
    async createdAt() {
      const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
      if (Table?.CreationDateTime === undefined) throw new Error(`table ${table} has no time of creation`);
      return Table.CreationDateTime.getTime();
    },
  };
}

function firstOfEach(keys: readonly Key[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const [index, { pk, sk }] of keys.entries()) {
    const name = JSON.stringify([pk, sk]);
    if (!first.has(name)) first.set(name, index);
  }
  return first;
}

async function insert(items: readonly Item[], by: Deadline, connection: Connection): Promise<Inserted[]> {
  const [only] = items;
  if (items.length === 1 && only !== undefined) return [await insertOne(only, by, connection)];
  // DynamoDB refuses a batch that names an item twice, so only the first of two equal keys is inserted, and the second `exists`.
  const results = items.map((): Inserted => "exists");
  const places = [...firstOfEach(items).values()];
  const statements = places.map((place) => insertStatement(connection.table, items[place] as Item));
  const decided = await runStatements(statements, by, connection);
  for (const [at, place] of places.entries()) {
    const result = decided[at] as (typeof decided)[number];
    if (result instanceof Error) results[place] = result;
    else results[place] = result === "applied" ? "inserted" : "exists";
  }
  return results;
}

/** A put takes less time than a statement, because DynamoDB has no text to parse. */
async function insertOne(item: Item, by: Deadline, connection: Connection): Promise<Inserted> {
  const { client, table, clock } = connection;
  const input = {
    TableName: table,
    Item: toAttributes(item),
    // rule: insert-only-if-absent
    ConditionExpression: "attribute_not_exists(pk)",
  };
  try {
    await untilKnown(by, connection, () => client.send(withDeadline(new PutItemCommand(input), by, clock)));
    return "inserted";
  } catch (thrown) {
    if (thrown instanceof ConditionalCheckFailedException) return "exists";
    return thrown as Error;
  }
}

async function change(wanted: Change, by: Deadline, connection: Connection): Promise<Changed> {
  const { client, table, clock } = connection;
  const input = {
    TableName: table,
    Key: toKey(wanted.key),
    ...changeExpression(wanted),
    ReturnValues: "ALL_NEW",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  } as const;
  try {
    const output = await untilKnown(by, connection, () =>
      client.send(withDeadline(new UpdateItemCommand(input), by, clock)),
    );
    return { changed: true, item: fromAttributes(output.Attributes ?? {}) };
  } catch (thrown) {
    if (!(thrown instanceof ConditionalCheckFailedException)) throw thrown;
    return { changed: false, item: itemIfAny(thrown.Item) };
  }
}

async function changeMany(
  changes: Parameters<Pool["changeMany"]>[0],
  by: Deadline,
  onChanged: Parameters<Pool["changeMany"]>[2],
  connection: Connection,
): ReturnType<Pool["changeMany"]> {
  if (firstOfEach(changes.map(({ key }) => key)).size < changes.length)
    throw new Error("the keys of one call must differ");
  for (const { remove } of changes)
    if (remove !== undefined) throw new Error("changeMany cannot remove attributes: use change");
  const statements = changes.map((wanted) => updateStatement(connection.table, wanted));
  const decided = await runStatements(statements, by, connection, onChanged);
  return decided.map((result) => (result === "applied" ? "changed" : result));
}

async function count(
  key: Key,
  amounts: Readonly<Record<string, number>>,
  expiresAt: number,
  by: Deadline,
  connection: Connection,
): Promise<Record<string, number>> {
  const { client, table, clock } = connection;
  const input = {
    TableName: table,
    Key: toKey(key),
    ...countExpression(amounts, expiresAt),
    ReturnValues: "UPDATED_NEW",
  } as const;
  const output = await untilKnown(by, connection, () =>
    client.send(withDeadline(new UpdateItemCommand(input), by, clock)),
  ).catch((thrown) => {
    throw thrown instanceof ConditionalCheckFailedException ? newerCounters(key) : thrown;
  });
  const updated = output.Attributes ?? {};
  return Object.fromEntries(Object.keys(amounts).map((name) => [name, Number(updated[name]?.N)]));
}

async function remove(key: Key, by: Deadline, connection: Connection): Promise<void> {
  const { client, table, clock } = connection;
  const input = { TableName: table, Key: toKey(key) };
  await untilKnown(by, connection, () => client.send(withDeadline(new DeleteItemCommand(input), by, clock)));
}
