import { describe, expect, test } from "vitest";
import { createTestQueue } from "../../src/testing/test-queue.ts";

describe("a test queue", () => {
  test.each([
    ["no way to run its jobs", {}],
    ["two ways", { handler: () => {}, consumer: "pull" }],
    ["a webhook without a receiver", { webhook: { url: "https://shop.example" } }],
  ] as const)("refuses a topic with %s", (_, topic) => {
    expect(() => createTestQueue({ topics: { orders: topic } })).toThrow(
      "topic orders must have exactly one way to run",
    );
  });

  test("refuses what is no duration or time", async () => {
    const topics = { orders: { handler: () => {} } };
    await expect(createTestQueue({ topics }).advance("soon" as "1m")).rejects.toThrow(
      'duration must be a number of seconds (0 or more), or a text such as "90s", "30m", "1h30m" or "7d", got "soon"',
    );
    expect(() => createTestQueue({ topics, now: "today" })).toThrow('+01:00[Europe/Paris], got "today"');
    expect(() => createTestQueue({ topics: { work: { consumer: "pull", ttr: "x" as "1s" } } })).toThrow(
      "work.ttr must be",
    );
  });

  test.each([
    [undefined, "the options of the test queue must be an object, got nothing"],
    [{}, "topics must be an object with a topic for each name, got nothing"],
    [{ topics: 5 }, "topics must be an object with a topic for each name, got 5"],
    [
      { topics: {}, start: 0 },
      'the test queue has an unknown option "start"; allowed are topics, schemas, now, seed, handlerTimeout, prefix',
    ],
    [{ topics: {}, seed: 1.5 }, "seed must be a whole number, got 1.5"],
    [{ topics: {}, seed: "1" }, 'seed must be a whole number, got "1"'],
    [
      { topics: {}, handlerTimeout: 0 },
      "handlerTimeout must be a number of ms from 1 to 2,147,483,647, got 0",
    ],
    [
      { topics: {}, handlerTimeout: "5000" },
      'handlerTimeout must be a number of ms from 1 to 2,147,483,647, got "5000"',
    ],
    // A timer with a longer delay fires at once.
    [
      { topics: {}, handlerTimeout: Infinity },
      "handlerTimeout must be a number of ms from 1 to 2,147,483,647, got Infinity",
    ],
    [{ topics: {}, handlerTimeout: 2 ** 31 }, "from 1 to 2,147,483,647, got 2147483648"],
    [{ topics: { orders: null } }, "the options of topic orders must be an object, got null"],
    [
      { topics: { orders: { handler: 5 } } },
      "orders.handler must be a function, or the result of consumer(…), got 5",
    ],
    [{ topics: { orders: { receiver: "x" } } }, 'orders.receiver must be a function, got "x"'],
    [
      { topics: { orders: { handler: () => {}, maxAttempt: 2 } } },
      /^topics.orders has an unknown setting "maxAttempt" \(did you mean "maxAttempts"\?\); allowed are handler, .*, maxAttempts, /,
    ],
    [
      { topics: { orders: { handler: () => {}, backoff: { exponential: { first: 1 } } } } },
      'topics.orders.backoff.exponential has an unknown setting "first"',
    ],
  ])("refuses wrong options that plain JavaScript can give without types: %j", (options, message) => {
    const create = () => createTestQueue(options as never);
    expect(create).toThrow(RangeError);
    expect(create).toThrow(message);
  });

  test.each([
    { seed: 0, handlerTimeout: 1 },
    { seed: -1, handlerTimeout: 2 ** 31 - 1 },
    { seed: undefined, handlerTimeout: undefined },
  ])("takes %j", (options) => {
    const queue = createTestQueue({ topics: {}, ...options } as never);
    expect(queue.runs()).toEqual([]);
  });
});
