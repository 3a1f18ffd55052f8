import { describe, expect, test } from "vitest";
import { type EventSettings, eventRulesOf, heedsTombstones } from "../../core/event-settings.ts";

const matched = { detailType: "OrderPaid", key: "$.detail.orderId" } as const;
const rulesOf = (settings: EventSettings<number>) => eventRulesOf("orders", settings, (seconds) => seconds);

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
    expect(heedsTombstones(rulesOf(settings))).toBe(heeded);
  });
});
