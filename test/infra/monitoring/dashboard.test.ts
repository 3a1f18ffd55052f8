import { Stack } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import type { DelayQueueProps } from "../../../infra/props.ts";
import { METRICS, type MetricName } from "../../../src/settings/metrics.ts";
import { type Resource, resourcesOf, type StackTemplate, watchedBy } from "../resources.ts";
import { shopWith, someFunction, templateOf } from "../shop-stack.ts";

type Metric = { namespace: string; name: string; dimensions: string[] };
type Widget = {
  type: string;
  x: number;
  y: number;
  width: number;
  height: number;
  properties: { title?: string; markdown?: string; alarms?: string[]; metrics?: unknown[][] };
};

/** The metrics of AWS's services that the queue may name, after the user guides of these services. */
const AWS_METRICS: Readonly<Record<string, readonly string[]>> = {
  "AWS/SQS": [
    "ApproximateAgeOfOldestMessage",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesVisible",
    "NumberOfEmptyReceives",
    "NumberOfMessagesReceived",
    "NumberOfMessagesSent",
  ],
  "AWS/Lambda": ["Duration", "Errors", "Invocations", "Throttles"],
  "AWS/DynamoDB": [
    "ConsumedReadCapacityUnits",
    "ConsumedWriteCapacityUnits",
    "ReadThrottleEvents",
    "WriteThrottleEvents",
  ],
  "AWS/Events": ["FailedInvocations"],
  "AWS/ApiGateway": ["4xx", "5xx", "Count"],
};
const TOPICS = {
  mail: { cancelOn: { source: "shop", detailType: "Paid", key: "$.detail.order" } },
  hooks: { webhook: {} },
  work: { consumer: "pull" },
} as const;

function shopOf(props: Partial<DelayQueueProps> = {}): StackTemplate {
  const { stack, queue } = shopWith({ topics: TOPICS, dashboard: true, ...props });
  if ("mail" in (props.topics ?? TOPICS)) queue.addConsumer("mail", someFunction(stack, "Mail"));
  return templateOf(stack);
}

/** The widgets of the stack's dashboard. A name that only the deployment knows is the id of its resource here. */
function widgetsOf(template: StackTemplate): Widget[] {
  const [body] = resourcesOf(template, "AWS::CloudWatch::Dashboard").map(
    ([, { Properties }]) => Properties.DashboardBody as { "Fn::Join": [string, unknown[]] },
  );
  if (body === undefined) throw new Error("the template has no dashboard");
  const [, parts] = body["Fn::Join"];
  const text = parts.map((part) =>
    typeof part === "string" ? part : JSON.stringify(part).replace(/\W+/g, " "),
  );
  return (JSON.parse(text.join("")) as { widgets: Widget[] }).widgets;
}

const titlesOf = (widgets: readonly Widget[]): string[] =>
  widgets.flatMap(({ properties: { title } }) => title ?? []);

function metricsOf({ properties }: Widget): Metric[] {
  return (properties.metrics ?? [])
    .filter(([first]) => typeof first === "string")
    .map((metric) => {
      const [namespace = "", name = "", ...dimensions] = metric.filter((part) => typeof part === "string");
      return { namespace, name, dimensions };
    });
}

function alarmMetricsOf(template: StackTemplate): Metric[] {
  const watched = resourcesOf(template, "AWS::CloudWatch::Alarm").map(([, alarm]) => watchedBy(alarm));
  return watched.map(({ Namespace, MetricName, Dimensions }) => ({
    namespace: Namespace,
    name: MetricName,
    dimensions: Dimensions.flatMap(({ Name, Value }) => [Name, String(Value)]),
  }));
}

function unknownMetrics(metrics: readonly Metric[]): string[] {
  return metrics
    .filter(({ namespace, name, dimensions }) => {
      if (namespace !== "Minutehand") return AWS_METRICS[namespace]?.includes(name) !== true;
      const declared = METRICS[name as MetricName] as (typeof METRICS)[MetricName] | undefined;
      const names = dimensions.filter((_, i) => i % 2 === 0).sort();
      return (
        declared === undefined || names.join() !== (declared.by === "topic" ? "service,topic" : "service")
      );
    })
    .map(({ namespace, name }) => `${namespace} ${name}`);
}

describe("the dashboard", () => {
  test("exists only with `dashboard`", () => {
    expect(resourcesOf(shopOf({ dashboard: false }), "AWS::CloudWatch::Dashboard")).toEqual([]);
    const template = shopOf({ prefix: "shop" });
    const [[, dashboard] = []] = resourcesOf(template, "AWS::CloudWatch::Dashboard");
    expect(dashboard?.Properties.DashboardName).toEqual({
      "Fn::Join": ["", ["shop-", { Ref: "AWS::Region" }]],
    });
    expect(JSON.stringify(template.Outputs)).toContain("#dashboards/dashboard/shop-");
  });

  test("has its rows in the order of the questions of an engineer who answers an alarm", () => {
    const questions = widgetsOf(shopOf()).flatMap(({ properties: { markdown } }) => markdown ?? []);
    expect(questions).toEqual([
      "## Does something ring?",
      "## Do jobs start on time?",
      "## Do as many jobs start as become due?",
      "## Where do jobs wait?",
      "## What failed, and what was dropped?",
      "## Which part is ill?",
      "## What does it cost?",
    ]);
  });

  test("names, like the alarms, only metrics that somebody writes", () => {
    const template = shopOf({ topics: { ...TOPICS, work: { consumer: "pull", alarms: ["Retrying"] } } });
    const metrics = [...widgetsOf(template).flatMap(metricsOf), ...alarmMetricsOf(template)];
    expect(metrics.length).toBeGreaterThan(100);
    expect(unknownMetrics(metrics)).toEqual([]);
  });

  test("would be caught with a metric that nobody writes, or that has other dimensions", () => {
    const dimensions = ["service", "minutehand"];
    const wrong = [
      { namespace: "Minutehand", name: "Latenes", dimensions },
      { namespace: "Minutehand", name: "Lateness", dimensions },
      { namespace: "AWS/SQS", name: "Depth", dimensions: [] },
    ];
    expect(unknownMetrics(wrong)).toHaveLength(3);
  });

  test("shows every metric, and of the sum of three metrics its parts", () => {
    const shown = new Set(
      widgetsOf(shopOf())
        .flatMap(metricsOf)
        .filter(({ namespace }) => namespace === "Minutehand")
        .map(({ name }) => name),
    );
    expect(Object.keys(METRICS).filter((name) => !shown.has(name))).toEqual(["Warnings"]);
  });

  test("shows each function of the stack, also those of later consumers, and none of another stack", () => {
    const alarms = ["Failing"] as const;
    const { stack, queue } = shopWith({
      topics: { mail: { alarms }, hooks: { webhook: {}, alarms }, far: { alarms } },
      dashboard: true,
    });
    queue.addConsumer("mail", someFunction(stack, "Mail"));
    queue.addConsumer("far", someFunction(new Stack(stack.node.root as never, "Far"), "Far"));
    const widgets = widgetsOf(templateOf(stack));
    const errors = widgets.find(({ properties: { title } }) => title?.startsWith("Errors of the functions"));
    expect(JSON.stringify(errors).match(/"label":"[^"]+"/g)).toEqual([
      ...['"label":"tick"', '"label":"API"', '"label":"API receive"', '"label":"promotions"'],
      ...['"label":"schedules"', '"label":"consumer of hooks"', '"label":"consumer of mail"'],
    ]);
    const shown = widgets.flatMap(({ properties }) => properties.alarms ?? []);
    expect(
      shown.filter((alarm) => /Failing/.test(alarm)).map((alarm) => /mail|hooks|far/.exec(alarm)?.[0]),
    ).toEqual(["hooks", "mail"]);
  });

  test("leaves out what the queue does not have", () => {
    const all = titlesOf(widgetsOf(shopOf()));
    const bare = titlesOf(widgetsOf(shopOf({ api: { auth: "none" }, topicMetrics: ["Dead"] })));
    expect(all).toContain("Calls of the API, an hour");
    expect(all.filter((title) => !bare.includes(title))).toEqual([
      "Lateness of first attempts, p50, ms",
      "Lateness of first attempts, p99, ms",
      "Lateness of first attempts, longest, ms",
      "Jobs sent and started, a minute",
      "Jobs sent to SQS, a minute",
      "First attempts started, a minute",
      "Jobs parked and released, a minute",
      "Longest hold of a first attempt, ms",
      "Jobs moved to the next window, a minute",
      "Attempts that failed and are retried, a minute",
      "Messages dropped by reason, a minute",
      "Jobs that came too late to run, a minute",
      "Answers of the API that are errors, a minute",
      "Calls of the API, an hour",
    ]);
    const questions = widgetsOf(shopOf({ topicMetrics: [] })).flatMap(
      ({ properties: { markdown } }) => markdown ?? [],
    );
    expect(questions).not.toContain("## Do jobs start on time?");
  });

  const many = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [
        `topic-${i}`,
        { consumer: "pull", alarms: ["Dead", "Backlog"] } as const,
      ]),
    );

  test("with the most topics keeps to the limits of CloudWatch, and its widgets do not overlap", () => {
    const widgets = widgetsOf(shopOf({ topics: many(70) }));
    // "CloudWatch service quotas"; "Dashboard body structure and syntax".
    const counts = widgets.map(({ properties }) => properties.metrics?.length ?? 0);
    expect(Math.max(...counts)).toBeLessThanOrEqual(500);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(2500);
    const alarms = widgets.map(({ properties }) => properties.alarms?.length ?? 0);
    expect(alarms.filter((count) => count > 0)).toEqual([100, expect.any(Number)]);
    const taken = new Set<string>();
    for (const { x, y, width, height } of widgets)
      for (let column = x; column < x + width; column++)
        for (let line = y; line < y + height; line++) {
          expect(column).toBeLessThan(24);
          expect(taken.has(`${column} ${line}`)).toBe(false);
          taken.add(`${column} ${line}`);
        }
  });

  test("is refused for more topics", () => {
    expect(() => shopOf({ topics: many(71) })).toThrow(
      /dashboard is allowed for a queue .*71 topics.*at most 70 topics/,
    );
  });
});

describe("the metrics of topics", () => {
  const variables = (template: StackTemplate) =>
    resourcesOf(template, "AWS::Lambda::Function").map(
      ([, { Properties }]) =>
        (Properties.Environment as { Variables: Record<string, unknown> }).Variables.MINUTEHAND_TOPIC_METRICS,
    );

  test.each([
    [undefined, undefined],
    [["Lateness", "Dead"] as const, "Lateness,Dead"],
    [[], "none"],
  ])("reach each function, here %j", (topicMetrics, text) => {
    expect(new Set(variables(shopOf(topicMetrics ? { topicMetrics } : {})))).toEqual(new Set([text]));
  });

  test.each([
    [["Latenes"], 'topicMetrics[0] must be one of the allowed values, is "Latenes"'],
    [["SweepLag"], 'topicMetrics[0] must be one of the allowed values, is "SweepLag"'],
    ["Lateness", 'topicMetrics must be a list of names, is "Lateness"'],
  ])("are checked: %j", (topicMetrics, error) => {
    expect(() => shopOf({ topicMetrics: topicMetrics as never })).toThrow(error);
  });
});

describe("the alarm Retrying", () => {
  const alarms = ["Dead", "Retrying"] as const;
  const topics = {
    mail: { alarms },
    hooks: { webhook: {}, alarms },
    work: { consumer: "pull", alarms },
  } as const;
  const retrying = (template: StackTemplate) =>
    resourcesOf(template, "AWS::CloudWatch::Alarm").filter(([id]) => id.includes("Retrying"));

  test("is that of the topics that ask for it, whoever runs their jobs", () => {
    const ids = retrying(shopOf({ topics })).map(([id]) => id.replace(/^JobsAlarms|[0-9A-F]{8}$/g, ""));
    expect(ids.sort()).toEqual(["hooksRetrying", "mailRetrying", "workRetrying"]);
    expect(retrying(shopOf({ topics: { mail: {}, hooks: { webhook: {} } } }))).toEqual([]);
  });

  test("rings if runs of its topic fail in each of four successive periods of five minutes", () => {
    for (const [id, alarm] of retrying(shopOf({ topics, prefix: "shop" }))) {
      const { EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods, Threshold } = alarm.Properties;
      expect([EvaluationPeriods, DatapointsToAlarm, Threshold]).toEqual([4, 4, 1]);
      expect(watchedBy(alarm)).toEqual({
        ...{ Namespace: "Minutehand", MetricName: "Failed", Statistic: "Sum", Period: 300 },
        Dimensions: [
          { Name: "service", Value: "shop" },
          { Name: "topic", Value: /mail|hooks|work/.exec(id)?.[0] },
        ],
      });
    }
  });

  test("counts a period without a value as one without a failure, and looks at no earlier one in its place", () => {
    const [[, { Properties }]] = retrying(shopOf({ topics })) as [[string, Resource]];
    expect(Properties.Metrics).toContainEqual(
      expect.objectContaining({ Expression: "FILL(failed, 0)", ReturnData: true }),
    );
  });
});

describe("the descriptions of alarms", () => {
  const descriptions = (template: StackTemplate) =>
    resourcesOf(template, "AWS::CloudWatch::Alarm").map(([, { Properties }]) => {
      const text = Properties.AlarmDescription as string | { "Fn::Join": [string, unknown[]] };
      return typeof text === "string" ? text : JSON.stringify(text["Fn::Join"][1]);
    });

  test("say what is wrong, what to do first, and where the runbook goes on", () => {
    for (const description of descriptions(shopOf({ runbookUrl: "https://wiki.example/alarms" })))
      expect(description).toMatch(
        /^(?:\[")?[A-Z].+\. First .+\.(?:\\n|\n)Runbook: https:\/\/wiki\.example\/alarms#[a-z]+/,
      );
    expect(descriptions(shopOf()).join()).toContain(
      "\nRunbook: node_modules/minutehand/docs/guides/alarms.md#dead",
    );
  });

  test("have room for all this", () => {
    const url = `https://wiki.example/${"x".repeat(179)}`;
    const topic = "t".repeat(50);
    const { stack } = shopWith({ topics: { [topic]: { webhook: {} } }, runbookUrl: url });
    for (const description of descriptions(templateOf(stack))) expect(description.length).toBeLessThan(1000);
  });

  test.each([["wiki"], ["javascript:alert(1)"], [`https://wiki.example/${"x".repeat(180)}`]])(
    "refuse the runbook %s",
    (runbookUrl) => {
      expect(() => shopOf({ runbookUrl })).toThrow("runbookUrl must be the address of a page");
    },
  );
});
