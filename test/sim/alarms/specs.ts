import { Duration, Stack } from "aws-cdk-lib";
import { Topic } from "aws-cdk-lib/aws-sns";
import { TOPIC_ALARMS } from "../../../src/settings/topic-settings.ts";
import {
  ALARM_TOPIC_ARN,
  type Resource,
  resourcesOf,
  type StackTemplate,
  watchedBy,
} from "../../infra/resources.ts";
import { shopWith, someFunction, templateOf } from "../../infra/shop-stack.ts";
import type { AlarmSpec } from "./cloudwatch.ts";

type Dimension = { Name: string; Value: string | { Ref: string } | { "Fn::GetAtt": [string, string] } };

const FUNCTIONS: [RegExp, string][] = [
  [/^JobsTickSweeper/, "tick"],
  [/^JobsWebhookhooks/, "consumer-hooks"],
  [/^JobsEventsApplier/, "event"],
  [/^Orders/, "consumer-orders"],
  [/^Logs/, "consumer-logs"],
];

/** The alarms of a stack with the simulation's topics `orders`, `logs` and `hooks`, by short names such as `ordersDead`. */
export function alarmSpecs(): AlarmSpec[] {
  const alarms = TOPIC_ALARMS;
  const alarmTopic = Topic.fromTopicArn(new Stack(), "OnCall", ALARM_TOPIC_ARN);
  const { stack, queue } = shopWith({
    alarmTopic,
    topics: {
      orders: { cancelOn: { detailType: "Paid", key: "$.detail.order" }, alarms },
      logs: { tracking: "none", alarms },
      hooks: { webhook: { url: "https://receiver.example/hook" }, alarms },
    },
  });
  queue.addConsumer("orders", someFunction(stack, "Orders", Duration.seconds(60)));
  queue.addConsumer("logs", someFunction(stack, "Logs", Duration.seconds(60)));
  const template = templateOf(stack);
  return resourcesOf(template, "AWS::CloudWatch::Alarm").map(([id, alarm]) => specOf(template, id, alarm));
}

function specOf(template: StackTemplate, id: string, alarm: Resource): AlarmSpec {
  const { Properties: p } = alarm;
  const { Namespace, MetricName, Dimensions, Statistic, Period } = watchedBy(alarm);
  const below = String(p.ComparisonOperator) === "LessThanThreshold";
  if (!below && p.ComparisonOperator !== "GreaterThanOrEqualToThreshold")
    throw new Error(`${id} compares by ${p.ComparisonOperator}, which is not simulated`);
  const of = (Dimensions as Dimension[]).map(({ Value }) => nameOf(template, Value)).join(" ");
  return {
    id: id.replace(/^JobsAlarms/, "").replace(/[0-9A-F]{8}$/, ""),
    metric: { namespace: Namespace, name: MetricName, of },
    statistic: Statistic as AlarmSpec["statistic"],
    period: Period,
    ...(JSON.stringify(p.Metrics)?.includes('"FILL(failed, 0)"') && { fill: 0 }),
    evaluationPeriods: Number(p.EvaluationPeriods),
    datapointsToAlarm: Number(p.DatapointsToAlarm ?? p.EvaluationPeriods),
    threshold: Number(p.Threshold),
    isBelow: below,
    missing: p.TreatMissingData as AlarmSpec["missing"],
    tellsEnd: p.OKActions !== undefined,
  };
}

/** The name of a dimension: of a queue without its prefix, of a function as the simulation names it, else `jobs` or `rule`. */
function nameOf(template: StackTemplate, value: Dimension["Value"]): string {
  if (typeof value === "string") return value;
  const id = "Ref" in value ? value.Ref : value["Fn::GetAtt"][0];
  const { Type = "", Properties = {} } = template.Resources[id] ?? {};
  if (Type === "AWS::SQS::Queue") return String(Properties.QueueName).replace(/^minutehand-?/, "");
  if (Type === "AWS::DynamoDB::Table") return "jobs";
  if (Type === "AWS::Events::Rule") return "rule";
  const [, name] = FUNCTIONS.find(([pattern]) => pattern.test(id)) ?? [];
  if (name === undefined) throw new Error(`the simulation has no ${Type} ${id}`);
  return name;
}
