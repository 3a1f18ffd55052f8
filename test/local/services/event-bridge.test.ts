import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from "@aws-sdk/client-eventbridge";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AwsEndpoint, startAwsEndpoint } from "../../../local/services/aws-endpoint.ts";
import { createEventBridgeService } from "../../../local/services/event-bridge.ts";
import type { EventRuleSpec } from "../../../local/template/event-rule.ts";

const NOON = Date.UTC(2026, 2, 12, 12, 0, 0, 999);
const PAID: PutEventsRequestEntry = { Source: "shop", DetailType: "OrderPaid", Detail: '{"orderId":"17"}' };

let endpoint: AwsEndpoint;
let client: EventBridgeClient;
const eventBridge = createEventBridgeService({
  region: "us-east-1",
  account: "000000000000",
  now: () => NOON,
});
const lines: string[] = [];
let sent: [queueArn: string, event: Record<string, unknown>][] = [];

beforeEach(async () => {
  endpoint = await startAwsEndpoint(eventBridge.operations);
  client = new EventBridgeClient({
    endpoint: endpoint.url,
    region: "us-east-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
  });
  sent = [];
  lines.length = 0;
});

afterEach(async () => {
  client.destroy();
  await endpoint.stop();
});

const put = (...Entries: PutEventsRequestEntry[]) => client.send(new PutEventsCommand({ Entries }));

function listen(
  rules: Record<string, Partial<EventRuleSpec>>,
  send = async (arn: string, body: string): Promise<unknown> => sent.push([arn, JSON.parse(body)]),
): void {
  const specs = Object.entries(rules).map(([queue, rule]) => ({
    arn: `rule-of-${queue}`,
    bus: "default",
    sources: undefined,
    detailTypes: undefined,
    queueArns: [queue],
    ...rule,
  }));
  eventBridge.start({
    applyingQueues: new Set(),
    rules: specs,
    buses: ["shop-bus"],
    send,
    log: (line) => lines.push(line),
  });
}

const reached = () => sent.map(([queue]) => queue).sort();

test("an event reaches a rule's queue in EventBridge's form, with its time in whole seconds", async () => {
  listen({ paid: { detailTypes: ["OrderPaid"] } });
  const { FailedEntryCount, Entries } = await put({ ...PAID, Resources: ["order/17"] });
  expect({ FailedEntryCount, Entries }).toEqual({
    FailedEntryCount: 0,
    Entries: [{ EventId: expect.stringMatching(/^[0-9a-f-]{36}$/) }],
  });
  expect(sent).toEqual([
    [
      "paid",
      {
        version: "0",
        id: Entries?.[0]?.EventId,
        "detail-type": "OrderPaid",
        source: "shop",
        account: "000000000000",
        time: "2026-03-12T12:00:00Z",
        region: "us-east-1",
        resources: ["order/17"],
        detail: { orderId: "17" },
      },
    ],
  ]);
});

test("an event may have its own time", async () => {
  listen({ paid: {} });
  await put({ ...PAID, Time: new Date("2026-03-01T08:30:00Z") });
  expect(sent[0]?.[1]).toMatchObject({ time: "2026-03-01T08:30:00Z", resources: [] });
});

test("a rule gets the events that match its pattern, and no others", async () => {
  listen({
    all: {},
    paid: { detailTypes: ["OrderPaid", "OrderClosed"] },
    shop: { sources: ["shop"] },
    both: { sources: ["shop"], detailTypes: ["OrderPaid"] },
    other: { sources: ["till"], detailTypes: ["OrderPaid"] },
    partly: { detailTypes: ["Order"] },
  });
  await put(PAID);
  expect(reached()).toEqual(["all", "both", "paid", "shop"]);
});

test.each(["shop-bus", "arn:aws:events:us-east-1:000000000000:event-bus/shop-bus"])(
  "an event for the bus %s reaches no rule of the default bus",
  async (EventBusName) => {
    listen({ theirs: { bus: "shop-bus" }, default: {} });
    await put({ ...PAID, EventBusName });
    expect(reached()).toEqual(["theirs"]);
    expect(lines).toEqual([]);
  },
);

test("an event for an unknown bus is accepted and lost, as on AWS, and the log says so", async () => {
  listen({ default: {} });
  expect(await put({ ...PAID, EventBusName: "shopp" })).toMatchObject({ FailedEntryCount: 0 });
  expect(sent).toEqual([]);
  expect(lines).toEqual(["an event was put on the bus shopp, which the template does not have"]);
});

test.each([
  [
    { Source: "" },
    "InvalidArgument",
    "Parameter Source is not valid. Reason: Source is a required argument.",
  ],
  [{ DetailType: "" }, "InvalidArgument", "Parameter DetailType is not valid."],
  [{ DetailType: "x".repeat(129) }, "InvalidArgument", "Parameter DetailType is not valid."],
  [{ Detail: "" }, "InvalidArgument", "Parameter Detail is not valid."],
  [{ Detail: "paid" }, "MalformedDetail", "Detail is malformed."],
  [{ Detail: "[17]" }, "MalformedDetail", "Detail is malformed."],
  [{ Source: "aws.shop" }, "NotAuthorizedForSourceException", "Not authorized for the source."],
])("an entry with %j is rejected, and the other entries are accepted", async (wrong, ErrorCode, message) => {
  listen({ all: {} });
  const { FailedEntryCount, Entries } = await put(PAID, { ...PAID, ...wrong }, PAID);
  expect({ FailedEntryCount, Entries }).toEqual({
    FailedEntryCount: 1,
    Entries: [
      { EventId: expect.any(String) },
      { ErrorCode, ErrorMessage: expect.stringContaining(message) },
      { EventId: expect.any(String) },
    ],
  });
  expect(sent).toHaveLength(2);
});

test("a request may have at most ten entries and 1 MiB", async () => {
  listen({ all: {} });
  const ten = Array.from({ length: 10 }, () => PAID);
  expect(await put(...ten)).toMatchObject({ FailedEntryCount: 0 });
  await expect(put(...ten, PAID)).rejects.toMatchObject({ name: "ValidationException" });
  await expect(put()).rejects.toMatchObject({ name: "ValidationException" });
  const room = 1024 * 1024 - "shopOrderPaid".length;
  const detail = (bytes: number) => JSON.stringify({ text: '"'.repeat(10), more: "x".repeat(bytes) });
  const Detail = detail(room - detail(0).length);
  expect(await put({ ...PAID, Detail })).toMatchObject({ FailedEntryCount: 0 });
  await expect(put({ ...PAID, Detail: `${Detail} ` })).rejects.toThrow("Total size of the entries");
  expect(sent).toHaveLength(11);
});

test("if a queue does not take an event, its entry fails, so that the sender can retry", async () => {
  listen({ all: {} }, () => Promise.reject(new Error("the queue is away")));
  const { FailedEntryCount, Entries } = await put(PAID);
  expect({ FailedEntryCount, Entries }).toEqual({
    FailedEntryCount: 1,
    Entries: [{ ErrorCode: "InternalFailure", ErrorMessage: "the queue is away" }],
  });
});
