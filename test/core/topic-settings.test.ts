import { describe, expect, test } from "vitest";
import { eventRulesOf, type TopicSettings, timedPolicy } from "../../core/topic-settings.ts";

const matched = { detailType: "OrderPaid", key: "$.detail.orderId" } as const;
const inSeconds = (minutes: number) => 60 * minutes;

describe("what a topic says in durations", () => {
  test("its policy says in seconds, but not what is the default anyway", () => {
    const said: TopicSettings<number> = { ttr: 2, spread: 3, ifLate: { after: 5, do: "skip" } };
    expect(timedPolicy(said, inSeconds)).toEqual({
      ttr: 120,
      spread: 180,
      ifLate: { after: 300, do: "skip" },
    });
    expect(timedPolicy({ spread: 0, ifLate: { after: 5, do: "run" } }, inSeconds)).toEqual({});
  });

  test("is named where it is no duration", () => {
    const named: string[] = [];
    const secondsOf = (_: number, at: string) => named.push(at);
    timedPolicy({ ttr: 1, spread: 1, ifLate: { after: 1, do: "skip" } }, secondsOf);
    const enqueueOn = { ...matched, delay: 1, maxDelay: 1 };
    eventRulesOf("orders", { cancelOn: { ...matched, tombstone: 1 }, enqueueOn: [enqueueOn] }, secondsOf);
    expect(named).toEqual([
      ...["ttr", "spread", "ifLate.after"],
      ...["cancelOn.tombstone", "enqueueOn.delay", "enqueueOn.maxDelay"],
    ]);
  });
});

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
    expect(timedPolicy(settings, inSeconds).cancelledByEvents ?? false).toBe(heeded);
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
