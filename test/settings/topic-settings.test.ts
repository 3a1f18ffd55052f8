import { describe, expect, test } from "vitest";
import { eventRulesOf } from "../../src/settings/event-settings.ts";
import { configuredPolicy } from "../../src/settings/policy.ts";
import { SETTINGS, type TopicSettings } from "../../src/settings/topic-settings.ts";
import { documentedFields } from "../../tools/site/docstrings.ts";

const matched = { detailType: "OrderPaid", key: "$.detail.orderId" } as const;
const inSeconds = (minutes: number) => 60 * minutes;

describe("durations in a topic's settings", () => {
  test("become seconds in its policy, which leaves out defaults", () => {
    const said: TopicSettings<number> = { ttr: 2, spread: 3, ifLate: { after: 5, do: "skip" } };
    expect(configuredPolicy(said, inSeconds)).toEqual({
      ttr: 120,
      spread: 180,
      ifLate: { after: 300, do: "skip" },
    });
    expect(configuredPolicy({ spread: 0, ifLate: { after: 5, do: "run" } }, inSeconds)).toEqual({});
  });

  test("are converted together with their path, so that an error can name it", () => {
    const named: string[] = [];
    const secondsOf = (_: number, at: string) => named.push(at);
    configuredPolicy({ ttr: 1, spread: 1, ifLate: { after: 1, do: "skip" } }, secondsOf);
    const enqueueOn = { ...matched, delay: 1, maxDelay: 1 };
    eventRulesOf("orders", { cancelOn: { ...matched, tombstone: 1 }, enqueueOn: [enqueueOn] }, secondsOf);
    expect(named).toEqual([
      ...["ifLate.after", "ttr", "spread"],
      ...["cancelOn.tombstone", "enqueueOn.delay", "enqueueOn.maxDelay"],
    ]);
  });
});

test("each setting has a sentence and a default, as the docs' table shows them", () => {
  const documented = documentedFields(
    new URL("../../src/settings/topic-settings.ts", import.meta.url),
    "TopicSettings",
  );
  expect(documented.map(({ name }) => name).sort()).toEqual(SETTINGS.map(([name]) => name).sort());
  for (const { name, text, ifAbsent } of documented) expect([name, text, ifAbsent]).not.toContain(undefined);
});
