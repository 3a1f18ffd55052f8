import { afterEach, expect, test } from "vitest";
import { dynamoClient } from "../../src/aws/clients.ts";
import { dynamoPool } from "../../src/aws/pool.ts";
import { BEGINNING, END } from "../../src/core/position.ts";
import type { Pool } from "../../src/protocol/ports.ts";
import { itemAt, numbers } from "../contract/contract-items.ts";
import { PATIENCE_MS } from "../patience.ts";
import { useEndpoint } from "./emulators.ts";
import {
  type Answer,
  error,
  ok,
  type Request,
  type ScriptedService,
  scriptedService,
} from "./scripted-service.ts";

const UNAVAILABLE = expect.objectContaining({ code: "unavailable" });
const KEY = { pk: "p", sk: "s" };
const CHANGE = { key: KEY, expect: { revision: 1 }, set: { token: "t" } };
const CHANGED = ok({ Attributes: { pk: { S: "p" }, sk: { S: "s" } } });
const ITEM = { pk: { S: "p" }, sk: { S: "s" }, revision: { N: "2" } };

let service: ScriptedService | undefined;
afterEach(() => service?.close());

/** A pool on a service that answers as `script` says. By default its clock is the real one, so that deadlines pass while the pool waits. */
async function poolOn(
  script: (request: Request, count: number) => Answer,
  clock: () => number = Date.now,
  wait?: (ms: number) => Promise<void>,
): Promise<{ pool: Pool; requests: Request[] }> {
  service = await scriptedService(script);
  useEndpoint("DYNAMODB", service.endpoint);
  return {
    pool: dynamoPool({ client: dynamoClient(), table: "t", clock, ...(wait && { wait }) }),
    requests: service.requests,
  };
}

const soon = () => Date.now() + PATIENCE_MS;
const codes = (...answers: (string | undefined)[]): Answer =>
  ok({ Responses: answers.map((Code) => (Code ? { Error: { Code, Message: "scripted" } } : {})) });

test("the SDK itself does not retry a write at the deadline", async () => {
  let now = 1000;
  const script = (): Answer => {
    now = 2000;
    return error(500, "InternalServerError");
  };
  const { pool, requests } = await poolOn(script, () => now);
  await expect(pool.change(CHANGE, 2000)).rejects.toEqual(UNAVAILABLE);
  expect(requests).toHaveLength(1);
});

test("the SDK itself retries a write before the deadline", async () => {
  const script = (_: Request, count: number) => (count === 1 ? error(500, "InternalServerError") : CHANGED);
  const { pool, requests } = await poolOn(script, () => 1999);
  expect((await pool.change(CHANGE, 2000)).changed).toBe(true);
  expect(requests).toHaveLength(2);
});

test.each<[string, Answer]>([
  ["a conflict", error(400, "TransactionConflictException")],
  ["throttling", error(400, "ThrottlingException")],
  ["exceeded throughput", error(400, "ProvisionedThroughputExceededException")],
  ["an internal error", error(500, "InternalServerError")],
  ["an unavailable service", { status: 503, body: "<html>" }],
  ["a connection cut", "cut"],
  ["an answer cut in its body", "cut in the body"],
])("after %s every kind of write is retried, more often than the SDK itself retries", async (_, trouble) => {
  const { pool, requests } = await poolOn(({ operation }) => {
    const count = requests.filter((request) => request.operation === operation).length;
    if (count <= 4) return trouble;
    return operation === "BatchExecuteStatement" ? codes(undefined, undefined) : CHANGED;
  });
  const items = [itemAt(KEY), itemAt({ pk: "p", sk: "other" })];
  const [changed, inserted, batch, many, transacted] = await Promise.all([
    pool.change(CHANGE, soon()),
    pool.insert(items.slice(0, 1), soon()),
    pool.insert(items, soon()),
    pool.remove([KEY], soon()),
    pool.transact([{ change: CHANGE }], soon()),
  ]);
  expect(changed.changed).toBe(true);
  expect(inserted).toEqual(["inserted"]);
  expect(batch).toEqual(["inserted", "inserted"]);
  expect(many).toBeUndefined();
  expect(transacted).toEqual({ done: true });
  expect(requests).toHaveLength(25);
});

test("a batch reports each applied change at once, while other changes are still retried", async () => {
  const told: [number, number][] = [];
  const { pool, requests } = await poolOn((_, count) =>
    count === 1 ? codes(undefined, "ThrottlingError", "ConditionalCheckFailed") : codes(undefined),
  );
  const changes = ["a", "b", "c"].map((sk) => ({ ...CHANGE, key: { pk: "p", sk } }));
  const outcomes = await pool.changeMany(changes, soon(), (index) => told.push([index, requests.length]));
  expect(outcomes).toEqual(["changed", "changed", "refused"]);
  expect(told).toEqual([
    [0, 1],
    [1, 2],
  ]);
});

test("a write whose outcome stays unknown until its deadline throws `unavailable`, with the cause", async () => {
  // The clock moves only when the pool waits, so that the speed of the machine does not matter.
  let now = 1000;
  const wait = async (ms: number): Promise<void> => {
    now += ms;
  };
  const { pool } = await poolOn(
    () => error(400, "TransactionConflictException"),
    () => now,
    wait,
  );
  const by = now + 1500;
  const thrown = await pool.change(CHANGE, by).catch((caught: unknown) => caught);
  expect(thrown).toEqual(UNAVAILABLE);
  expect((thrown as Error).cause).toMatchObject({ name: "TransactionConflictException" });
  expect(now).toBeGreaterThanOrEqual(by);
});

test("a call that DynamoDB rejects as invalid fails at once, without a retry", async () => {
  const { pool, requests } = await poolOn(() => error(400, "ValidationException"));
  await expect(pool.change(CHANGE, soon())).rejects.toMatchObject({ name: "ValidationException" });
  await expect(pool.read([KEY])).rejects.toMatchObject({ name: "ValidationException" });
  expect(await pool.insert([itemAt(KEY)], soon())).toEqual([
    expect.objectContaining({ name: "ValidationException" }),
  ]);
  expect(await pool.changeMany([CHANGE], soon())).toEqual([
    expect.objectContaining({ name: "ValidationException" }),
  ]);
  expect(requests).toHaveLength(4);
});

test("only the statements with an unknown outcome are retried, and not the rest of their batch", async () => {
  const { pool, requests } = await poolOn((_, count) =>
    count === 1
      ? codes(
          undefined,
          "TransactionConflict",
          "ConditionalCheckFailed",
          "ThrottlingError",
          "ValidationError",
          "InternalServerError",
          "DuplicateItem",
        )
      : codes(undefined, "ConditionalCheckFailed", "DuplicateItem"),
  );
  const items = numbers(0, 7).map((n) => itemAt({ pk: "p", sk: `${n}` }));
  const outcomes = await pool.insert(items, soon());
  expect(outcomes.map((outcome) => (outcome instanceof Error ? outcome.message : outcome))).toEqual([
    "inserted",
    "inserted",
    "exists",
    "exists",
    "DynamoDB refused a statement: ValidationError: scripted",
    "exists",
    "exists",
  ]);
  expect(requests.map(({ input }) => (input.Statements as unknown[]).length)).toEqual([7, 3]);
});

test("a change in a batch with an unknown outcome answers `unavailable` at the deadline, and the other changes succeed", async () => {
  const { pool } = await poolOn(({ input }) =>
    codes(...(input.Statements as unknown[]).map((_, n) => (n === 0 ? "TransactionConflict" : undefined))),
  );
  const changes = numbers(0, 3).map((n) => ({ ...CHANGE, key: { pk: "p", sk: `${n}` } }));
  expect(await pool.changeMany(changes, Date.now() + 300)).toEqual([UNAVAILABLE, "changed", "changed"]);
});

test("if a batch fails as a whole, the other batches are still written", async () => {
  const { pool } = await poolOn(({ input }) => {
    const statements = input.Statements as unknown[];
    return statements.length === 25 ? codes(...statements.map(() => undefined)) : error(400, "AccessDenied");
  });
  const items = numbers(0, 27).map((n) => itemAt({ pk: "p", sk: `${n}` }));
  const outcomes = await pool.insert(items, soon());
  expect(outcomes.slice(0, 25)).toEqual(numbers(0, 25).map(() => "inserted"));
  expect(outcomes.slice(25)).toEqual([expect.any(Error), expect.any(Error)]);
});

const cancelled = (...CancellationReasons: object[]): Answer =>
  error(400, "TransactionCanceledException", { CancellationReasons });

test("a transaction that was cancelled only because of a conflict is retried with the same token", async () => {
  const conflict = cancelled({ Code: "None" }, { Code: "TransactionConflict" });
  const { pool, requests } = await poolOn((_, count) => (count <= 2 ? conflict : ok({})));
  const writes = [{ insert: itemAt({ pk: "p", sk: "new" }) }, { change: CHANGE }];
  expect(await pool.transact(writes, soon())).toEqual({ done: true });
  expect(requests).toHaveLength(3);
  expect(new Set(requests.map(({ input }) => input.ClientRequestToken)).size).toBe(1);
});

test("a transaction with a failed condition is refused, even if it also had a conflict", async () => {
  const failed = { Code: "ConditionalCheckFailed", Item: ITEM };
  const { pool, requests } = await poolOn(() => cancelled({ Code: "TransactionConflict" }, failed));
  const writes = [{ insert: itemAt({ pk: "p", sk: "new" }) }, { change: CHANGE }];
  const refused = [false, { pk: "p", sk: "s", revision: 2 }];
  expect(await pool.transact(writes, soon())).toEqual({ done: false, refused });
  expect(requests).toHaveLength(1);
});

test("an invalid transaction fails at once, without a retry", async () => {
  const { pool, requests } = await poolOn(() => cancelled({ Code: "ValidationError" }, { Code: "None" }));
  await expect(pool.transact([{ change: CHANGE }], soon())).rejects.toThrow();
  expect(requests).toHaveLength(1);
});

test("keys that DynamoDB leaves unprocessed are asked for again", async () => {
  const { pool, requests } = await poolOn(({ input }, count) => {
    const { Keys } = (input.RequestItems as Record<string, { Keys: object[] }>).t ?? { Keys: [] };
    if (count === 1) return ok({ Responses: { t: [] }, UnprocessedKeys: { t: { Keys } } });
    return ok({ Responses: { t: Keys.slice(0, 1) }, UnprocessedKeys: { t: { Keys: Keys.slice(1) } } });
  });
  const keys = numbers(0, 3).map((n) => ({ pk: "p", sk: `${n}` }));
  expect(await pool.read(keys)).toEqual(keys);
  expect(requests).toHaveLength(4);
});

test("every read is strongly consistent", async () => {
  const { pool, requests } = await poolOn(() => ok({ Responses: { t: [] } }));
  await pool.read([KEY]);
  await pool.read([KEY, { pk: "p", sk: "other" }]);
  await pool.page("p", BEGINNING, END, 10);
  const texts = requests.map(({ input }) => JSON.stringify(input));
  expect(texts).toHaveLength(3);
  for (const text of texts) expect(text).toContain('"ConsistentRead":true');
});

test("a request that hangs fails after its timeout, and the write is repeated", async () => {
  service = await scriptedService((_, count) => (count === 1 ? "hang" : CHANGED));
  useEndpoint("DYNAMODB", service.endpoint);
  const pool = dynamoPool({ client: dynamoClient(3000), table: "t", clock: Date.now });
  expect((await pool.change(CHANGE, soon())).changed).toBe(true);
  expect(service.requests).toHaveLength(2);
});
