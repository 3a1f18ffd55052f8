import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterEach, expect, test } from "vitest";
import { dynamoPool } from "../../src/aws/pool.ts";
import { meterCapacity } from "../../tools/bench/capacity.ts";
import { ok, type ScriptedService, scriptedService } from "../aws/scripted-service.ts";
import { itemAt } from "../contract/contract-items.ts";
import { PATIENCE_MS } from "../patience.ts";

const KEY = { pk: "p", sk: "s" };
const CHANGE = { key: KEY, expect: { revision: 1 }, set: { token: "t" } };
const ITEM = { pk: { S: "p" }, sk: { S: "s" }, revision: { N: "2" } };

let service: ScriptedService | undefined;
afterEach(() => service?.close());

const soon = () => Date.now() + PATIENCE_MS;

test("consumed capacity is requested and reported only for a client that is metered", async () => {
  const consumed = { CapacityUnits: 3 };
  service = await scriptedService(({ operation, input }) => {
    const asked = "ReturnConsumedCapacity" in input;
    if (!asked) return ok({ Attributes: ITEM, Responses: [{}, {}] });
    const list = operation === "BatchExecuteStatement" || operation === "TransactWriteItems";
    const ConsumedCapacity = list ? [consumed, consumed] : consumed;
    return ok({ Attributes: ITEM, Responses: [{}, {}], ConsumedCapacity });
  });
  const { endpoint, requests } = service;
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const clientOf = () => new DynamoDBClient({ endpoint, region: "eu-central-1", credentials });
  const reported: unknown[] = [];
  const client = meterCapacity(clientOf(), (operation, units) => reported.push([operation, units]));
  const pool = dynamoPool({ client, table: "t", clock: Date.now });
  const items = [itemAt(KEY), itemAt({ pk: "p", sk: "other" })];
  await pool.insert(items, soon());
  await pool.change(CHANGE, soon());
  await pool.transact([{ change: CHANGE }], soon());
  await pool.read([KEY]);
  await pool.remove([KEY], soon());
  expect(reported).toEqual([
    ["BatchExecuteStatement", { read: 0, write: 6 }],
    ["UpdateItem", { read: 0, write: 3 }],
    ["TransactWriteItems", { read: 0, write: 6 }],
    ["GetItem", { read: 3, write: 0 }],
    ["DeleteItem", { read: 0, write: 3 }],
  ]);
  await dynamoPool({ client: clientOf(), table: "t", clock: Date.now }).change(CHANGE, soon());
  expect(requests.at(-1)?.input).not.toHaveProperty("ReturnConsumedCapacity");
});
