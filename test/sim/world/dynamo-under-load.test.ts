import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { expect, it } from "vitest";
import { dynamoPool } from "../../../src/aws/pool.ts";
import type { Fate } from "../faults/fate.ts";
import { startMachine } from "../machine.ts";
import { clientOn, type Network } from "../network.ts";
import { tokenBuckets } from "../services/capacity.ts";
import { simulatedDynamo } from "../services/dynamo.ts";
import { NO_TROUBLE } from "../services/service.ts";
import { timelineFrom } from "../timeline.ts";

const NOW = Date.UTC(2026, 2, 1, 9);
const ANSWERED: Fate = { request: 1, answer: 1, freeze: 0, entryFails: () => undefined };

function item(n: number, pk = "bucket") {
  return { pk, sk: String(n), v: 1, id: String(n) };
}

function key(n: number) {
  return { pk: { S: "bucket" }, sk: { S: String(n) } };
}

function insertStatement(n: number) {
  return { Statement: `INSERT INTO "jobs" VALUE {'pk': ?, 'sk': ?}`, Parameters: Object.values(key(n)) };
}

/** A table in which each partition admits five writes and fifteen reads a second, and the whole table twenty and sixty. */
function scarceTable() {
  let now = NOW;
  const clock = () => now;
  const capacity = tokenBuckets(clock, 0.005);
  const dynamo = simulatedDynamo({ clock, createdAt: NOW, pageItems: 100, capacity, onWrite: () => {} });
  return {
    dynamo,
    perform: (operation: string, input: object) => dynamo.perform(operation, input, NO_TROUBLE),
    pass(ms: number) {
      now += ms;
    },
  };
}

it("refuses the statements of a batch that come after a partition's last write unit, and no other", () => {
  const { perform, dynamo } = scarceTable();
  const Statements = Array.from({ length: 8 }, (_, n) => insertStatement(n));
  const { Responses } = perform("BatchExecuteStatement", { Statements }) as { Responses: object[] };
  const refused = { Error: { Code: "ProvisionedThroughputExceeded", Message: "simulated" } };
  expect(Responses).toEqual([{}, {}, {}, {}, {}, refused, refused, refused]);
  expect(dynamo.rows()).toHaveLength(5);
});

it("throws when a single write or read is refused, and refuses a transaction as a whole with its reasons", () => {
  const { perform, dynamo } = scarceTable();
  for (let n = 0; n < 5; n++) perform("PutItem", { Item: key(n) });
  expect(() => perform("PutItem", { Item: key(5) })).toThrow(
    expect.objectContaining({ name: "ProvisionedThroughputExceededException" }),
  );
  const other = { pk: { S: "elsewhere" }, sk: { S: "1" } };
  const TransactItems = [{ Put: { Item: key(6) } }, { Put: { Item: other } }];
  expect(() => perform("TransactWriteItems", { TransactItems, ClientRequestToken: "a" })).toThrow(
    expect.objectContaining({
      CancellationReasons: [{ Code: "ProvisionedThroughputExceeded" }, { Code: "None" }],
    }),
  );
  expect(dynamo.rows()).toHaveLength(5);
});

it("has its full capacity again after a second, and never more than that of one second", () => {
  const { perform, pass, dynamo } = scarceTable();
  pass(60_000);
  for (const wait of [0, 1000]) {
    pass(wait);
    const Statements = Array.from({ length: 8 }, (_, n) => insertStatement(wait + n));
    perform("BatchExecuteStatement", { Statements });
  }
  expect(dynamo.rows()).toHaveLength(10);
});

it("refuses the table's twenty-first write of a second, whatever its partition", () => {
  const { perform } = scarceTable();
  const put = (n: number) => perform("PutItem", { Item: { pk: { S: `bucket ${n}` }, sk: { S: "1" } } });
  for (let n = 0; n < 20; n++) put(n);
  expect(() => put(20)).toThrow("simulated");
});

it("leaves keys unprocessed when a batch of reads is too large, and refuses a batch of which it can read none", () => {
  const { perform } = scarceTable();
  const Keys = Array.from({ length: 20 }, (_, n) => key(n));
  const read = () => perform("BatchGetItem", { RequestItems: { jobs: { Keys, ConsistentRead: true } } });
  expect(read()).toMatchObject({ UnprocessedKeys: { jobs: { Keys: Keys.slice(15) } } });
  expect(read).toThrow("simulated");
});

it("is waited out by the pool, which writes every item in the end", async () => {
  const timeline = timelineFrom(NOW);
  const capacity = tokenBuckets(timeline.now, 0.005);
  const dynamo = simulatedDynamo({
    ...{ clock: timeline.now, createdAt: NOW, pageItems: 100, capacity },
    onWrite: () => {},
  });
  const network: Network = {
    timeline,
    seed: 1,
    fateOf: () => ANSWERED,
    beforeEffect: () => {},
    onArrival: () => {},
  };
  const machine = startMachine("writer", 1, 0, timeline);
  const client = clientOn<DynamoDBClient>(network, machine, "dynamodb", dynamo);
  const { clock, random, timers } = machine;
  const pool = dynamoPool({ client, table: "jobs", clock, random, wait: timers.wait });
  const items = Array.from({ length: 60 }, (_, n) => item(n));
  let inserted: unknown[] = [];
  void pool.insert(items, NOW + 60_000).then((results) => {
    inserted = results;
  });
  await timeline.run(NOW + 60_000, () => inserted.length > 0);
  expect(inserted).toEqual(items.map(() => "inserted"));
  expect(timeline.now() - NOW).toBeGreaterThan(10_000);
});
