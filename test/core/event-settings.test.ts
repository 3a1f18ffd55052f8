import { describe, expect, test } from "vitest";
import { eventRulesOf } from "../../core/event-settings.ts";
import { configuredPolicy } from "../../core/policy.ts";

const matched = { detailType: "OrderPaid", key: "$.detail.orderId" } as const;
const inSeconds = (minutes: number) => 60 * minutes;

describe("what a topic says about events", () => {
  test.each([
    ["cancels ahead", { cancelOn: matched }, true],
    [
      "cancels and files",
      { cancelOn: { ...matched, tombstone: 0 }, enqueueOn: { ...matched, delay: 1 } },
      true,
    ],
    ["cancels what is there alone", { cancelOn: { ...matched, tombstone: 0 } }, false],
    ["files alone", { enqueueOn: { ...matched, delay: 1 } }, false],
    ["does nothing", {}, false],
  ])("has jobs look for tombstones as they are filed, or not: one that %s", (_, settings, heeded) => {
    expect(configuredPolicy(settings, inSeconds).cancelledByEvents ?? false).toBe(heeded);
  });

  test("has its defaults where plain JavaScript says undefined", () => {
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
