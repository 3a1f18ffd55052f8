import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  BatchExecuteStatementCommand,
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../../local/processes/free-port.ts";
import { startAwsEndpoint } from "../../../local/services/aws-endpoint.ts";
import { dynamoOperations } from "../../../local/services/dynamodb/operations.ts";
import { openTableStore, type TableStore } from "../../../local/services/dynamodb/table-store.ts";

const TABLE: CreateTableCommandInput = {
  TableName: "jobs",
  BillingMode: "PAY_PER_REQUEST",
  KeySchema: [
    { AttributeName: "pk", KeyType: "HASH" },
    { AttributeName: "sk", KeyType: "RANGE" },
  ],
  AttributeDefinitions: [
    { AttributeName: "pk", AttributeType: "S" },
    { AttributeName: "sk", AttributeType: "N" },
    { AttributeName: "owner", AttributeType: "S" },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: "byOwner",
      KeySchema: [
        { AttributeName: "owner", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "KEYS_ONLY" },
    },
  ],
};
const TableName = "jobs";
const key = (pk: string, sk: number | string) => ({ pk: { S: pk }, sk: { N: String(sk) } });

function clientAt(endpoint: string): DynamoDBClient {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  return new DynamoDBClient({ endpoint, region: "us-east-1", credentials });
}

describe("the portable DynamoDB", () => {
  let now = 1_800_000_000_000;
  let store: TableStore;
  let client: DynamoDBClient;
  const stops: (() => unknown)[] = [];

  beforeAll(async () => {
    store = openTableStore();
    const endpoint = await startAwsEndpoint(dynamoOperations(store, () => now));
    client = clientAt(endpoint.url);
    await client.send(new CreateTableCommand(TABLE));
    stops.push(() => client.destroy(), endpoint.stop, store.close);
  });
  afterAll(() => Promise.all(stops.map((stop) => stop())));

  const put = (Item: PutItemCommand["input"]["Item"]) => client.send(new PutItemCommand({ TableName, Item }));
  const get = async (pk: string, sk: number) =>
    (await client.send(new GetItemCommand({ TableName, Key: key(pk, sk) }))).Item;

  test.each([
    ["a key without its range", { pk: { S: "a" } }, "Missing the key sk in the item"],
    ["an empty key", key("", 1), "cannot contain an empty string value. Key: pk"],
    [
      "a key of another type",
      { pk: { S: "a" }, sk: { S: "1" } },
      "Type mismatch for key sk expected: N actual: S",
    ],
    [
      "a key of more than 2048 bytes",
      key("k".repeat(2049), 1),
      "exceeded the maximum size limit of 2048 bytes",
    ],
    ["more than 400 KB", { ...key("a", 1), x: { S: "x".repeat(409_600) } }, "Item size has exceeded"],
    [
      "a number of 39 digits",
      { ...key("a", 1), x: { N: "1".repeat(39) } },
      "cannot be converted to a numeric",
    ],
    ["an empty set", { ...key("a", 1), x: { SS: [] } }, "may not be empty"],
    ["a set with an entry twice", { ...key("a", 1), x: { NS: ["1", "1.0"] } }, "contains duplicates"],
  ])("refuses an item with %s", async (_, item, reason) => {
    await expect(put(item)).rejects.toMatchObject({
      name: "ValidationException",
      message: expect.stringContaining(reason),
    });
  });

  test.each([
    ["SET sk = :one", "part of the key"],
    ["SET a = :one, a.b = :one", "Two document paths overlap"],
    ["SET a = :none", "not defined; attribute value: :none"],
    ["SET a :one", "Syntax error"],
    ["SET a = missing + :one", "does not exist in the item"],
    ["SET missing.b = :one", "invalid for update"],
    ["REMOVE a SET b = :one REMOVE c", "can only be used once"],
    ["REMOVE a", "unused in expressions: keys: {:one}"],
  ])("refuses the update %s", async (UpdateExpression, reason) => {
    await put(key("updates", 1));
    const ExpressionAttributeValues = { ":one": { N: "1" } };
    const input = { TableName, Key: key("updates", 1), UpdateExpression, ExpressionAttributeValues };
    await expect(client.send(new UpdateItemCommand(input))).rejects.toMatchObject({
      name: "ValidationException",
      message: expect.stringContaining(reason),
    });
    expect(await get("updates", 1)).toEqual(key("updates", 1));
  });

  test("updates maps, lists, sets and numbers, all from the item before", async () => {
    await put({
      ...key("deep", 1),
      n: { N: "0.1" },
      l: { L: [{ N: "0" }, { N: "1" }, { N: "2" }] },
      m: { M: { a: { S: "a" } } },
      s: { SS: ["a", "b"] },
    });
    const { Attributes } = await client.send(
      new UpdateItemCommand({
        TableName,
        Key: key("deep", 1),
        UpdateExpression:
          "SET n = n + :n, was = n, m.b = if_not_exists(m.c, :n), more = list_append(l, l) REMOVE l[0], l[2] ADD big :big DELETE s :s",
        ConditionExpression:
          "size(l) = :three AND NOT (begins_with(m.a, :x) OR n IN (:n, :big)) AND n BETWEEN :o AND :n",
        ExpressionAttributeValues: {
          ":n": { N: "0.2" },
          ":o": { N: "-1" },
          ":big": { N: "99999999999999999999999999999999999999" },
          ":s": { SS: ["a"] },
          ":three": { N: "3" },
          ":x": { S: "x" },
        },
        ReturnValues: "ALL_NEW",
      }),
    );
    expect(Attributes).toEqual({
      ...key("deep", 1),
      n: { N: "0.3" },
      was: { N: "0.1" },
      l: { L: [{ N: "1" }] },
      more: { L: [{ N: "0" }, { N: "1" }, { N: "2" }, { N: "0" }, { N: "1" }, { N: "2" }] },
      m: { M: { a: { S: "a" }, b: { N: "0.2" } } },
      big: { N: "99999999999999999999999999999999999999" },
      s: { SS: ["b"] },
    });
  });

  test("pages in the order of numbers, forwards and backwards, and ends a page at 1 MB", async () => {
    const order = ["-10", "-2.5", "-2", "0", "0.001", "3", "20", "1000"];
    for (const sk of [...order].reverse()) await put({ ...key("order", sk), x: { S: "x".repeat(300_000) } });
    for (const ScanIndexForward of [true, false]) {
      const found: (string | undefined)[] = [];
      let ExclusiveStartKey: QueryCommand["input"]["ExclusiveStartKey"];
      do {
        const page = await client.send(
          new QueryCommand({
            TableName,
            KeyConditionExpression: "pk = :pk AND sk >= :from",
            ExpressionAttributeValues: { ":pk": { S: "order" }, ":from": { N: "-2.5" } },
            ScanIndexForward,
            ...(ExclusiveStartKey && { ExclusiveStartKey }),
          }),
        );
        expect(page.Count).toBeLessThanOrEqual(3);
        found.push(...(page.Items ?? []).map(({ sk }) => sk?.N));
        ExclusiveStartKey = page.LastEvaluatedKey;
      } while (ExclusiveStartKey);
      const wanted = order.slice(1);
      expect(found).toEqual(ScanIndexForward ? wanted : wanted.reverse());
    }
  });

  test("reads an index in the order of its keys, page after page, with its projection", async () => {
    for (const n of [3, 1, 2]) await put({ ...key(`owned-${n}`, n), owner: { S: "ann" }, x: { S: "x" } });
    const ask = (ExclusiveStartKey?: QueryCommand["input"]["ExclusiveStartKey"]) =>
      client.send(
        new QueryCommand({
          TableName,
          IndexName: "byOwner",
          KeyConditionExpression: "owner = :owner",
          ExpressionAttributeValues: { ":owner": { S: "ann" } },
          Limit: 2,
          ...(ExclusiveStartKey && { ExclusiveStartKey }),
        }),
      );
    const first = await ask();
    const second = await ask(first.LastEvaluatedKey);
    expect([...(first.Items ?? []), ...(second.Items ?? [])]).toEqual(
      [1, 2, 3].map((n) => ({ ...key(`owned-${n}`, n), owner: { S: "ann" } })),
    );
  });

  test("a start key outside the range of a query adds no items from outside", async () => {
    for (const sk of [1, 2, 3, 4]) await put(key("bounded", sk));
    const found = async (condition: string, start: number, ScanIndexForward: boolean) => {
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName,
          KeyConditionExpression: `pk = :pk AND sk ${condition}`,
          ExpressionAttributeValues: { ":pk": { S: "bounded" }, ":sk": { N: "2" } },
          ExclusiveStartKey: key("bounded", start),
          ScanIndexForward,
        }),
      );
      return Items.map(({ sk }) => sk?.N);
    };
    expect(await found("> :sk", 1, true)).toEqual(["3", "4"]);
    expect(await found("> :sk", 3, true)).toEqual(["4"]);
    expect(await found("< :sk", 4, false)).toEqual(["1"]);
    expect(await found("<= :sk", 2, false)).toEqual(["1"]);
    expect(await found("<= :sk", 4, true)).toEqual([]);
  });

  test("a transaction's token is known for ten minutes", async () => {
    const add = (amount: number) =>
      client.send(
        new TransactWriteItemsCommand({
          ClientRequestToken: "token",
          TransactItems: [
            {
              Update: {
                TableName,
                Key: key("counted", 1),
                UpdateExpression: "ADD n :n",
                ExpressionAttributeValues: { ":n": { N: String(amount) } },
              },
            },
          ],
        }),
      );
    await add(1);
    await add(1);
    expect(await get("counted", 1)).toMatchObject({ n: { N: "1" } });
    await expect(add(2)).rejects.toMatchObject({ name: "IdempotentParameterMismatchException" });
    now += 600_000;
    await add(1);
    expect(await get("counted", 1)).toMatchObject({ n: { N: "2" } });
  });

  test("each statement of a batch ends on its own", async () => {
    await put({ ...key("stated", 1), v: { N: "1" } });
    const one = [{ S: "stated" }, { N: "1" }];
    const { Responses = [], ConsumedCapacity } = await client.send(
      new BatchExecuteStatementCommand({
        ReturnConsumedCapacity: "TOTAL",
        Statements: [
          {
            Statement: `UPDATE "jobs" SET "v" = ? WHERE "pk" = ?`,
            Parameters: [{ N: "2" }, { S: "stated" }],
          },
          {
            Statement: `UPDATE "jobs" SET "v" = ? WHERE "pk" = ? AND "sk" = ? AND "w" IS MISSING AND "v" = ?`,
            Parameters: [{ N: "2" }, ...one, { N: "9" }],
            ReturnValuesOnConditionCheckFailure: "ALL_OLD",
          },
          {
            Statement: `INSERT INTO "jobs" VALUE {'pk': ?, 'sk': ?}`,
            Parameters: [{ S: "stated" }, { N: "2" }],
          },
          { Statement: `SELECT * FROM "jobs"` },
        ],
      }),
    );
    expect(Responses.map((response) => response.Error?.Code)).toEqual([
      "ValidationError",
      "ConditionalCheckFailed",
      undefined,
      "ValidationError",
    ]);
    expect(Responses[1]?.Error?.Item).toMatchObject({ v: { N: "1" } });
    expect(ConsumedCapacity).toMatchObject([{ TableName, CapacityUnits: 2 }]);
    expect(await get("stated", 2)).toEqual(key("stated", 2));
  });

  test("refuses what it does not play, and names it", async () => {
    const scan = new ScanCommand({ TableName, Segment: 0, TotalSegments: 2 });
    await expect(client.send(scan)).rejects.toThrow(
      /does not play (?:Segment|TotalSegments), (?:Segment|TotalSegments) of Scan; use --database native/,
    );
  });

  test("deletes items whose time to live has passed, and no others", async () => {
    const expiresAt = (ms: number) => ({ expiresAt: { N: String(Math.floor(ms / 1000)) } });
    await put({ ...key("ttl", 1), ...expiresAt(now - 2000) });
    await put({ ...key("ttl", 2), ...expiresAt(now + 60_000) });
    await put({ ...key("ttl", 3), expiresAt: { S: "soon" } });
    await put({ ...key("ttl", 4), ...expiresAt(now - 6 * 365 * 86_400_000) });
    const TimeToLiveSpecification = { AttributeName: "expiresAt", Enabled: true };
    const enable = new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification });
    expect(store.deleteExpired(now)).toBe(0);
    await client.send(enable);
    await expect(client.send(enable)).rejects.toThrow(/already enabled/);
    await put({ ...key("ttl", 5), ...expiresAt(now - 2000) });
    expect(store.deleteExpired(now)).toBe(2);
    const left = await Promise.all([1, 2, 3, 4, 5].map((sk) => get("ttl", sk)));
    expect(left.map((item) => item?.sk?.N)).toEqual([undefined, "2", "3", "4", undefined]);
  });

  test("web pages are refused", async () => {
    const headers = { "x-amz-target": "DynamoDB_20120810.ListTables", origin: "https://example.com" };
    const endpoint = (await client.config.endpoint?.()) ?? { port: 0 };
    const answer = await fetch(`http://127.0.0.1:${endpoint.port}/`, { method: "POST", headers, body: "{}" });
    expect(answer.status).toBe(403);
  });
});

test("the tokens of transactions are deleted after ten minutes, with the expired items", () => {
  const folder = mkdtempSync(join(tmpdir(), "minutehand-tokens-"));
  const file = join(folder, "dynamodb.sqlite");
  const store = openTableStore(file);
  const database = new DatabaseSync(file);
  try {
    store.putTransaction("first", "hash", 0);
    store.putTransaction("second", "hash", 1);
    store.deleteExpired(600_000);
    expect(store.transaction("second", 600_000)).toBe("hash");
    expect(database.prepare("SELECT token FROM transactions").all()).toEqual([{ token: "second" }]);
  } finally {
    store.close();
    database.close();
    rmSync(folder, { recursive: true });
  }
});

test("tables and items survive a kill and a restart", async () => {
  const folder = mkdtempSync(join(tmpdir(), "minutehand-dynamodb-"));
  const port = await freePort();
  const program = join(import.meta.dirname, "../../../local/processes/dynamodb-process.ts");
  const start = async (): Promise<ChildProcess> => {
    const child = fork(program, [String(port), join(folder, "dynamodb.sqlite")]);
    await once(child, "message");
    return child;
  };
  const client = clientAt(`http://127.0.0.1:${port}`);
  let child = await start();
  try {
    await client.send(new CreateTableCommand(TABLE));
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      await client.send(new PutItemCommand({ TableName, Item: { ...key(signal, 1), x: { S: "kept" } } }));
      child.kill(signal);
      await once(child, "exit");
      child = await start();
    }
    const { Items = [] } = await client.send(new ScanCommand({ TableName }));
    expect(Items.map(({ pk, x }) => [pk?.S, x?.S])).toEqual([
      ["SIGKILL", "kept"],
      ["SIGTERM", "kept"],
    ]);
  } finally {
    client.destroy();
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});
