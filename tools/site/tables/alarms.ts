import { App, Duration, Stack } from "aws-cdk-lib";
import { CfnAlarm } from "aws-cdk-lib/aws-cloudwatch";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import { TOPIC_ALARMS } from "../../../src/settings/topic-settings.ts";
import { code, table } from "../markdown.ts";
import { numberText } from "../units.ts";

const TOPIC = "topic";
const EVENT = { source: "source", detailType: "detailType", key: "$.detail.key" };

/** The table of alarms, from the template of a queue that has every kind of alarm. */
export function alarms(): string {
  const rows = synthesised().map((alarm) => {
    const id = alarm.node.scope?.node.id ?? "";
    const [sentences = ""] = descriptionOf(alarm).split("\n");
    const { metric, statistic, period } = watchedBy(alarm);
    return [
      // The name of an alarm about an event rule contains the rule. Replace the rule by an ellipsis.
      code(id.replace(/^topic/, "<topic>").replace(/\[.*\]$/, "…")),
      sentences
        .replace(/`minutehand (.+?)( topic)? --stack Docs`/, (_, words, topic) =>
          code(`minutehand ${words}${topic ? " <topic>" : ""}`),
        )
        .replaceAll(/\btopic topic\b/gi, "topic `<topic>`")
        .replace(/^topic/, "Topic"),
      `${statistic} of \`${metric}\` ${signOf(alarm)} ${numberText(alarm.threshold ?? 0)}`,
      datapoints(alarm, period),
    ];
  });
  return table(["alarm", "description", "rings if", "for"], rows);
}

function synthesised(): CfnAlarm[] {
  const stack = new Stack(new App(), "Docs");
  const queue = new DelayQueue(stack, "Jobs", {
    topics: { [TOPIC]: { cancelOn: EVENT, alarms: TOPIC_ALARMS } },
  });
  const fn = new LambdaFunction(stack, "Consumer", {
    code: Code.fromInline("exports.handler = async () => {}"),
    handler: "index.handler",
    runtime: Runtime.NODEJS_24_X,
    timeout: Duration.seconds(30),
    logGroup: new LogGroup(stack, "Log"),
  });
  queue.addConsumer(TOPIC, fn);
  return stack.node.findAll().filter((construct) => construct instanceof CfnAlarm);
}

function descriptionOf(alarm: CfnAlarm): string {
  const resolved: unknown = Stack.of(alarm).resolve(alarm.alarmDescription ?? "");
  if (typeof resolved === "string") return resolved;
  const [, parts] = (resolved as { "Fn::Join": [string, unknown[]] })["Fn::Join"];
  return parts.map((part) => (typeof part === "string" ? part : "`<function>`")).join("");
}

function signOf({ comparisonOperator }: CfnAlarm): string {
  return comparisonOperator?.startsWith("LessThan") ? "<" : "≥";
}

/** The metric that an alarm watches: its own, or the only one of its expression. `period`: s. */
function watchedBy(alarm: CfnAlarm): Record<"metric" | "statistic", string | undefined> & {
  period: number | undefined;
} {
  const parts = Stack.of(alarm).resolve(alarm.metrics ?? []) as CfnAlarm.MetricDataQueryProperty[];
  const stat = parts.find(({ metricStat }) => metricStat !== undefined)?.metricStat;
  if (stat === undefined)
    return { metric: alarm.metricName, statistic: alarm.statistic, period: alarm.period };
  const { metric, stat: statistic, period } = stat as CfnAlarm.MetricStatProperty;
  return { metric: (metric as CfnAlarm.MetricProperty).metricName, statistic, period };
}

function datapoints(
  { datapointsToAlarm, evaluationPeriods = 1 }: CfnAlarm,
  period: number | undefined = 60,
): string {
  const minutes = (count: number): string => `${(count * period) / 60} min`;
  return datapointsToAlarm === undefined
    ? minutes(evaluationPeriods)
    : `${datapointsToAlarm} of ${minutes(evaluationPeriods)}`;
}
