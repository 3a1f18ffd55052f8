import { afterEach, describe, expect, test, vi } from "vitest";
import type { History } from "../../console/history.ts";
import { stackHistory } from "../../src/cli/stack-history.ts";
import { type Account, type MetricQuery, scriptAccount } from "./scripted-account.ts";

const NOW = Date.parse("2026-03-12T12:30:20Z");
const MINUTE = Date.parse("2026-03-12T12:29:00Z");
const URL_PREFIX = {
  "Fn::Join": [
    "",
    ["https://sqs.", { Ref: "AWS::Region" }, ".amazonaws.com/", { Ref: "AWS::AccountId" }, "/shop-"],
  ],
};

afterEach(() => {
  vi.unstubAllEnvs();
});

function stackWith(variables: object, ...others: object[]): NonNullable<Account["stacks"]> {
  const resources = [variables, ...others].map((one, index) => [
    `Tick${index}`,
    { Type: "AWS::Lambda::Function", Properties: { Environment: { Variables: one } } },
  ]);
  return {
    Shop: { status: "CREATE_COMPLETE", outputs: [], template: { Resources: Object.fromEntries(resources) } },
  };
}

const SHOP = stackWith({ MINUTEHAND_QUEUE_URL_PREFIX: URL_PREFIX });
const sources = { clock: () => NOW, topics: async () => ["mail", "idle"] };

function valuesOf({ MetricStat: { Metric, Stat } }: MetricQuery): Record<number, number> {
  const { service, topic } = Object.fromEntries(Metric.Dimensions.map(({ Name, Value }) => [Name, Value]));
  if (Metric.Namespace !== "Minutehand" || service !== "shop" || topic !== "mail") return {};
  const values: Record<string, number> = {
    "Lateness SampleCount": 12,
    "Lateness p50": 300,
    "Lateness p99": 4200,
    "Failed Sum": 2,
    "Lateness TC(:100)": 5,
    "Lateness TC(250:500)": 6,
    "Lateness TC(300000:)": 1,
  };
  const value = values[`${Metric.MetricName} ${Stat}`];
  return value === undefined ? {} : { [MINUTE]: value };
}

describe("the history of a stack", () => {
  test("is read from CloudWatch's metrics, minute by minute", async () => {
    await using _ = await scriptAccount({ stacks: SHOP, metrics: valuesOf });
    expect(await stackHistory("Shop", sources)({ hours: 1 })).toEqual({
      from: Date.parse("2026-03-12T11:30:00Z"),
      to: NOW,
      topics: [
        {
          topic: "mail",
          minutes: [{ at: MINUTE, started: 12, failed: 2, dead: 0, late: { p50: 300, p99: 4200 } }],
        },
      ],
    });
  });

  test("of one topic says how many jobs were how late", async () => {
    await using _ = await scriptAccount({ stacks: SHOP, metrics: valuesOf });
    const found = (await stackHistory("Shop", sources)({ hours: 1, topic: "mail" })) as History;
    expect(found.topics[0]?.minutes[0]?.steps).toEqual([5, 0, 6, 0, 0, 0, 0, 0, 0, 1]);
  });

  test("is read once for all tabs, and again after half a minute", async () => {
    const metrics = vi.fn(valuesOf);
    await using _ = await scriptAccount({ stacks: SHOP, metrics });
    let now = NOW;
    const read = stackHistory("Shop", { ...sources, clock: () => now });
    await Promise.all([read({ hours: 1 }), read({ hours: 1 })]);
    expect(metrics).toHaveBeenCalledTimes(10);
    now += 30_000;
    await read({ hours: 1 });
    expect(metrics).toHaveBeenCalledTimes(20);
  });

  test("of many topics is read in calls of 500 metrics", async () => {
    await using _ = await scriptAccount({ stacks: SHOP, metrics: valuesOf });
    const topics = async () => [...Array.from({ length: 149 }, (_, index) => `t${index}`), "mail"];
    const found = (await stackHistory("Shop", { ...sources, topics })({ hours: 1 })) as History;
    expect(found.topics.map(({ topic, minutes }) => [topic, minutes[0]?.started])).toEqual([["mail", 12]]);
  });

  test.each<[string, Account, string]>([
    [
      "the right to read metrics",
      { stacks: SHOP },
      "your credentials need the right cloudwatch:GetMetricData: CloudWatch did not give the queue's metrics: User: arn:aws:iam::1:user/me is not authorized to perform: cloudwatch:GetMetricData",
    ],
    [
      "the right to read the template",
      { stacks: { Shop: { status: "CREATE_COMPLETE", outputs: [] } } },
      "CloudFormation did not say what the stack Shop declares: not authorized",
    ],
    [
      "a queue",
      { stacks: stackWith({}) },
      "the history is read from CloudWatch by the prefix of the queue, and the stack Shop does not have exactly one queue",
    ],
    [
      "a single queue",
      {
        stacks: stackWith(
          { MINUTEHAND_QUEUE_URL_PREFIX: URL_PREFIX },
          { MINUTEHAND_QUEUE_URL_PREFIX: "https://sqs/1/b-" },
        ),
      },
      "the history is read from CloudWatch by the prefix of the queue, and the stack Shop does not have exactly one queue",
    ],
    [
      "the metric",
      { stacks: stackWith({ MINUTEHAND_QUEUE_URL_PREFIX: URL_PREFIX, MINUTEHAND_TOPIC_METRICS: "Dead" }) },
      "the queue writes no metric Lateness, because `topicMetrics` of its construct leaves it out",
    ],
  ])("without %s is a sentence that says why", async (_, account, why) => {
    await using _account = await scriptAccount(account);
    expect(await stackHistory("Shop", sources)({ hours: 3 })).toEqual({ why });
  });
});
