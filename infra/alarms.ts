import { Duration, Fn, Stack } from "aws-cdk-lib";
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  Metric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import type { IEventBusRef, Rule } from "aws-cdk-lib/aws-events";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import { Construct } from "constructs";
import { DAY, LOOKAHEAD } from "../core/constants.ts";
import { METRICS_NAMESPACE } from "./environment.ts";
import type { Events } from "./events.ts";
import type { PoolTable } from "./job-pool.ts";
import type { RecurringSchedules } from "./scheduler.ts";
import type { Tick } from "./tick.ts";
import { type TopicQueues, ttrOf } from "./topic-queues.ts";

export type AlarmsProps = {
  readonly tick: Tick;
  readonly recurring: RecurringSchedules | undefined;
  readonly events: Events | undefined;
  readonly topics: readonly TopicQueues[];
  readonly table: PoolTable;
  readonly prefix: string;
  readonly alarmTopic: ITopic | undefined;
};

const MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
const DEFAULT_OLDEST_AGE = Duration.minutes(15);

/** What someone should be woken for. */
export class Alarms extends Construct {
  private readonly props: AlarmsProps;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.props = props;
    for (const topic of props.topics) this.watchTopic(topic);
    this.watchTick();
    if (props.recurring !== undefined) this.watchOccurrences(props.recurring);
    if (props.events !== undefined) this.watchEvents(props.events);
    this.watchPromises();
  }

  private watchTopic({ topic, settings, ready, dlq }: TopicQueues): void {
    const tracked = `look at GET /topics/${topic}/dead, then redrive`;
    const untracked = "look into its DLQ; SQS's own redrive runs them again";
    this.alarm(`${topic}Dead`, {
      alarmDescription: `Topic ${topic} has dead jobs: ${settings.tracking === "none" ? untracked : tracked}`,
      metric: dlq.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: "Maximum" }),
      threshold: 1,
      evaluationPeriods: 1,
    });
    // A pulled message ages for as long as it is under a claim.
    const claim = settings.consumer === "pull" ? ttrOf(settings) : Duration.seconds(0);
    const oldest = settings.oldestMessageAge ?? DEFAULT_OLDEST_AGE.plus(claim);
    this.alarm(`${topic}Backlog`, {
      alarmDescription: `Topic ${topic}'s ready queue is not emptied: its consumer is too slow, or fails`,
      metric: ready.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: "Maximum" }),
      threshold: oldest.toSeconds(),
      evaluationPeriods: 3,
    });
  }

  /** A topic's function that Lambda invokes: a handler, a consumer or a webhook. What a handler throws is no error of its function. */
  watchConsumer(topic: string, fn: LambdaFunction): void {
    // A function of another stack names this one's queues, and two stacks cannot name each other.
    const scope = Stack.of(fn) === Stack.of(this) ? this : fn;
    const alarmDescription = `Topic ${topic}'s function crashes, or ends at its timeout: see its log`;
    this.alarm(`${topic}Failing`, { ...failing(fn), alarmDescription }, scope);
  }

  private watchTick(): void {
    const { fn } = this.props.tick;
    this.alarm("TickErrors", {
      alarmDescription: "The tick failed in three minutes of five: see its log",
      metric: fn.metricErrors({ period: MINUTE, statistic: "Sum" }),
      threshold: 1,
      evaluationPeriods: 5,
      datapointsToAlarm: 3,
    });
    this.alarm("TickMissing", {
      alarmDescription: "The tick has not run for five minutes: is its rule enabled?",
      metric: fn.metricInvocations({ period: MINUTE, statistic: "Sum" }),
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      threshold: 1,
      evaluationPeriods: 5,
      treatMissingData: TreatMissingData.BREACHING,
    });
  }

  private watchOccurrences({ dlq }: RecurringSchedules): void {
    this.alarm("OccurrencesLost", {
      alarmDescription:
        "Occurrences of recurring schedules could not be filed: see the function's log, then invoke it with what lies in its DLQ",
      metric: dlq.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: "Maximum" }),
      threshold: 1,
      evaluationPeriods: 1,
    });
  }

  private watchEvents({ rules, eventBus, queue, dlq, fn }: Events): void {
    const alarmDescription = "The function that applies events crashes, or ends at its timeout: see its log";
    this.alarm("EventsFailing", { ...failing(fn), alarmDescription });
    // "Limits" of CloudWatch's alarms: an expression takes ten metrics at most, and there may be more rules.
    for (const rule of rules)
      this.alarm(`EventsUndelivered${rule.node.id}`, {
        alarmDescription:
          "EventBridge cannot put events into their queue: is it there, and does its key's policy let EventBridge in?",
        metric: failedInvocations(rule, eventBus),
        threshold: 1,
        evaluationPeriods: 1,
      });
    this.alarm("EventsLost", {
      alarmDescription:
        "Events could not be applied to their topics: see the function's log, then let SQS redrive their DLQ",
      metric: dlq.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: "Maximum" }),
      threshold: 1,
      evaluationPeriods: 1,
    });
    this.alarm("EventsBacklog", {
      alarmDescription:
        "Events wait: the function that applies them is too slow, or fails, or their jobs run on",
      metric: queue.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: "Maximum" }),
      threshold: DEFAULT_OLDEST_AGE.toSeconds(),
      evaluationPeriods: 3,
    });
  }

  private watchPromises(): void {
    const lag = this.own("SweepLag", "Maximum");
    this.alarm("SweepLag", {
      alarmDescription:
        "The sweep is so far behind that jobs are handed over after they are due, or ticks end before they can tell",
      metric: lag,
      threshold: LOOKAHEAD,
      evaluationPeriods: 3,
      datapointsToAlarm: 2,
      // Each tick tells it as it ends. One that runs out of memory or time is killed before.
      treatMissingData: TreatMissingData.BREACHING,
    });
    this.alarm("CursorDayBehind", {
      alarmDescription:
        "A cursor is a day behind: after ten days TTL removes untracked jobs that nobody has handed over",
      metric: lag,
      threshold: DAY,
      evaluationPeriods: 1,
    });
    this.alarm("DeadWithoutLetter", {
      alarmDescription: "Jobs are dead without a letter, as their topic has no queue: see the tick's log",
      metric: this.own("DeadWithoutLetter", "Sum"),
      threshold: 1,
      evaluationPeriods: 1,
    });
    this.alarm("TableThrottled", {
      alarmDescription:
        "DynamoDB refuses writes of the job pool, minute after minute: calls answer 503, and jobs come late",
      metric: this.props.table.metric("WriteThrottleEvents", { period: MINUTE, statistic: "Sum" }),
      threshold: 1,
      evaluationPeriods: 5,
    });
    this.alarm("AuditFound", {
      alarmDescription: "The audit found jobs that should have run and had not, and sent them again",
      metric: this.own("AuditFound", "Sum"),
      threshold: 1,
      evaluationPeriods: 1,
    });
  }

  private own(metricName: string, statistic: string): Metric {
    const dimensionsMap = { service: this.props.prefix };
    return new Metric({ namespace: METRICS_NAMESPACE, metricName, dimensionsMap, statistic, period: MINUTE });
  }

  private alarm(id: string, props: AlarmProps, scope: Construct = this): void {
    const alarm = new Alarm(scope, id, {
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...props,
    });
    if (this.props.alarmTopic !== undefined) alarm.addAlarmAction(new SnsAction(this.props.alarmTopic));
  }
}

/** A function that SQS's messages reach. Each is handed over again only when its visibility timeout is over. */
function failing(
  fn: LambdaFunction,
): Pick<AlarmProps, "metric" | "threshold" | "evaluationPeriods" | "datapointsToAlarm"> {
  const metric = fn.metricErrors({ period: MINUTE, statistic: "Sum" });
  return { metric, threshold: 1, evaluationPeriods: 15, datapointsToAlarm: 3 };
}

/** Named as "Monitoring Amazon EventBridge" in its user guide has it: the bus only where it is not the default one. */
function failedInvocations({ ruleName }: Rule, eventBus: IEventBusRef | undefined): Metric {
  const dimensionsMap =
    eventBus === undefined
      ? { RuleName: ruleName }
      : {
          EventBusName: eventBus.eventBusRef.eventBusName,
          // CloudFormation's id of a rule on another bus is `bus|rule`, and nothing gives the name alone.
          RuleName: Fn.select(1, Fn.split("|", ruleName)),
        };
  return new Metric({
    namespace: "AWS/Events",
    metricName: "FailedInvocations",
    dimensionsMap,
    statistic: "Sum",
    period: FIVE_MINUTES,
  });
}
