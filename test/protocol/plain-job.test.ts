import { expect, test } from "vitest";
import { consume } from "../support/consume.ts";
import { createWorld, MINUTE, type World } from "../support/world.ts";

/** The requests to the pool and to SQS while `work` runs, in order. */
async function callsOf(world: World, work: () => Promise<unknown>): Promise<string[]> {
  const calls: string[] = [];
  world.pool.hooks.before = ({ operation, keys }) => {
    const [first] = keys;
    // A call without keys makes no request to DynamoDB.
    if (first) calls.push(`${operation} ${/^\d/.test(first.pk) ? "bucket" : first.pk.split("#")[0]}`);
  };
  world.queues.hooks.before = ({ operation }) => void calls.push(operation);
  await work();
  delete world.pool.hooks.before;
  delete world.queues.hooks.before;
  return calls;
}

/** A world whose processes know the number of shards, and that no topic is paused. */
async function warm(): Promise<World> {
  const world = createWorld({ shards: 1, topics: { orders: {} } });
  await world.tick();
  await world.file({});
  await consume(world, "orders");
  return world;
}

test("a plain job that is due now costs three writes and one message", async () => {
  const world = await warm();
  expect(await callsOf(world, () => world.file({}))).toEqual(["insert bucket", "send"]);
  expect(await callsOf(world, () => consume(world, "orders"))).toEqual([
    ...["receive", "changeMany bucket", "changeMany bucket", "remove"],
  ]);
});

test("a plain job that is due later costs one write until a sweep sends it, and no read of its own", async () => {
  const world = await warm();
  expect(await callsOf(world, () => world.file({ delay: 10 * MINUTE }))).toEqual(["insert bucket"]);
  await world.pass(6 * MINUTE);
  const idle = await callsOf(world, () => world.pass(MINUTE));
  const sweep = await callsOf(world, () => world.pass(MINUTE));
  const countOf = (calls: readonly string[], call: string): number =>
    calls.filter((one) => one === call).length;
  const more = [...new Set(sweep)].filter((call) => countOf(sweep, call) > countOf(idle, call));
  // Nothing is read or written for the job itself. The topic's pause is read before the message is sent, and the sweep writes its cursor.
  expect(more).toEqual(["read pause", "send", "change cursor"]);
});
