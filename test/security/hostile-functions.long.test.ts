import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context as LambdaContext,
  SQSBatchResponse,
  SQSEvent,
} from "aws-lambda";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { httpPost } from "../../src/consumer/webhook/post.ts";
import { webhookOn } from "../../src/consumer/webhook.ts";
import type { Home } from "../../src/core/home.ts";
import { jobText, messageText } from "../../src/core/message.ts";
import { createContext } from "../../src/environment/context.ts";
import { TIMERS } from "../../src/environment/process.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { createWorld, MINUTE, SECOND, type World } from "../support/world.ts";
import { hostileBusEvents, hostileEvents } from "./hostile-events.ts";
import { hostileMessages } from "./hostile-messages.ts";

const shared = vi.hoisted(() => {
  const of = { topic: "orders", detailType: "Paid", key: "$.detail.key" };
  const files = { ...of, do: "enqueue", delay: 60, body: "$.detail", onDuplicate: "replace" };
  const rules = JSON.stringify([{ ...of, do: "cancel", tombstone: 300 }, files]);
  return { world: undefined as World | undefined, rules };
});

/** The services in memory, under the telemetry that the functions really have. */
vi.mock("../../src/environment/context.ts", async () => {
  const { createTelemetry } = await import("../../src/environment/telemetry.ts");
  const partOf = (part: "pool" | "queues" | "policy" | "sizes" | "promotions" | "schedules") =>
    new Proxy({}, { get: (_, name) => Reflect.get(shared.world?.ctx[part] ?? {}, name) });
  return {
    // No topic has an event source mapping.
    requiredVariable: (_: unknown, name: string) => (name === "MINUTEHAND_EVENTS" ? shared.rules : "{}"),
    createContext: () => {
      const telemetry = createTelemetry("minutehand");
      return {
        pool: partOf("pool"),
        queues: partOf("queues"),
        policy: partOf("policy"),
        sizes: partOf("sizes"),
        promotions: partOf("promotions"),
        schedules: partOf("schedules"),
        clock: () => shared.world?.ctx.clock(),
        random: (count: number) => shared.world?.ctx.random(count),
        report: telemetry.report,
        telemetry,
      };
    },
  };
});

type Handlers = {
  api: (event: APIGatewayProxyEventV2) => Promise<APIGatewayProxyStructuredResultV2>;
  consumer: (event: SQSEvent, context: LambdaContext) => Promise<SQSBatchResponse>;
  receive: Handlers["api"];
  tick: (event: unknown, context: LambdaContext) => Promise<void>;
  promote: (event: unknown) => Promise<void>;
  occur: (event: unknown) => Promise<void>;
  bring: (event: SQSEvent) => Promise<SQSBatchResponse>;
};
let functions: Handlers;
const written: string[] = [];

beforeAll(async () => {
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => written.push(String(chunk)) > 0);
  vi.spyOn(process.stderr, "write").mockImplementation((chunk) => written.push(String(chunk)) > 0);
  functions = {
    api: (await import("../../functions/api.ts")).handler,
    consumer: (await import("../../functions/reminders.ts")).handler,
    receive: (await import("../../functions/receive.ts")).handler,
    tick: (await import("../../functions/tick.ts")).handler,
    promote: (await import("../../functions/promote.ts")).handler as Handlers["promote"],
    occur: (await import("../../functions/occurrence.ts")).handler,
    bring: (await import("../../functions/event.ts")).handler,
  };
});
afterAll(() => vi.restoreAllMocks());
beforeEach(() => {
  shared.world = createWorld({
    topics: {
      orders: {},
      notes: { tracking: "none" },
      work: { consumer: "pull" },
      hooks: { webhook: {} },
      open: { webhook: { allowHttp: true, allowHosts: ["127.0.0.1"] } },
    },
  });
});

const world = (): World => shared.world as World;
const context = (remaining: number) => ({ getRemainingTimeInMillis: () => remaining }) as LambdaContext;
const messageFor = (home: Home) => messageText(home.topic, home.group, [jobText(home)]);

/** Invokes the consumer once with these bodies. Answers the indexes of the messages that SQS must keep. */
async function consume(bodies: readonly string[], remaining = 30 * SECOND): Promise<number[]> {
  const Records = bodies.map((body, i) => ({ messageId: String(i), receiptHandle: `h${i}`, body }));
  const { batchItemFailures } = await functions.consumer({ Records } as SQSEvent, context(remaining));
  return batchItemFailures.map(({ itemIdentifier }) => Number(itemIdentifier));
}

const MESSAGES = [...hostileMessages()];

describe("a consumer runs the mates of", () => {
  test.each(MESSAGES)("%s", async (_, hostile) => {
    const mates = [await world().file({ body: "1" }), await world().file({ body: "2" })];
    const kept = await consume([messageFor(mates[0] as Home), hostile, messageFor(mates[1] as Home)]);
    expect(kept.filter((place) => place !== 1)).toEqual([]);
    for (const { id } of mates) expect(await world().home(id)).toMatchObject({ state: "done", attempt: 1 });
  });
});

describe("with hostile messages of an untracked topic", () => {
  const untracked = MESSAGES.map(([what, text]) => [what, text.replaceAll('"orders"', '"notes"')] as const);

  test.each(untracked)("its consumer runs the mates of %s", async (_, hostile) => {
    const mate = await world().file({ body: "1" });
    expect(await consume([hostile, messageFor(mate)], 2 * SECOND)).not.toContain(1);
    expect(await world().home(mate.id)).toMatchObject({ state: "done" });
  });
});

describe("a webhook's function", () => {
  let receiver: Receiver;
  let connections = 0;
  beforeAll(async () => {
    receiver = await startReceiver((_, response) => response.end());
    receiver.server.on("connection", () => connections++);
  });
  afterAll(() => receiver[Symbol.asyncDispose]());
  beforeEach(() => {
    connections = 0;
  });

  async function call(topic: string, bodies: readonly string[]): Promise<number[]> {
    const ctx = createContext();
    const settings = { topic, secrets: async () => ["A".repeat(44)], post: httpPost() };
    const handler = webhookOn(ctx, settings, TIMERS, ctx.telemetry.flush);
    const Records = bodies.map((body, i) => ({ messageId: String(i), receiptHandle: `h${i}`, body }));
    const { batchItemFailures } = await handler({ Records } as SQSEvent, context(60 * SECOND));
    return batchItemFailures.map(({ itemIdentifier }) => Number(itemIdentifier));
  }

  /** A job that was filed with a URL that may be called, and a forged message of it with another URL. */
  async function filed(topic: string, callbackUrl: string): Promise<{ home: Home; text: string }> {
    const home = await world().file({ topic, body: "1", callbackUrl: "https://shop.example/hooks" });
    const text = messageText(topic, undefined, [jobText({ ...home, callbackUrl })]);
    return { home, text };
  }

  test.each([
    ["http://127.0.0.1:PORT/", "must begin with https:"],
    ["https://127.0.0.1:PORT/", "a public address"],
    ["https://0x7f.1:PORT/", "a public address"],
    ["https://2130706433:PORT/", "a public address"],
    ["https://[::1]:PORT/", "a public address"],
    ["https://[::ffff:7f00:1]:PORT/", "a public address"],
    ["https://localhost:PORT/", "must not lead to this machine"],
    ["https://a.localhost.:PORT/", "must not lead to this machine"],
    ["https://169.254.169.254/latest/meta-data/", "a public address"],
    ["https://user:pass@shop.example/", "no user name or password"],
    ["file:///etc/passwd", "must begin with https:"],
    ["//127.0.0.1:PORT/", "must be a complete URL"],
    ["", "must be a complete URL"],
    ["https://shop.example/LONG", "characters"],
  ])("judges the callback URL of a forged message again: %s", async (url, rule) => {
    const named = url.replace("PORT", String(receiver.port)).replace("LONG", "x".repeat(100_000));
    const { home, text } = await filed("hooks", named);
    expect(await call("hooks", [text])).toEqual([]);
    expect(connections).toBe(0);
    expect(await world().home(home.id)).toMatchObject({
      state: "scheduled",
      attempt: 1,
      lastError: expect.stringContaining(rule),
    });
  });

  test("calls what its topic allows", async () => {
    const { home, text } = await filed("open", receiver.url);
    await call("open", [text]);
    expect(connections).toBe(1);
    expect(await world().home(home.id)).toMatchObject({ state: "done" });
  });

  test.each(MESSAGES)("calls for the mates of %s", async (_, hostile) => {
    const mates = [await filed("open", receiver.url), await filed("open", receiver.url)];
    const bodies = mates.map(({ text }) => text);
    const kept = await call("open", [...bodies, hostile.replaceAll('"orders"', '"open"')]);
    expect(kept.filter((place) => place < mates.length)).toEqual([]);
    for (const { home } of mates) expect(await world().home(home.id)).toMatchObject({ state: "done" });
  });
});

test.each(["orders", "notes"])(
  "an invocation without time left gives back the jobs of %s, and keeps a message that it cannot write again",
  async (topic) => {
    const mate = await world().file({ topic: "work" });
    for (const [what, text] of MESSAGES) {
      const kept = await consume([text.replaceAll('"orders"', `"${topic}"`), messageFor(mate)], 0);
      expect(kept).not.toContain(1);
      if (what === "a deep body") expect(kept).toEqual([0]);
    }
  },
);

test("receive hands out the mates of hostile messages, and answers", async () => {
  for (const [, text] of MESSAGES) {
    const body = text.replaceAll('"orders"', '"work"');
    await world().queues.send({ topic: "work" }, [{ body, delaySeconds: 0 }]);
  }
  const mate = await world().file({ topic: "work" });
  const pulled: string[] = [];
  for (let i = 0; i < MESSAGES.length; i++) {
    const answer = await functions.receive(eventOf("POST", "/topics/work/receive", '{"max":10}'));
    expect(answer).toMatchObject({ statusCode: 200 });
    const { jobs } = JSON.parse(answer.body ?? "") as { jobs: { id: string }[] };
    pulled.push(...jobs.map(({ id }) => id));
  }
  // A message of a job that was filed untracked runs without a home, whoever sent it (docs/reference/security.md).
  expect(pulled.filter((id) => id === mate.id)).toEqual([mate.id]);
});

test("the tick deletes the dead letters of redriven jobs, whatever hostile messages are in the DLQ", async () => {
  const filed = await world().file({ maxAttempts: 1, body: '{"fails":"no bank"}' });
  await consume([messageFor(filed)]);
  for (const [, body] of MESSAGES)
    await world().queues.send({ topic: "orders", dead: true }, [{ body, delaySeconds: 0 }]);
  await functions.tick({}, context(180 * SECOND));
  await functions.api(eventOf("POST", "/topics/orders/redrive", "{}"));
  await world().pass(MINUTE, { ticks: false });
  await functions.tick({}, context(180 * SECOND));
  const left = world().queues.messages({ topic: "orders", dead: true });
  expect(left.filter(({ body }) => body.includes(filed.id))).toEqual([]);
  expect(await world().home(filed.id)).toMatchObject({ state: "scheduled", attempt: 0 });
});

describe("the functions of schedules survive hostile events, and other jobs still run:", () => {
  test.each([...hostileEvents()])("%s", async (_, event) => {
    const mate = await world().file({ body: "1", delay: MINUTE });
    for (const invoke of [functions.promote, functions.occur])
      await invoke(event).catch((error: unknown) => expect(error).toBeInstanceOf(Error));
    await world().pass(MINUTE, { ticks: false });
    await functions.tick({}, context(180 * SECOND));
    const messages = world().queues.messages({ topic: "orders" });
    const mine = messages.findIndex(({ body }) => body.includes(mate.id));
    expect(await consume(messages.map(({ body }) => body))).not.toContain(mine);
    expect(await world().home(mate.id)).toMatchObject({ state: "done" });
    for (const path of ["/jobs", "/forecast", "/topics/orders", "/topics/orders/dead"]) {
      const event = eventOf("GET", path, undefined, { rawQueryString: path === "/jobs" ? WHOLE : "" });
      expect({ path, ...(await functions.api(event)) }).toMatchObject({ statusCode: 200 });
    }
  });
});

describe("the events' function applies the mates of", () => {
  const mate = JSON.stringify({
    id: "mate",
    source: "shop",
    "detail-type": "Paid",
    time: "2026-03-01T09:00:00Z",
    detail: { key: "mine" },
  });

  test.each([...hostileBusEvents()])("%s", async (_, hostile) => {
    written.length = 0;
    const { id } = await world().file({ key: "mine", delay: MINUTE });
    const Records = [hostile, mate].map((body, i) => {
      return { messageId: String(i), receiptHandle: `h${i}`, body, attributes: {} };
    });
    const { batchItemFailures } = await functions.bring({ Records } as unknown as SQSEvent);
    expect(batchItemFailures).not.toContainEqual({ itemIdentifier: "1" });
    expect(await world().home(id)).toMatchObject({ state: "cancelled" });
    expect(written.join("")).not.toMatch(/their-key|TypeError|RangeError/);
    await functions.tick({}, context(180 * SECOND));
  });
});

const WHOLE = "from=2026-03-01T08:00:00.000Z&to=2026-03-01T10:00:00.000Z";

function eventOf(method: string, rawPath: string, body?: string, more: object = {}): APIGatewayProxyEventV2 {
  const event: object = {
    rawPath,
    rawQueryString: "",
    headers: { "content-type": "application/json" },
    isBase64Encoded: false,
    requestContext: { http: { method } },
    ...(body === undefined ? {} : { body }),
    ...more,
  };
  return event as APIGatewayProxyEventV2;
}

const MB = 1_000_000;
/** CPU ms, because a client can send many such requests at no cost: far more than a slow machine needs, far less than a quadratic loop. */
const CPU_MS = 10_000;

const many = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join();
const jobWith = (fields: string) => `{"topic":"orders","delay":1,"body":1,${fields}}`;

const EVENTS: [string, APIGatewayProxyEventV2][] = [
  ["10 MB of text", eventOf("POST", "/jobs", "x".repeat(10 * MB))],
  ["10 MB of brackets", eventOf("POST", "/jobs", "[".repeat(10 * MB))],
  [
    "10 MB of one string",
    eventOf("POST", "/jobs", `{"topic":"orders","delay":1,"body":"${"x".repeat(10 * MB)}"}`),
  ],
  [
    "10 MB of zero bytes",
    eventOf("POST", "/jobs", Buffer.alloc(10 * MB).toString("base64"), { isBase64Encoded: true }),
  ],
  ["3 MB of digits", eventOf("POST", "/jobs", `{"body":${"9".repeat(3 * MB)}}`)],
  ["3 MB of escapes", eventOf("POST", "/jobs", `{"body":"${"\\u0000".repeat(MB / 2)}"}`)],
  ["3 MB of backslashes", eventOf("POST", "/jobs", `{"body":"${"\\".repeat(3 * MB)}`)],
  ["3 MB of empty objects", eventOf("POST", "/jobs/batch", `{"jobs":[${"{},".repeat(MB)}{}]}`)],
  ["3 MB of fields", eventOf("POST", "/jobs", `{${Array.from({ length: 200_000 }, (_, i) => `"f${i}":1`)}}`)],
  [
    "3 MB of durations",
    eventOf("POST", "/jobs", `{"topic":"orders","body":1,"delay":"${"1h".repeat(MB)}!"}`),
  ],
  ["3 MB of spaces", eventOf("POST", "/jobs", " ".repeat(3 * MB))],
  ["an exponent of 10 digits", eventOf("POST", "/jobs", '{"topic":"orders","delay":1,"body":1e9999999999}')],
  ["text that is not base64", eventOf("POST", "/jobs", "!!!! ~~~~", { isBase64Encoded: true })],
  ["a long path", eventOf("GET", `/jobs/${"a".repeat(MB)}`)],
  ["a path of percent signs", eventOf("GET", `/topics/orders/jobs/${"%".repeat(100_000)}`)],
  ["a path of slashes", eventOf("GET", "/".repeat(100_000))],
  ["no path", eventOf("GET", "")],
  ["another host as path", eventOf("GET", "@example.com/jobs")],
  ["two slashes and a host", eventOf("GET", "//example.com/jobs")],
  ["a long query", eventOf("GET", "/jobs", undefined, { rawQueryString: "a&".repeat(20_000) })],
  [
    "a prototype in the query",
    eventOf("GET", "/jobs", undefined, { rawQueryString: "__proto__=1&constructor=2" }),
  ],
  [
    "a prototype among the headers",
    eventOf("GET", "/health", undefined, { headers: JSON.parse('{"__proto__":"x"}') }),
  ],
  [
    "10,000 headers",
    eventOf("GET", "/health", undefined, {
      headers: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`h${i}`, "x"])),
    }),
  ],
  [
    "control characters in headers",
    eventOf("POST", "/jobs", "{}", { headers: { "idempotency-key": "\0\r\n\u0007", "x y": "z" } }),
  ],
  [
    "a lying content-length",
    eventOf("POST", "/jobs", "{}", { headers: { "content-length": "99999999999" } }),
  ],
  [
    "1,500,000 ids to redrive",
    eventOf("POST", "/topics/work/redrive", `{"ids":[${"0,".repeat(1.5 * MB)}0]}`),
  ],
  ["1,500,000 ids to cancel", eventOf("POST", "/jobs/cancel", `{"ids":[${"0,".repeat(1.5 * MB)}0]}`)],
  [
    "150,000 headers of a job",
    eventOf("POST", "/jobs", jobWith(`"headers":{${many(150_000, (i) => `"é${i}":1`)}}`)),
  ],
  ["200,000 unknown fields", eventOf("POST", "/jobs", jobWith(many(200_000, (i) => `"field${i}":1`)))],
  [
    "500 jobs of 500 unknown fields",
    eventOf("POST", "/jobs/batch", `{"jobs":[${many(500, () => `{${many(500, (i) => `"f${i}":1`)}}`)}]}`),
  ],
  ["the method CONNECT", eventOf("CONNECT", "/jobs")],
  ["a method with a space", eventOf("GET /", "/jobs")],
];

describe("the api function answers, with no error of its own:", () => {
  test.each(EVENTS)("%s", async (_, event) => {
    written.length = 0;
    const before = process.cpuUsage();
    const { statusCode = 0, body = "" } = await functions.api(event);
    expect(statusCode).toBeGreaterThanOrEqual(200);
    expect(statusCode).toBeLessThan(500);
    // Far below the largest answer ("Invocation payload", Lambda quotas): a refusal is short.
    expect(Buffer.byteLength(body)).toBeLessThan(MB);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(CPU_MS);
    expect(written.join("")).not.toContain('"level":"ERROR"');
    expect((await functions.api(eventOf("GET", "/health"))).statusCode).toBe(200);
    expect({}).not.toHaveProperty("topic");
  });
});
