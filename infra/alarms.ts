import { Duration, Fn, Lazy, Stack } from "aws-cdk-lib";
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
import { failuresUrl, logGroupOf } from "./log-groups.ts";
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
  /** The function that runs a topic's jobs. It is asked for at synth, because consumers are added later. */
  readonly consumerOf: (topic: string) => LambdaFunction | undefined;
};

const MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
const DEFAULT_OLDEST_AGE = Duration.minutes(15);

/** The queue's CloudWatch alarms. Each of them needs a person to act. */
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
    const untracked = "read the messages in its DLQ, then run them again with SQS's redrive";
    this.alarm(`${topic}Dead`, {
      alarmDescription: Lazy.string({
        produce: () =>
          `Topic ${topic} has dead jobs: ${settings.tracking === "none" ? untracked : tracked}${this.logOf(topic)}`,
      }),
      metric: dlq.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: "Maximum" }),
      threshold: 1,
      evaluationPeriods: 1,
    });
    // The message of a pulled job stays in the queue, and ages there, while the job runs.
    const claim = settings.consumer === "pull" ? ttrOf(settings) : Duration.seconds(0);
    const oldest = settings.oldestMessageAge ?? DEFAULT_OLDEST_AGE.plus(claim);
    this.alarm(`${topic}Backlog`, {
      alarmDescription: `Topic ${topic} has old messages in its ready queue: its consumer is too slow, or fails`,
      metric: ready.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: "Maximum" }),
      threshold: oldest.toSeconds(),
      evaluationPeriods: 3,
    });
  }

  /** Where the runs of a topic's jobs are logged. Empty if that is unknown. */
  private logOf(topic: string): string {
    const fn = this.props.consumerOf(topic);
    const group = fn && logGroupOf(this, fn);
    return group === undefined ? "" : `. The log of its failed runs: ${failuresUrl(this, group)}`;
  }

  /**
   * Watches the Lambda function that runs a topic's jobs: a handler, a consumer or a webhook. An error that a handler throws is
   * a failed attempt of its job, and not an error of the function.
   */
  watchConsumer(topic: string, fn: LambdaFunction): void {
    // The stack of the function refers to this stack's queues, and two stacks cannot refer to each other.
    const scope = Stack.of(fn) === Stack.of(this) ? this : fn;
    const alarmDescription = `Topic ${topic} has a function that crashes or reaches its timeout: see the function's log`;
    this.alarm(`${topic}Failing`, { ...failing(fn), alarmDescription }, scope);
  }

  private watchTick(): void {
    const { fn } = this.props.tick;
    this.alarm("TickErrors", {
      alarmDescription: "The tick failed in three of the last five minutes: see its log",
      metric: fn.metricErrors({ period: MINUTE, statistic: "Sum" }),
      threshold: 1,
      evaluationPeriods: 5,
      datapointsToAlarm: 3,
    });
    this.alarm("TickMissing", {
      alarmDescription: "The tick has not run for five minutes: check that its rule is enabled",
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
        "Occurrences of recurring schedules were not filed as jobs: see the function's log, then invoke the function with each message of its DLQ",
      metric: dlq.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: "Maximum" }),
      threshold: 1,
      evaluationPeriods: 1,
    });
  }

  private watchEvents({ rules, eventBus, queue, dlq, fn }: Events): void {
    const alarmDescription = "The function that applies events crashes or reaches its timeout: see its log";
    this.alarm("EventsFailing", { ...failing(fn), alarmDescription });
    // There is an alarm for each rule: a metric expression takes at most ten metrics ("Limits" of CloudWatch's alarms).
    for (const rule of rules)
      this.alarm(`EventsUndelivered${rule.node.id}`, {
        alarmDescription:
          "EventBridge cannot send events to their queue: check that the queue exists and that its key's policy allows EventBridge",
        metric: failedInvocations(rule, eventBus),
        threshold: 1,
        evaluationPeriods: 1,
      });
    this.alarm("EventsLost", {
      alarmDescription:
        "Events were not applied to their topics: see the function's log, then redrive their DLQ with SQS",
      metric: dlq.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: "Maximum" }),
      threshold: 1,
      evaluationPeriods: 1,
    });
    this.alarm("EventsBacklog", {
      alarmDescription:
        "Events wait too long: the function that applies them is too slow or fails, or jobs with the keys of these events are still running",
      metric: queue.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: "Maximum" }),
      threshold: DEFAULT_OLDEST_AGE.toSeconds(),
      evaluationPeriods: 3,
    });
  }

  private watchPromises(): void {
    const lag = this.own("SweepLag", "Maximum");
    this.alarm("SweepLag", {
      alarmDescription:
        "The sweep is so far behind that it sends jobs after they are due, or ticks end before they report their lag",
      metric: lag,
      threshold: LOOKAHEAD,
      evaluationPeriods: 3,
      datapointsToAlarm: 2,
      // A tick reports its lag when it ends. Lambda kills a tick that runs out of memory or time before that.
      treatMissingData: TreatMissingData.BREACHING,
    });
    this.alarm("CursorDayBehind", {
      alarmDescription:
        "A sweep's cursor is a day behind: after ten days, DynamoDB's TTL deletes untracked jobs that were not sent",
      metric: lag,
      threshold: DAY,
      evaluationPeriods: 1,
    });
    this.alarm("DeadWithoutLetter", {
      alarmDescription:
        "Jobs are dead without a dead letter, because their topic has no queue: see the tick's log",
      metric: this.own("DeadWithoutLetter", "Sum"),
      threshold: 1,
      evaluationPeriods: 1,
    });
    this.alarm("TableThrottled", {
      alarmDescription:
        "DynamoDB has throttled writes to the job table for five minutes: calls answer 503, and jobs are late",
      metric: this.props.table.metric("WriteThrottleEvents", { period: MINUTE, statistic: "Sum" }),
      threshold: 1,
      evaluationPeriods: 5,
    });
    this.alarm("AuditFound", {
      alarmDescription: "The audit found jobs that were due and had not run, and sent them again",
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

/**
 * The alarm of a function that consumes an SQS queue: three minutes with errors out of 15. The window is that long because SQS delivers
 * a message again only after its visibility timeout.
 */
function failing(
  fn: LambdaFunction,
): Pick<AlarmProps, "metric" | "threshold" | "evaluationPeriods" | "datapointsToAlarm"> {
  const metric = fn.metricErrors({ period: MINUTE, statistic: "Sum" });
  return { metric, threshold: 1, evaluationPeriods: 15, datapointsToAlarm: 3 };
}

/** EventBridge's metric of a rule. Only rules on a custom bus have the dimension EventBusName ("Monitoring Amazon EventBridge"). */
function failedInvocations({ ruleName }: Rule, eventBus: IEventBusRef | undefined): Metric {
  const dimensionsMap =
    eventBus === undefined
      ? { RuleName: ruleName }
      : {
          EventBusName: eventBus.eventBusRef.eventBusName,
          // For a rule on a custom bus, `Ref` returns `bus|rule`, and no attribute returns the rule's name alone.
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
