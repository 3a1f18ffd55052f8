import type { APIGatewayProxyEventV2, Context as LambdaContext, SQSRecord } from "aws-lambda";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createWorld, SECOND, type World } from "../support/world.ts";

const shared = vi.hoisted(() => {
  const rule = {
    topic: "orders",
    do: "cancel",
    detailType: "OrderPaid",
    key: "$.detail.orderId",
    tombstone: 0,
  };
  return { world: undefined as World | undefined, flushed: 0, rules: JSON.stringify([rule]) };
});

vi.mock("../../src/environment/context.ts", () => ({
  requiredVariable: (_: unknown, name: string) => (name === "MINUTEHAND_EVENTS" ? shared.rules : "{}"),
  createContext: () => {
    shared.world = createWorld();
    const logger = { warn: () => {}, error: () => {} };
    return { ...shared.world.ctx, telemetry: { logger, report: () => {}, flush: () => shared.flushed++ } };
  },
}));

// Another file of the worker may have loaded the functions' modules, without this file's context.
beforeEach(() => {
  vi.resetModules();
});
afterEach(() => {
  vi.resetModules();
  shared.flushed = 0;
});

function eventOf(method: string, rawPath: string, body?: string): APIGatewayProxyEventV2 {
  const http = { method };
  const event = {
    rawPath,
    rawQueryString: "",
    headers: {},
    isBase64Encoded: false,
    requestContext: { http },
  };
  return { ...event, ...(body === undefined ? {} : { body }) } as APIGatewayProxyEventV2;
}

function lambda(remaining: number): LambdaContext {
  return { getRemainingTimeInMillis: () => remaining } as LambdaContext;
}

test("the api function serves every call but receive, and flushes its telemetry", async () => {
  const { handler } = await import("../../functions/api.ts");
  const body = JSON.stringify({ topic: "work", body: 1, delay: 0 });
  expect(await handler(eventOf("POST", "/jobs", body))).toMatchObject({ statusCode: 201 });
  expect(await handler(eventOf("GET", "/topics/work/receive"))).toMatchObject({ statusCode: 405 });
  const { body: health = "" } = await handler(eventOf("GET", "/health"));
  expect(JSON.parse(health)).toEqual({ status: "ok", version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  expect(shared.flushed).toBe(3);
  for (const path of ["/topics/work/receive", "/topics/w%6Frk/receive", "/topics/work/%72eceive"]) {
    const { statusCode, body: refusal = "" } = await handler(eventOf("POST", path, '{"max":1}'));
    expect({ path, statusCode }).toEqual({ path, statusCode: 404 });
    expect(JSON.parse(refusal)).toMatchObject({ code: "not-found" });
  }
  const { body: document = "" } = await handler(eventOf("GET", "/openapi.json"));
  expect(Object.keys(JSON.parse(document).paths)).toContain("/topics/{topic}/receive");
});

test("the receive function serves only the route that receives jobs", async () => {
  const { handler } = await import("../../functions/receive.ts");
  const received = await handler(eventOf("POST", "/topics/work/receive"));
  expect(received).toMatchObject({ statusCode: 200, body: '{"jobs":[]}' });
  expect(await handler(eventOf("GET", "/health"))).toMatchObject({ statusCode: 404 });
  expect(shared.flushed).toBe(2);
});

test("the tick function sweeps, and begins nothing in its last twenty seconds", async () => {
  const { handler } = await import("../../functions/tick.ts");
  const world = shared.world as World;
  await handler({}, lambda(180 * SECOND));
  const swept = () =>
    new Set(world.events.flatMap((event) => (event.type === "swept" ? event.shard : []))).size;
  expect(swept()).toBe(2);
  await world.file({ topic: "orders", delay: 300 * SECOND });
  await world.pass(200 * SECOND, { ticks: false });
  await handler({}, lambda(9 * SECOND));
  expect(world.queues.messages({ topic: "orders" })).toEqual([]);
  await handler({}, lambda(180 * SECOND));
  expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
  expect(shared.flushed).toBe(3);
});

test("the tick function sweeps only the shards that its event names, and refuses a malformed event", async () => {
  const { handler } = await import("../../functions/tick.ts");
  const world = shared.world as World;
  await handler({ source: "aws.events" }, lambda(180 * SECOND));
  world.events.length = 0;
  await world.pass(60 * SECOND, { ticks: false });
  await handler({ shards: [1], hung: [], until: world.now() + 55 * SECOND }, lambda(180 * SECOND));
  expect(world.events.filter(({ type }) => type === "swept")).toMatchObject([{ shard: 1 }]);
  await expect(handler({ shards: [1] }, lambda(180 * SECOND))).rejects.toThrow("hung must be a list");
  expect(shared.flushed).toBe(3);
});

test("the tick function begins nothing for its event once the event's time is over", async () => {
  const { handler } = await import("../../functions/tick.ts");
  const world = shared.world as World;
  await handler({}, lambda(180 * SECOND));
  await world.file({ topic: "orders", delay: 300 * SECOND });
  await world.pass(200 * SECOND, { ticks: false });
  const part = { shards: [0, 1], hung: [] };
  await handler({ ...part, until: world.now() }, lambda(180 * SECOND));
  expect(world.queues.messages({ topic: "orders" })).toEqual([]);
  await handler({ ...part, until: world.now() + SECOND }, lambda(180 * SECOND));
  expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
});

test("a tick that fails throws its error, and its telemetry is still flushed", async () => {
  const { handler } = await import("../../functions/tick.ts");
  const world = shared.world as World;
  world.pool.hooks.before = () => {
    throw new Error("no table");
  };
  await expect(handler({}, lambda(180 * SECOND))).rejects.toThrow("no table");
  expect(shared.flushed).toBe(1);
});

test("the promote function sends one job, and throws an error if it cannot", async () => {
  const { handler } = await import("../../functions/promote.ts");
  const world = shared.world as World;
  const { id } = await world.file({ topic: "orders", delay: 300 * SECOND });
  await handler({ id });
  expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
  world.pool.hooks.before = () => {
    throw new Error("no table");
  };
  await expect(handler({ id })).rejects.toThrow("no table");
  expect(shared.flushed).toBe(2);
});

test("the occurrence function files one job however often it is invoked, and throws an error if it cannot file the job", async () => {
  const { handler } = await import("../../functions/occurrence.ts");
  const world = shared.world as World;
  const event = {
    time: "2026-03-01T10:00:00Z",
    v: 1,
    name: "hourly",
    job: { topic: "orders", body: { n: 1 } },
  };
  await handler(event);
  await handler(event);
  const homes = world.pool.items().filter((item) => "state" in item);
  expect(homes).toMatchObject([{ topic: "orders", body: '{"n":1}', dueAt: Date.UTC(2026, 2, 1, 10) }]);
  await expect(handler({ ...event, job: { topic: "gone", body: 1 } })).rejects.toThrow(
    "topic must be one of",
  );
  await expect(handler({})).rejects.toThrow("must be an occurrence");
  // The occurrence comes again from its DLQ, after the job that it filed was deleted.
  await world.pool.remove(homes, world.now() + SECOND);
  await handler(event);
  expect(world.pool.items().filter((item) => "state" in item)).toEqual([]);
  expect(shared.flushed).toBe(5);
});

test("the event function applies the rules in its environment, and leaves events in the queue that it cannot apply", async () => {
  const { handler } = await import("../../functions/event.ts");
  const world = shared.world as World;
  const { id } = await world.file({ key: "17", delay: 300 * SECOND });
  const event = { id: "e", source: "shop", "detail-type": "OrderPaid", time: "2026-03-01T09:00:00Z" };
  const bodies = [JSON.stringify({ ...event, detail: { orderId: 17 } }), JSON.stringify(event)];
  const Records = bodies.map((body, i) => ({ messageId: `m${i}`, body }) as SQSRecord);
  expect(await handler({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: "m1" }] });
  expect(await world.home(id)).toMatchObject({ state: "cancelled" });
  expect(shared.flushed).toBe(1);
});
