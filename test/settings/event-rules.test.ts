import { describe, expect, test } from "vitest";
import {
  bodyIn,
  type CancelRule,
  type EnqueueRule,
  isEventPath,
  keyIn,
  parseEvent,
  rulesFor,
} from "../../src/settings/event-rules.ts";

const TIME = "2026-03-01T09:00:00Z";
const whole = { id: "e1", source: "shop", "detail-type": "OrderPaid", time: TIME, detail: { orderId: "17" } };
const eventOf = (more: object = {}) => parseEvent(JSON.stringify({ ...whole, ...more }));
const of = { topic: "orders", detailType: "OrderPaid", key: "$.detail.orderId" } as const;
const cancels: CancelRule = { ...of, do: "cancel", tombstone: 300 };
const files: EnqueueRule = { ...of, do: "enqueue", delay: 60, body: "$.detail", onDuplicate: "keep" };
const refusal = (words: string) =>
  expect.objectContaining({ code: "bad-request", message: expect.stringContaining(words) });

describe("an event", () => {
  test("is read with its time in ms", () => {
    expect(eventOf()).toMatchObject({
      id: "e1",
      source: "shop",
      detailType: "OrderPaid",
      time: Date.UTC(2026, 2, 1, 9),
    });
  });

  test.each([
    ["no JSON", "{", "text that is no JSON"],
    ["null", "null", "an id that is nothing"],
    ["an array", "[]", "an id that is nothing"],
    ["without an id", JSON.stringify({ ...whole, id: undefined }), "an id that is nothing"],
    [
      "of a long id",
      JSON.stringify({ ...whole, id: "x".repeat(129) }),
      "an id that is text of 129 characters",
    ],
    ["of no source", JSON.stringify({ ...whole, source: 7 }), "a source that is 7"],
    ["of no detail-type", JSON.stringify({ ...whole, "detail-type": [] }), "a detail-type that is an array"],
    ["of no time", JSON.stringify({ ...whole, time: "soon" }), "a time that is text of 4 characters"],
  ])("that is %s is refused", (_, text, words) => {
    expect(() => parseEvent(text)).toThrow(refusal(words));
  });

  test("matches the rules of its source and detail-type, and the rules that name no source", () => {
    const rules = [
      { ...cancels, source: "shop" },
      { ...cancels, source: "bank" },
      files,
      { ...files, detailType: "OrderPlaced" },
    ];
    expect(rulesFor(rules, eventOf())).toEqual([rules[0], rules[2]]);
  });
});

test("of an event's rules, the longest tombstone comes first, and rules that file jobs come last", () => {
  const lasting = [10, 300, 60].map((tombstone) => ({ ...cancels, tombstone }));
  expect(rulesFor([files, ...lasting], eventOf())).toEqual([lasting[1], lasting[2], lasting[0], files]);
});

describe("an event's key", () => {
  test.each([
    ["text", "a-1", "a-1"],
    ["a whole number", 17, "17"],
    ["the largest that a double holds", Number.MAX_SAFE_INTEGER, "9007199254740991"],
  ])("is %s", (_, orderId, key) => {
    expect(keyIn(eventOf({ detail: { orderId } }), cancels)).toBe(key);
  });

  test.each([
    ["nothing", undefined, "got nothing"],
    ["null", null, "got null"],
    ["an object", {}, "got an object"],
    ["a fraction", 1.5, "got 1.5"],
    ["empty", "", "got text of 0 characters"],
    ["too long", "k".repeat(257), "got text of 257 characters"],
    ["with a slash", "a/b", "got text of 3 characters"],
    ["what a path cannot hold", "..", "got text of 2 characters"],
  ])("that is %s is refused, and the error does not contain it", (_, orderId, words) => {
    const read = () => keyIn(eventOf({ detail: { orderId } }), cancels);
    expect(read).toThrow(refusal(words));
    expect(read).toThrow(refusal("$.detail.orderId of event OrderPaid e1"));
  });

  const written = (orderId: string) =>
    parseEvent(JSON.stringify(whole).replace('"17"', `${orderId}, "other": 9007199254740993`));

  test.each(["9007199254740993", "1.00000000000000001", "4503599627370497.3"])(
    "that a double would alter is refused: %s",
    (orderId) => {
      expect(() => keyIn(written(orderId), cancels)).toThrow(
        refusal("got a number that a double would alter"),
      );
    },
  );

  test.each([
    ["1.0", "1"],
    ["1e2", "100"],
    ["-5", "-5"],
  ])("has the value of the number %s", (orderId, key) => {
    expect(keyIn(written(orderId), cancels)).toBe(key);
  });

  test.each(["$.detail.constructor.name", "$.detail.__proto__.a", "$.detail.orderId.length"])(
    "must be a field of the event's own, which %s is not",
    (key) => {
      expect(() => keyIn(eventOf(), { ...cancels, key })).toThrow(refusal("got nothing"));
    },
  );
});

describe("an event's body", () => {
  test("is the value at the rule's path, also if it is null", () => {
    expect(bodyIn(eventOf(), files)).toEqual({ orderId: "17" });
    expect(bodyIn(eventOf({ detail: { order: null } }), { ...files, body: "$.detail.order" })).toBeNull();
  });

  test("must exist at the rule's path", () => {
    expect(() => bodyIn(eventOf(), { ...files, body: "$.detail.order" })).toThrow(
      refusal("must be at $.detail.order of event OrderPaid e1"),
    );
  });

  test("is refused if a double would alter a number in it, though a key beside that number is taken", () => {
    const text = JSON.stringify(whole).replace('"17"', '"17","n":9007199254740993');
    expect(() => bodyIn(parseEvent(text), files)).toThrow(refusal("a double prints with at most 17 digits"));
    expect(keyIn(parseEvent(text), files)).toBe("17");
  });
});

test.each([
  ["$.detail.orderId", true],
  ["$.detail-type", true],
  ["$.detail.a_1.b-2", true],
  ["$", false],
  ["$.", false],
  ["detail.orderId", false],
  ["$.detail[0]", false],
  ["$.detail..a", false],
  ["$.detail.ä", false],
  ["$.detail.a\n", false],
])("a path in an event: %s", (path, is) => {
  expect(isEventPath(path)).toBe(is);
});
