import { afterEach, describe, expect, test, vi } from "vitest";
import type { History } from "../../console/history.ts";
import { knownQueue } from "../../src/cli/known-queue.ts";
import { stackHistory } from "../../src/cli/stack-history.ts";
import { type Account, type MetricQuery, type MetricsAnswer, scriptAccount } from "./scripted-account.ts";

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
const topicsAt = (at: number, names: readonly string[] = ["mail", "idle"]) =>
  names.map((topic) => ({ topic, at: new Date(at).toISOString() }));
const clock = () => NOW;
const sources = { clock, queue: knownQueue(async () => topicsAt(NOW), clock) };

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
    const read = stackHistory("Shop", {
      clock: () => now,
      queue: knownQueue(
        async () => topicsAt(now),
        () => now,
      ),
    });
    await Promise.all([read({ hours: 1 }), read({ hours: 1 })]);
    expect(metrics).toHaveBeenCalledTimes(10);
    now += 30_000;
    await read({ hours: 1 });
    expect(metrics).toHaveBeenCalledTimes(20);
  });

  test("of many topics is read in calls of 500 metrics", async () => {
    await using _ = await scriptAccount({ stacks: SHOP, metrics: valuesOf });
    const topics = [...Array.from({ length: 149 }, (_, index) => `t${index}`), "mail"];
    const queue = knownQueue(async () => topicsAt(NOW, topics), clock);
    const found = (await stackHistory("Shop", { clock, queue })({ hours: 1 })) as History;
    expect(found.topics.map(({ topic, minutes }) => [topic, minutes[0]?.started])).toEqual([["mail", 12]]);
  });

  const WHOLE = { at: MINUTE, started: 12, failed: 2, dead: 0, late: { p50: 300, p99: 4200 } };
  /** The place of a metric's statistic among those of a topic. */
  const PLACES = { started: 0, p99: 2, failed: 3, dead: 4, firstStep: 5 } as const;
  const lose =
    (place: number, StatusCode: string, Messages?: object[]) =>
    ({ MetricDataResults, ...rest }: MetricsAnswer): MetricsAnswer => ({
      ...rest,
      MetricDataResults: MetricDataResults.map((result, index) =>
        index === place
          ? { ...result, StatusCode, Timestamps: [], Values: [], ...(Messages && { Messages }) }
          : result,
      ),
    });

  test.each<[keyof typeof PLACES, string, object]>([
    [
      "failed",
      "Failed (Sum)",
      { minutes: [expect.objectContaining({ started: 12 })], unknown: { parts: ["failed"] } },
    ],
    [
      "dead",
      "Dead (Sum)",
      { minutes: [expect.objectContaining({ started: 12 })], unknown: { parts: ["dead"] } },
    ],
    ["started", "Lateness (SampleCount)", { minutes: [], unknown: { parts: ["started"] } }],
    ["p99", "Lateness (p99)", { minutes: [], unknown: { parts: ["started"] } }],
    ["firstStep", "Lateness (TC(:100))", { minutes: [WHOLE], unknown: { parts: ["steps"] } }],
  ])("does not take a metric for 0 that CloudWatch could not give (%s)", async (name, metric, topic) => {
    for (const status of ["InternalError", "PartialData"]) {
      const metricsAnswer = lose(PLACES[name], status, [{ Code: "x", Value: "try later" }]);
      await using _ = await scriptAccount({ stacks: SHOP, metrics: valuesOf, metricsAnswer });
      const found = (await stackHistory("Shop", sources)({ hours: 1, topic: "mail" })) as History;
      expect(found.topics).toMatchObject([topic]);
      expect(found.topics[0]?.unknown?.why).toBe(
        `CloudWatch did not give all values of the metric ${metric}: ${status}: try later`,
      );
      expect(found.topics[0]?.minutes[0]?.steps === undefined).toBe(
        name === "firstStep" || found.topics[0]?.minutes.length === 0,
      );
    }
  });

  test("does not take a metric for 0 that the answer leaves out", async () => {
    const metricsAnswer = ({ MetricDataResults }: MetricsAnswer): MetricsAnswer => ({
      MetricDataResults: MetricDataResults.filter((_, index) => index !== PLACES.failed),
    });
    await using _ = await scriptAccount({ stacks: SHOP, metrics: valuesOf, metricsAnswer });
    const found = (await stackHistory("Shop", sources)({ hours: 1, topic: "mail" })) as History;
    expect(found.topics[0]?.unknown).toEqual({
      parts: ["failed"],
      why: "CloudWatch did not give all values of the metric Failed (Sum): no answer",
    });
  });

  test("is whole if the last page of each metric is", async () => {
    const metricsAnswer = (answer: MetricsAnswer, token: string): MetricsAnswer =>
      token === "" ? { ...lose(PLACES.failed, "PartialData")(answer), NextToken: "more" } : answer;
    await using _ = await scriptAccount({ stacks: SHOP, metrics: valuesOf, metricsAnswer });
    const found = (await stackHistory("Shop", sources)({ hours: 1 })) as History;
    expect(found.topics).toEqual([{ topic: "mail", minutes: [WHOLE] }]);
  });

  test("says which counts the queue does not write", async () => {
    const stacks = stackWith({
      MINUTEHAND_QUEUE_URL_PREFIX: URL_PREFIX,
      MINUTEHAND_TOPIC_METRICS: "Lateness,Dead",
    });
    const metrics = vi.fn(valuesOf);
    await using _ = await scriptAccount({ stacks, metrics });
    const found = (await stackHistory("Shop", sources)({ hours: 1 })) as History;
    const why = "the queue writes no metric Failed, because `topicMetrics` of its construct leaves it out";
    expect(found.topics).toEqual([
      { topic: "mail", minutes: [{ ...WHOLE, failed: 0 }], unknown: { parts: ["failed"], why } },
      { topic: "idle", minutes: [], unknown: { parts: ["failed"], why } },
    ]);
    expect(metrics.mock.calls.map(([{ MetricStat }]) => MetricStat.Metric.MetricName)).not.toContain(
      "Failed",
    );
  });

  test("ends at the queue's time, also if this machine's clock is wrong", async () => {
    await using _ = await scriptAccount({ stacks: SHOP, metrics: valuesOf });
    for (const wrong of [-3_600_000, 3_600_000]) {
      const machine = () => NOW + wrong;
      const queue = knownQueue(async () => topicsAt(NOW), machine);
      const found = (await stackHistory("Shop", { clock: machine, queue })({ hours: 1 })) as History;
      expect(found.to).toBe(NOW);
    }
  });

  test("knows a new topic at once, and refuses one that the queue does not have", async () => {
    const metrics = vi.fn(valuesOf);
    await using _ = await scriptAccount({ stacks: SHOP, metrics });
    let [names, now] = [["idle"], NOW];
    const queue = knownQueue(
      async () => topicsAt(now, names),
      () => now,
    );
    const read = stackHistory("Shop", { clock: () => now, queue });
    await read({ hours: 1 });
    metrics.mockClear();
    expect(await read({ hours: 1, topic: "mail" })).toEqual({ why: 'the queue has no topic "mail"' });
    expect(metrics).not.toHaveBeenCalled();
    names = ["idle", "mail"];
    now += 1000;
    expect(await read({ hours: 2, topic: "mail" })).toMatchObject({ topics: [{ topic: "mail" }] });
    now += 30_000;
    const all = (await read({ hours: 1 })) as History;
    expect(all.topics.map(({ topic }) => topic)).toEqual(["mail"]);
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
