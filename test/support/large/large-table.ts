import { setTimeout as wait } from "node:timers/promises";
import type { AttributeValue, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { toAttributes } from "../../../src/aws/attributes.ts";
import { dynamoPool } from "../../../src/aws/pool.ts";
import type { Home } from "../../../src/core/home.ts";
import { homeKey, lookAt, sortable, timeOf, ttl } from "../../../src/core/item-keys.ts";
import type { DeadEntry, Item, Key } from "../../../src/core/items.ts";
import { drawJobId } from "../../../src/core/job-id.ts";
import type { Pool } from "../../../src/protocol/ports.ts";
import { seededBytes } from "../../../src/testing/random.ts";

const MINUTE = 60_000;
/** The longest answers of "Query" and "BatchGetItem" (DynamoDB API Reference). */
const QUERY_BYTES = 1024 * 1024;
const BATCH_GET_BYTES = 16 * 1024 * 1024;
const LATENCY_MS = 2;
/** A job that was filed for this ms of a minute, or a later one, was moved by an hour. */
const MOVED_FROM = 30_000;

export type LargeTable = {
  readonly now: number;
  readonly shards: number;
  readonly bodyBytes: number;
  /** How many entries each minute of each shard has: homes, and looks of jobs that were filed for an hour earlier. */
  readonly homes: number;
  readonly looks: number;
  readonly state: "scheduled" | "dead";
  readonly deadToday: number;
};

type Row = Record<string, AttributeValue>;
type Input = Record<string, unknown> & { Key: Row; TableName: string };

/**
 * Every possible key has a job with a large body. An answer is made for its request, and is no longer than DynamoDB's longest. Answers are
 * not stored, so all memory that they take is the caller's.
 */
export function largePool(table: LargeTable): Pool {
  const { now } = table;
  const operations: Record<string, (input: Input) => object> = {
    GetItem: ({ Key }) => ({ Item: itemAt(table, keyOf(Key)) }),
    BatchGetItem: ({ RequestItems }) => batchGet(table, RequestItems as Record<string, { Keys: Row[] }>),
    Query: ({ ExpressionAttributeValues, Limit }) =>
      query(table, ExpressionAttributeValues as Record<string, { S: string }>, Limit as number),
    PutItem: () => ({}),
    DeleteItem: () => ({}),
    TransactWriteItems: () => ({}),
    UpdateItem: (input) => ({ Attributes: { ...itemAt(table, keyOf(input.Key)), ...valuesSet(input) } }),
    BatchExecuteStatement: ({ Statements }) => ({ Responses: (Statements as unknown[]).map(() => ({})) }),
  };
  const send = async (command: { constructor: { name: string }; input: Input }): Promise<unknown> => {
    const run = operations[command.constructor.name.replace(/Command$/, "")];
    if (!run) throw new Error(`no such operation here: ${command.constructor.name}`);
    const bytes = Buffer.from(JSON.stringify(run(command.input)));
    await wait(LATENCY_MS);
    return JSON.parse(bytes.toString());
  };
  // The pool uses only `send` of its client.
  const client = { send } as unknown as DynamoDBClient;
  return dynamoPool({ client, table: "large", clock: () => now });
}

export function idsOf({ now, shards }: LargeTable, count: number): string[] {
  const random = seededBytes(1);
  return Array.from({ length: count }, () => drawJobId(now + 60 * MINUTE, shards, random));
}

function keyOf({ pk, sk }: Row): Key {
  return { pk: pk?.S ?? "", sk: sk?.S ?? "" };
}

function valuesSet(input: Input): Row {
  const { UpdateExpression, ExpressionAttributeNames, ExpressionAttributeValues } = input as unknown as {
    UpdateExpression: string;
    ExpressionAttributeNames: Record<string, string>;
    ExpressionAttributeValues: Row;
  };
  const [sets = ""] = UpdateExpression.split(/ REMOVE | ADD /);
  const pairs = [...sets.matchAll(/(#\w+) = (:\w+)/g)].map(([, name = "", value = ""]) => [
    ExpressionAttributeNames[name],
    ExpressionAttributeValues[value],
  ]);
  return Object.fromEntries(pairs) as Row;
}

function itemAt(table: LargeTable, key: Key): Row | undefined {
  return /^\d{4}-/.test(key.pk) ? toAttributes(homeAt(table, key)) : undefined;
}

let made = 0;

/** Each home has a different body, because the engine would store equal ones once. */
function homeAt({ bodyBytes, state, now }: LargeTable, { pk, sk }: Key): Home {
  const filedFor = timeOf(sk);
  const dueAt = filedFor % MINUTE < MOVED_FROM ? filedFor : filedFor + 60 * MINUTE;
  // This is the JSON of a text. It is made without `JSON.stringify`, whose search for characters to escape took a third of the time.
  const body = `${`"${made++} `.padEnd(bodyBytes - 1, "x")}"`;
  const job = { topic: "orders", body, dueAt, wantedAt: dueAt, revision: 0, attempt: 0 };
  const ended = state === "dead" ? { state, finishedAt: now - MINUTE, expiresAt: ttl(now) } : { state };
  return { pk, sk, v: 1, id: sk.slice(14), ...job, ...ended, createdAt: now - 2 * 60 * MINUTE };
}

function batchGet(table: LargeTable, requested: Record<string, { Keys: Row[] }>): object {
  const [[name, { Keys }] = ["", { Keys: [] }]] = Object.entries(requested);
  const rows: Row[] = [];
  let bytes = 0;
  let read = 0;
  for (; read < Keys.length && bytes < BATCH_GET_BYTES; read++) {
    const row = itemAt(table, keyOf(Keys[read] as Row));
    if (row) rows.push(row);
    bytes += row?.body?.S?.length ?? 0;
  }
  const left = Keys.slice(read);
  return {
    Responses: { [name]: rows },
    UnprocessedKeys: left.length > 0 ? { [name]: { Keys: left } } : {},
  };
}

function query(table: LargeTable, values: Record<string, { S: string }>, limit: number): object {
  const [pk = "", from = "", before = ""] = [":pk", ":from", ":before"].map((name) => values[name]?.S);
  const between = entriesOf(table, pk).filter(({ sk }) => sk >= from && sk <= before);
  const Items: Row[] = [];
  let bytes = 0;
  for (const { sk, make } of between) {
    if (Items.length === limit || bytes >= QUERY_BYTES) {
      return { Items, LastEvaluatedKey: { pk: { S: pk }, sk: Items.at(-1)?.sk } };
    }
    const row = toAttributes(make());
    Items.push(row);
    bytes += (row.body?.S ?? "").length + 100;
    if (sk === before) break;
  }
  return { Items };
}

function entriesOf(table: LargeTable, pk: string): { sk: string; make: () => Item }[] {
  const { now, shards, homes, looks, deadToday } = table;
  const random = seededBytes(2);
  const day = pk === `dead#orders#${new Date(now).toISOString().slice(0, 10)}`;
  if (day) {
    const filed = Array.from(
      { length: deadToday },
      () => homeKey(drawJobId(now - 60 * MINUTE, shards, random)).sk,
    );
    return filed.sort().map((place) => {
      const id = place.slice(14);
      const sk = `${sortable(now - MINUTE)}#${id}`;
      return { sk, make: (): DeadEntry => ({ pk, sk, v: 1, id, revision: 0, expiresAt: now }) };
    });
  }
  const [, minuteText = "", shardText = ""] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)#(\d+)$/.exec(pk) ?? [];
  if (minuteText === "") return [];
  const minute = Date.parse(`${minuteText}Z`);
  const entries: { sk: string; make: () => Item }[] = [];
  for (let i = 0; i < homes; i++) {
    const key = { pk, sk: `${sortable(minute + i)}#${idIn(minute + i, Number(shardText))}` };
    entries.push({ sk: key.sk, make: () => homeAt(table, key) });
  }
  for (let i = 0; i < looks; i++) {
    const dueAt = minute + MOVED_FROM + i;
    const look = lookAt(idIn(dueAt - 60 * MINUTE, Number(shardText)), dueAt);
    entries.push({ sk: look.sk, make: () => look });
  }
  return entries;

  function idIn(time: number, shard: number): string {
    return drawJobId(time, shards, (count) => random(count).fill(0, 0, 1).fill(shard, 1, 2));
  }
}
