import { CfnOutput, Duration, Stack } from "aws-cdk-lib";
import type { HttpApi } from "aws-cdk-lib/aws-apigatewayv2";
import {
  type Alarm,
  Dashboard as CloudWatchDashboard,
  GRID_WIDTH,
  GraphWidget,
  type IMetric,
  type IWidget,
  LegendPosition,
  MathExpression,
  type MetricOptions,
  TextWidget,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { LOOKAHEAD } from "../../src/core/constants.ts";
import { consoleOf } from "../../src/settings/log-groups.ts";
import { type QueueMetricName, TOPIC_METRICS, type TopicMetricName } from "../../src/settings/metrics.ts";
import { DASHBOARD_OUTPUT } from "../../src/settings/stack-outputs.ts";
import type { PoolTable } from "../job-pool.ts";
import type { TopicQueues } from "../topic-queues.ts";
import { AlarmStatus } from "./alarm-status.ts";
import { MINUTE, queueMetric, topicMetric } from "./metrics.ts";

export type DashboardProps = {
  readonly prefix: string;
  readonly topics: readonly TopicQueues[];
  /** Graphs of other metrics are left out. */
  readonly topicMetrics: readonly TopicMetricName[];
  readonly table: PoolTable;
  readonly api: HttpApi | undefined;
  readonly tick: LambdaFunction;
  /** The alarms in the queue's own stack. They are read at synth, because consumers are added later. */
  readonly alarms: readonly Alarm[];
};

/** 500 metrics in a graph, 2,500 in a dashboard ("CloudWatch service quotas"). The graph of dropped messages has seven for each topic. */
export const MOST_DASHBOARD_TOPICS = 70;
const HEIGHT = 6;
const SUM = { statistic: "Sum" } as const;
const MAXIMUM = { statistic: "Maximum" } as const;

/**
 * Rows follow the questions of an engineer who answers an alarm: which alarm rings, are jobs late, where they wait, what failed, what is
 * ill, what it costs.
 */
export class Dashboard extends Construct {
  private readonly props: DashboardProps;
  private readonly functionErrors = graph("Errors of the functions, a minute");
  private readonly functionThrottles = graph("Throttled invocations, a minute");
  private readonly invocations = graph("Invocations of the functions, an hour");
  private readonly runTime = graph("Run time of the functions, s an hour");

  constructor(scope: Construct, id: string, props: DashboardProps) {
    super(scope, id);
    this.props = props;
    const { region } = Stack.of(this);
    // All regions of an account share the names of dashboards.
    const dashboardName = `${props.prefix}-${region}`;
    new CloudWatchDashboard(this, "Dashboard", {
      dashboardName,
      defaultInterval: Duration.hours(3),
      widgets: [
        ...row("Does something ring?", [new AlarmStatus(props.alarms)]),
        ...row("Do jobs start on time?", this.lateness()),
        ...row("Do as many jobs start as become due?", this.flow()),
        ...row("Where do jobs wait?", [...this.depths(), ...this.holds()]),
        ...row("What failed, and what was dropped?", this.failures()),
        ...row("Which part is ill?", this.machinery()),
        ...row("What does it cost?", this.costs()),
      ],
    });
    new CfnOutput(this, "Url", {
      description: DASHBOARD_OUTPUT,
      value: `https://${consoleOf(region)}/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboardName}`,
    });
  }

  /** Ignores a function of another stack: that stack refers to this one, and two stacks cannot refer to each other. */
  watch(label: string, fn: LambdaFunction): void {
    if (Stack.of(fn) !== Stack.of(this)) return;
    const hourly = { label, period: Duration.hours(1), ...SUM };
    this.functionErrors.addLeftMetric(fn.metricErrors({ label, period: MINUTE, ...SUM }));
    this.functionThrottles.addLeftMetric(fn.metricThrottles({ label, period: MINUTE, ...SUM }));
    this.invocations.addLeftMetric(fn.metricInvocations(hourly));
    this.runTime.addLeftMetric(inSeconds(label, fn.metricDuration(hourly)));
  }

  private lateness(): IWidget[] {
    const [p50, p99, most] = (["p50", "p99", "Maximum"] as const).map((statistic) =>
      this.byTopic("Lateness", { statistic }),
    );
    return graphs([
      ["Lateness of first attempts, p50, ms", p50],
      ["Lateness of first attempts, p99, ms", p99],
      ["Lateness of first attempts, longest, ms", most],
    ]);
  }

  private flow(): IWidget[] {
    const sent = this.byTopic("HandedOver", SUM);
    const started = this.byTopic("Lateness", { statistic: "SampleCount" });
    const both = [
      ...sumOf("sent to the ready queues", "sent", sent),
      ...sumOf("started for the first time", "started", started),
    ];
    return graphs([
      ["Jobs sent and started, a minute", both],
      ["Jobs sent to SQS, a minute", sent],
      ["First attempts started, a minute", started],
    ]);
  }

  private depths(): IWidget[] {
    const { topics } = this.props;
    const options = (label: string) => ({ label, period: MINUTE, ...MAXIMUM });
    return graphs([
      [
        "Ready messages",
        topics.map(({ topic, ready }) => ready.metricApproximateNumberOfMessagesVisible(options(topic))),
      ],
      [
        "Age of the oldest ready message, s",
        topics.map(({ topic, ready }) => ready.metricApproximateAgeOfOldestMessage(options(topic))),
      ],
      [
        "Messages in flight",
        topics.map(({ topic, ready }) => ready.metricApproximateNumberOfMessagesNotVisible(options(topic))),
      ],
      [
        "Messages that SQS still delays",
        topics.map(({ topic, ready }) => ready.metricApproximateNumberOfMessagesDelayed(options(topic))),
      ],
    ]);
  }

  private holds(): IWidget[] {
    const parked = this.byTopic("Parked", SUM, "parked");
    const released = this.byTopic("Released", SUM, "released");
    return graphs([
      ["Jobs parked and released, a minute", [...parked, ...released]],
      ["Longest hold of a first attempt, ms", this.byTopic("Held", MAXIMUM)],
      ["Jobs moved to the next window, a minute", this.byTopic("Deferred", SUM)],
    ]);
  }

  private failures(): IWidget[] {
    const { topics } = this.props;
    const letters = topics.map(({ topic, dlq }) =>
      dlq.metricApproximateNumberOfMessagesVisible({ label: topic, period: MINUTE, ...MAXIMUM }),
    );
    const drops = TOPIC_METRICS.filter((name) => name.startsWith("Dropped-")).flatMap((name) => {
      const reason = name.replace("Dropped-", "");
      return sumOf(reason, `dropped_${reason}`, this.byTopic(name, SUM));
    });
    const late = [...this.byTopic("Expired", SUM, "expired"), ...this.byTopic("Skipped", SUM, "skipped")];
    return graphs([
      ["Attempts that failed and are retried, a minute", this.byTopic("Failed", SUM)],
      ["Jobs that died, a minute", this.byTopic("Dead", SUM)],
      ["Messages in the DLQ", letters],
      ["Messages dropped by reason, a minute", drops],
      ["Jobs that came too late to run, a minute", late],
    ]);
  }

  private machinery(): IWidget[] {
    const { table, api, tick } = this.props;
    const own = (name: QueueMetricName, options: MetricOptions) =>
      queueMetric(this.props.prefix, name, options);
    const each = { period: MINUTE, ...SUM };
    const found = [
      own("AuditFound", { ...SUM, label: "found by the audit" }),
      own("Unreadable", { ...SUM, label: "unreadable" }),
      own("DeadWithoutLetter", { ...SUM, label: "dead without a letter" }),
      own("RunawayJobs", { ...SUM, label: "in runaway chains" }),
      own("FarWithoutSchedule", { ...SUM, label: "far, without a schedule" }),
      own("NotifyFailed", { ...SUM, label: "lost events of notify" }),
    ];
    const throttles = [
      table.metric("WriteThrottleEvents", { label: "writes", ...each }),
      table.metric("ReadThrottleEvents", { label: "reads", ...each }),
    ];
    const answers = api && [
      api.metricClientError({ label: "4xx", ...each }),
      api.metricServerError({ label: "5xx", ...each }),
    ];
    return [
      ...graphs([["Lag of the sweep, if it is unusual, ms", [own("SweepLag", MAXIMUM)]]], {
        leftAnnotations: [{ value: LOOKAHEAD, label: "jobs are late from here on" }],
      }),
      ...graphs([
        ["Duration of the tick, ms", [tick.metricDuration({ label: "tick", period: MINUTE, ...MAXIMUM })]],
        ["Jobs that need a look, a minute", found],
        ["Throttled requests to the table, a minute", throttles],
      ]),
      this.functionErrors,
      this.functionThrottles,
      ...graphs([["Answers of the API that are errors, a minute", answers ?? []]]),
    ];
  }

  private costs(): IWidget[] {
    const { table, api, topics } = this.props;
    const hourly = { period: Duration.hours(1), ...SUM };
    const sent = topics.map(({ ready }) => ready.metricNumberOfMessagesSent(hourly));
    const received = topics.map(({ ready }) => ready.metricNumberOfMessagesReceived(hourly));
    const empty = topics.map(({ ready }) => ready.metricNumberOfEmptyReceives(hourly));
    return [
      ...graphs([
        [
          "Units of the table, an hour",
          [
            table.metric("ConsumedWriteCapacityUnits", { label: "write units", ...hourly }),
            table.metric("ConsumedReadCapacityUnits", { label: "read units", ...hourly }),
          ],
        ],
        [
          "Messages of SQS, all topics, an hour",
          [
            ...sumOf("sent", "messages_sent", sent),
            ...sumOf("received", "messages_received", received),
            ...sumOf("empty receives", "empty_receives", empty),
          ],
        ],
      ]),
      this.invocations,
      this.runTime,
      ...graphs([
        [
          "Calls of the API, an hour",
          api === undefined ? [] : [api.metricCount({ label: "calls", ...hourly })],
        ],
      ]),
    ];
  }

  private byTopic(name: TopicMetricName, options: MetricOptions, suffix = ""): IMetric[] {
    const { prefix, topics, topicMetrics } = this.props;
    if (!topicMetrics.includes(name)) return [];
    return topics.map(({ topic }) =>
      topicMetric(prefix, topic, name, { ...options, label: `${topic} ${suffix}`.trim() }),
    );
  }
}

function row(question: string, widgets: readonly IWidget[]): IWidget[][] {
  if (widgets.length === 0) return [];
  const heading = new TextWidget({ markdown: `## ${question}`, width: GRID_WIDTH, height: 1 });
  return [[heading], [...widgets]];
}

function graphs(
  titled: readonly (readonly [title: string, metrics: readonly IMetric[] | undefined])[],
  more: { leftAnnotations?: { value: number; label: string }[] } = {},
): GraphWidget[] {
  return titled
    .filter(([, metrics = []]) => metrics.length > 0)
    .map(([title, metrics = []]) => graph(title, { left: [...metrics], ...more }));
}

function graph(
  title: string,
  more: { left?: IMetric[]; leftAnnotations?: { value: number; label: string }[] } = {},
): GraphWidget {
  return new GraphWidget({
    title,
    width: GRID_WIDTH / 3,
    height: HEIGHT,
    leftYAxis: { min: 0, showUnits: false },
    legendPosition: LegendPosition.BOTTOM,
    ...more,
  });
}

/** Empty if `metrics` is empty. `name`: how the expression names its metrics, unique in its graph. */
function sumOf(label: string, name: string, metrics: readonly IMetric[]): IMetric[] {
  if (metrics.length === 0) return [];
  const named = Object.fromEntries(metrics.map((metric, i) => [`${name}${i}`, metric]));
  const expression = `SUM([${Object.keys(named)
    .map((one) => `FILL(${one}, 0)`)
    .join(", ")}])`;
  const [first] = metrics;
  const { metricStat } = first?.toMetricConfig() ?? {};
  return [
    new MathExpression({ label, expression, usingMetrics: named, period: metricStat?.period ?? MINUTE }),
  ];
}

function inSeconds(label: string, milliseconds: IMetric): IMetric {
  // The name must be unique in its graph, and labels have characters that a name may not have.
  const name = `ms_${label.replaceAll(/[^A-Za-z0-9]/g, "_")}`;
  return new MathExpression({
    label,
    expression: `${name} / 1000`,
    usingMetrics: { [name]: milliseconds },
    period: Duration.hours(1),
  });
}
