import { describe, expect, test } from "vitest";
import { eventRulesOf } from "../../src/settings/event-settings.ts";
import { configuredPolicy } from "../../src/settings/policy.ts";

const matched = { detailType: "OrderPaid", key: "$.detail.orderId" } as const;
const inSeconds = (minutes: number) => 60 * minutes;

describe("a topic's settings for events", () => {
  test.each([
    ["cancels jobs in advance", { cancelOn: matched }, true],
    [
      "cancels and files",
      { cancelOn: { ...matched, tombstone: 0 }, enqueueOn: { ...matched, delay: 1 } },
      true,
    ],
    ["cancels only existing jobs", { cancelOn: { ...matched, tombstone: 0 } }, false],
    ["only files jobs", { enqueueOn: { ...matched, delay: 1 } }, false],
    ["does nothing", {}, false],
  ])("say whether new jobs must look for tombstones: a topic that %s", (_, settings, heeded) => {
    expect(configuredPolicy(settings, inSeconds).cancelledByEvents ?? false).toBe(heeded);
  });

  test("have their defaults if plain JavaScript gives undefined", () => {
    const none = { body: undefined, onDuplicate: undefined, maxDelay: undefined };
    const settings = {
      cancelOn: { ...matched, tombstone: undefined },
      enqueueOn: { ...matched, delay: 1, ...none },
    };
    expect(eventRulesOf("orders", settings as never, inSeconds)).toEqual([
      { topic: "orders", do: "cancel", ...matched, tombstone: 300 },
      { topic: "orders", do: "enqueue", ...matched, body: "$.detail", onDuplicate: "keep", delay: 60 },
    ]);
  });
});
