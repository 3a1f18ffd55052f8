import { describe, expect, test } from "vitest";
import { createTestQueue } from "../../src/testing/test-queue.ts";

const handler = () => {};
const PAID = { detailType: "OrderPaid", key: "$.detail.orderId" };

/** Settings that synth refuses too, in the forms that plain JavaScript can give. */
const REFUSED: readonly [object, string][] = [
  [
    { handler, window: "9-18 Shanghai" },
    'topics.orders.window must be a range of hours, is "9-18 Shanghai"; allowed: two different times of day',
  ],
  [{ handler, maxAttempts: 0 }, "topics.orders.maxAttempts must be at least 1, is 0; allowed: 1 to 100"],
  [{ handler, backoff: [] }, 'topics.orders.backoff must be a list of waits, is "0 waits"'],
  [
    { handler, backoff: ["15s", "11y"] },
    'topics.orders.backoff[1] must be a duration, is "11y"; allowed: a number of seconds (0 or more), or a text such as "90s"',
  ],
  [
    { handler, backoff: ["4000d"] },
    "topics.orders.backoff[0] must be at most 316224000 s, is 345600000; allowed: 0 to 316224000",
  ],
  [{ handler, backoff: [null] }, "backoff[0] must be a duration, is null; allowed: a number of seconds"],
  [
    { handler, backoff: ["15"] },
    'orders.backoff[0] must be a duration, is "15"; allowed: a number of seconds',
  ],
  [
    { handler, backoff: { exponential: { initial: "soon", factor: 2, max: "1h", jitter: 0 } } },
    'orders.backoff.exponential.initial must be a duration, is "soon"; allowed: a number of seconds',
  ],
  [{ handler, window: "09:00-18:00 BST" }, 'must be a range of hours, is "09:00-18:00 BST"'],
  [{ handler, maxPerSecond: -1 }, "topics.orders.maxPerSecond must be a number of starts a second, is -1"],
  [
    { handler, tracking: "nonne" },
    'tracking must be one of the allowed values, is "nonne"; allowed: full or none',
  ],
  [
    { handler, ifLate: { after: "1m", do: "drop" } },
    'topics.orders.ifLate.do must be one of the allowed values, is "drop"; allowed: run or skip or expire',
  ],
  [
    { handler, ifLate: { after: "1m", do: "skip" }, tracking: "none" },
    "topics.orders.ifLate needs a tracked topic",
  ],
  [{ handler, ifLate: { after: "soon", do: "skip" } }, "orders.ifLate.after must be a duration"],
  [
    { handler, ifLate: { after: 40_000_000, do: "skip" } },
    "topics.orders.ifLate.after must be a duration, is 40000000; allowed: at most 31622400 as a number, which is seconds (did you mean milliseconds?)",
  ],
  [
    { handler, backoff: { waits: ["15s"] } },
    'topics.orders.backoff must be a list of waits, or exponential, is {"waits":["15s"]}; allowed: such as ["15s", "3m"]',
  ],
  [{ handler, spread: "1000d" }, "spread must be at most 86400 s, is 86400000; allowed: 0 to 86400 seconds"],
  [{ handler, ttr: 60 }, "topics.orders.ttr is allowed for a pull topic only, is 60; allowed: nothing here"],
  [{ consumer: "pull", ttr: 0 }, "topics.orders.ttr must be at least 1 s, is 0; allowed: 1 to 43200 seconds"],
  [{ consumer: "pul" }, "topic orders must have exactly one way to run its jobs"],
  [{ handler, consumer: "pul" }, 'topics.orders.consumer must be one of the allowed values, is "pul"'],
  [{ handler, webhook: {} }, "topic orders must have exactly one way to run its jobs"],
  [{ handler, receiver: handler }, "topic orders must have exactly one way to run its jobs"],
  [{ handler, webhook: {}, receiver: handler }, "topic orders must have exactly one way to run its jobs"],
  [{ receiver: handler }, "topic orders must have exactly one way to run its jobs"],
  [
    { handler, cancelOn: { detailType: "D", key: "detail.id" } },
    'topics.orders.cancelOn.key must be a path into the event, is "detail.id"; allowed: $.name or',
  ],
  [{ handler, cancelOn: { key: "$.id" } }, "cancelOn.detailType must be text, is nothing; allowed: 1 to 128"],
  [
    { handler, cancelOn: [{ ...PAID, tombstone: "30d" }] },
    "topics.orders.cancelOn[0].tombstone must be at most 86400 s, is 2592000; allowed: 0 to 86400 seconds",
  ],
  [{ handler, cancelOn: { ...PAID, tombstone: "x" } }, "orders.cancelOn.tombstone must be a duration"],
  [{ handler, cancelOn: PAID, tracking: "none" }, "cancelOn needs a tracked topic"],
  [
    { handler, enqueueOn: { ...PAID, delay: 60, onDuplicate: "postpone" } },
    'topics.orders.enqueueOn.maxDelay must be given with onDuplicate "postpone", is nothing',
  ],
  [
    { handler, enqueueOn: { ...PAID, delay: 60, onDuplicate: "repace" } },
    'onDuplicate must be one of the allowed values, is "repace"; allowed: keep or replace or postpone',
  ],
  [{ webhook: { url: "http://shop.example" }, receiver: handler }, "webhook.url must begin with https:"],
  [{ handler, concurrency: 26 }, "topics.orders.concurrency must be at most 25, is 26; allowed: 1 to 25"],
  [{ handler, oldestMessageAge: "soon" }, "topics.orders.oldestMessageAge must be a duration"],
  [{ consumer: "pull", concurrency: 5 }, "topics.orders.concurrency is allowed for a Lambda consumer only"],
];

/** What `DelayQueue` takes, and a test queue does not play. */
const DEPLOYED = { precision: "second", oldestMessageAge: "1h", alarms: ["Dead"] } as const;

describe("a test queue", () => {
  test.each(REFUSED)("refuses %j as synth does", (topic, message) => {
    const create = () => createTestQueue({ topics: { orders: topic } } as never);
    expect(create).toThrow(RangeError);
    expect(create).toThrow(message);
  });

  test.each([
    ["2026-02-30T00:00:00Z", "now must be a time that exists"],
    ["2026-03-01", "now must be a time with its offset from UTC, yyyy-mm-ddThh:mm:ss"],
    ["soon", "now must be a time with its offset from UTC, yyyy-mm-ddThh:mm:ss"],
  ])("refuses to begin at %s", (now, rule) => {
    const create = () => createTestQueue({ topics: { orders: { handler } }, now });
    expect(create).toThrow(rule);
    expect(create).toThrow(`got "${now}"`);
  });

  test("takes the settings of a deployed topic that change nothing in a test", async () => {
    const lambda = { ...DEPLOYED, pack: 10, concurrency: 10 };
    const queue = createTestQueue({
      topics: {
        orders: { ...lambda, maximumConcurrency: 2, handler },
        hooks: { ...lambda, webhook: { timeout: "5s" }, receiver: () => ({ status: 200, body: "" }) },
        work: { ...DEPLOYED, precision: "millisecond", pack: 1, consumer: "pull" },
        polled: { pollers: { min: 2, max: 20 }, handler },
      },
    });
    for (const body of [1, 2]) await queue.client.enqueue("orders", body, { delay: 0.5 });
    for (const body of [1, 2]) await queue.client.enqueue("work", body, { delay: 1 });
    await queue.advance(1);
    const at = new Date("2026-01-01T00:00:00.500Z");
    expect(queue.runs()).toMatchObject([
      { body: 1, at },
      { body: 2, at },
    ]);
    expect(await queue.client.receive("work", { max: 10 })).toHaveLength(2);
  });

  test("refuses a topic whose name no queue can have", () => {
    expect(() => createTestQueue({ topics: { "Order.Timeout": { handler } } })).toThrow(
      'is "Order.Timeout"; allowed: 1 to 50 characters of a-z, 0-9 and -',
    );
  });
});
