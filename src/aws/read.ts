import {
  type AttributeValue,
  BatchGetItemCommand,
  GetItemCommand,
  QueryCommand,
  type QueryCommandOutput,
  ScanCommand,
  type ScanCommandOutput,
} from "@aws-sdk/client-dynamodb";
import { HANGS_FOR } from "../core/constants.ts";
import type { Item, Key } from "../core/items.ts";
import type { Position } from "../core/position.ts";
import { chunksOf, inParallel } from "../general/batches.ts";
import type { Page, ScanPage } from "../protocol/ports.ts";
import { fromAttributes, itemIfAny, toKey } from "./attributes.ts";
import type { Connection } from "./connection.ts";
import { backoffUntil, isUnknown, unavailable, untilKnown } from "./unknown.ts";

/** How long a read is retried, because callers give reads no deadline. ms. */
const PATIENCE = HANGS_FOR;
/** "BatchGetItem", DynamoDB API Reference: the most keys of a call. */
const BATCH_GET = 100;
/** Calls of one read in flight at once. */
const WIDTH = 8;

/** Throws `unavailable` after `PATIENCE`, or at once if DynamoDB refuses the read. */
async function readUntilAnswered<T>(connection: Connection, call: () => Promise<T>): Promise<T> {
  try {
    return await untilKnown(connection.clock() + PATIENCE, connection, call);
  } catch (thrown) {
    throw isUnknown(thrown) ? unavailable("DynamoDB did not answer a read", thrown) : thrown;
  }
}

export async function readItems(keys: readonly Key[], connection: Connection): Promise<(Item | undefined)[]> {
  const [only] = keys;
  if (keys.length === 1 && only !== undefined) return [await readItem(only, connection)];
  // BatchGetItem refuses a call that names a key twice.
  const distinct = new Map(keys.map((key) => [nameOf(key), key]));
  const found = new Map<string, Record<string, AttributeValue>>();
  await inParallel(chunksOf([...distinct.values()], BATCH_GET), WIDTH, async (chunk) => {
    for (const item of await readChunk(chunk, connection))
      found.set(nameOf({ pk: item.pk?.S ?? "", sk: item.sk?.S ?? "" }), item);
  });
  return keys.map((key) => itemIfAny(found.get(nameOf(key))));
}

function nameOf({ pk, sk }: Key): string {
  return JSON.stringify([pk, sk]);
}

async function readItem(key: Key, connection: Connection): Promise<Item | undefined> {
  const { client, table } = connection;
  const output = await readUntilAnswered(connection, () =>
    client.send(new GetItemCommand({ TableName: table, Key: toKey(key), ConsistentRead: true })),
  );
  return itemIfAny(output.Item);
}

async function readChunk(
  chunk: readonly Key[],
  connection: Connection,
): Promise<Record<string, AttributeValue>[]> {
  const { client, table, clock } = connection;
  const backoff = backoffUntil(clock() + PATIENCE, connection);
  const items: Record<string, AttributeValue>[] = [];
  let pending = chunk.map(toKey);
  while (pending.length > 0) {
    const RequestItems = { [table]: { Keys: pending, ConsistentRead: true } };
    const output = await readUntilAnswered(connection, () =>
      client.send(new BatchGetItemCommand({ RequestItems })),
    );
    const read = output.Responses?.[table] ?? [];
    items.push(...read);
    // rule: unprocessed-keys-read-again
    pending = output.UnprocessedKeys?.[table]?.Keys ?? [];
    // An answer with items is cut at 16 MB. Only one without items was throttled.
    if (pending.length > 0 && read.length === 0) await backoff(new Error("DynamoDB read no key"));
  }
  return items;
}

/** `BETWEEN` alone bounds both sides. One entry more than `limit` shows whether more follow. */
export async function readPage(
  pk: string,
  from: Position,
  before: Position,
  limit: number,
  connection: Connection,
): Promise<Page> {
  if (from >= before) return { items: [], more: false };
  const { client, table } = connection;
  const query = {
    TableName: table,
    ConsistentRead: true,
    KeyConditionExpression: "pk = :pk AND sk BETWEEN :from AND :before",
    ExpressionAttributeValues: { ":pk": { S: pk }, ":from": { S: from }, ":before": { S: before } },
    Limit: limit + 1,
  };
  const output: QueryCommandOutput = await readUntilAnswered(connection, () =>
    client.send(new QueryCommand(query)),
  );
  const read = output.Items ?? [];
  const more = read.length > limit || output.LastEvaluatedKey !== undefined;
  return { items: read.slice(0, limit).map(fromAttributes), more };
}

export async function scanTable(
  after: Key | undefined,
  limit: number,
  connection: Connection,
): Promise<ScanPage> {
  const scan = {
    TableName: connection.table,
    ConsistentRead: true,
    Limit: limit,
    ...(after && { ExclusiveStartKey: toKey(after) }),
  };
  const output: ScanCommandOutput = await readUntilAnswered(connection, () =>
    connection.client.send(new ScanCommand(scan)),
  );
  const items = (output.Items ?? []).map(fromAttributes);
  const { pk, sk } = output.LastEvaluatedKey ?? {};
  return pk?.S === undefined || sk?.S === undefined ? { items } : { items, next: { pk: pk.S, sk: sk.S } };
}
