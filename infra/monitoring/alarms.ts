import { Duration, Fn, Lazy, Stack } from "aws-cdk-lib";
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  MathExpression,
  Metric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import type { IEventBusRef, Rule } from "aws-cdk-lib/aws-events";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { LOOKAHEAD } from "../../src/core/constants.ts";
import type { TopicAlarm } from "../../src/settings/topic-settings.ts";
import { cdkDurationOf } from "../app-duration.ts";
import type { Events } from "../events.ts";
import type { PoolTable } from "../job-pool.ts";
import type { TopicProps } from "../props.ts";
import type { RecurringSchedules } from "../scheduler.ts";
import type { Tick } from "../tick.ts";
import { type TopicQueues, ttrOf } from "../topic-queues.ts";
import { failuresUrl, logGroupOf } from "./log-groups.ts";
import { MINUTE, queueMetric, topicMetric } from "./metrics.ts";

export type AlarmsProps = {
  readonly tick: Tick;
  readonly recurring: RecurringSchedules | undefined;
  readonly events: Events | undefined;
  readonly topics: readonly TopicQueues[];
  readonly table: PoolTable;
  readonly prefix: string;
  readonly shards: number;
  readonly alarmTopic: ITopic | undefined;
  readonly runbookUrl: string | undefined;
  /** The function that runs a topic's jobs. It is asked for at synth, because consumers are added later. */
  readonly consumerOf: (topic: string) => LambdaFunction | undefined;
};

/** What is wrong, what a person does first, and where the runbook goes on. */
type AlarmText = {
  /** The heading of the runbook's section about this alarm. */
  readonly kind: string;
  /** One sentence, without its full stop. */
  readonly wrong: string;
  /** What to do first, after the word "First". */
  readonly first: string;
  /** Answers the address of a log. Called at synth, because consumers are added later. */
  readonly log?: () => string | undefined;
  /**
   * Whether the trouble is over when the alarm returns to OK. A metric that counts events, or that nobody measures any more, can be silent
   * while the trouble lasts: then OK says nothing, and nobody is notified of it.
   */
  readonly tellsEnd?: true;
};

const RUNBOOK_FILE = "node_modules/minutehand/docs/guides/alarms.md";
const FIVE_MINUTES = Duration.minutes(5);
/** A tick over more shards may need further invocations in each minute, without a backlog: docs/reference/sizing.md. */
const MOST_SHARDS_OF_ONE = 256;
const DEFAULT_OLDEST_AGE = Duration.minutes(15);
/** The audit counts a late job about once an hour on its first day (`AUDIT_LADDER`). A trouble that lasts must not ring each time. */
const WARNING_MINUTES = 90;

/** The queue's CloudWatch alarms. Each of them needs a person to act. */
export class Alarms extends Construct {
  readonly inStack: Alarm[] = [];
  private readonly props: AlarmsProps;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.props = props;
    for (const topic of props.topics) this.watchTopic(topic);
    this.watchTick();
    this.watchSweepers();
    if (props.recurring !== undefined) this.watchOccurrences(props.recurring);
    if (props.events !== undefined) this.watchEvents(props.events);
    this.watchPromises();
  }

  private watchTopic(topic: TopicQueues): void {
    const wanted = alarmsOf(topic.settings);
    if (wanted.includes("Dead")) this.watchDead(topic);
    if (wanted.includes("Backlog")) this.watchBacklog(topic);
    if (wanted.includes("Retrying")) this.watchRetries(topic);
  }

  private watchDead({ topic, settings, dlq }: TopicQueues): void {
    this.alarm(`${topic}Dead`, {
      kind: "Dead",
      wrong: `Topic ${topic} has dead jobs, which do not run again by themselves`,
      first:
        settings.tracking === "none"
          ? `read the messages in the queue ${this.props.prefix}-${topic}_dlq`
          : `read their errors: ${this.command(`dead ${topic}`)}`,
      log: () => this.logOf(topic),
      ...holdsMessages(dlq),
    });
  }

  private watchBacklog({ topic, settings, ready }: TopicQueues): void {
    // The message of a pulled job stays in the queue, and ages there, while the job runs.
    const claim = settings.consumer === "pull" ? ttrOf(settings) : Duration.seconds(0);
    const oldest = cdkDurationOf(settings.oldestMessageAge ?? DEFAULT_OLDEST_AGE.plus(claim));
    this.alarm(`${topic}Backlog`, {
      kind: "Backlog",
      wrong: `Topic ${topic} has old messages in its ready queue, because its consumer is too slow or fails`,
      first: `see how many jobs wait, and whether the topic is paused: ${this.command(`topics ${topic}`)}`,
      log: () => this.logOf(topic),
      metric: ready.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: "Maximum" }),
      threshold: oldest.toSeconds(),
      evaluationPeriods: 3,
    });
  }

  /**
   * By the default backoff, one job alone fails in at most three successive periods: its third wait is as long as two of them.
   * CloudWatch skips periods without a value and takes earlier ones in their place. So the expression fills them with 0.
   */
  private watchRetries({ topic, settings }: TopicQueues): void {
    const failed = topicMetric(this.props.prefix, topic, "Failed", {
      statistic: "Sum",
      period: FIVE_MINUTES,
    });
    this.alarm(`${topic}Retrying`, {
      kind: "Retrying",
      wrong: `Runs of topic ${topic} have failed in each five minutes of the last 20 minutes, and their jobs wait for further attempts`,
      first:
        settings.tracking === "none"
          ? "read the errors in the log of its function"
          : `read the errors of the jobs that run again soon: ${this.command(`list --topic ${topic}`)}`,
      // The log of a webhook topic names no failed call.
      log: () => (settings.webhook === undefined ? this.logOf(topic) : undefined),
      metric: new MathExpression({
        expression: "FILL(failed, 0)",
        usingMetrics: { failed },
        period: FIVE_MINUTES,
      }),
      threshold: 1,
      evaluationPeriods: 4,
    });
  }

  /** Watches a topic's function, if the topic wants it. An error that a handler throws is a failed attempt of its job, and no error of the function. */
  watchConsumer(topic: string, fn: LambdaFunction): void {
    const settings = this.props.topics.find((one) => one.topic === topic)?.settings ?? {};
    if (!alarmsOf(settings).includes("Failing")) return;
    // A function in another stack has its alarm there: that stack refers to this stack's queues, and two stacks cannot refer to each other.
    const scope = Stack.of(fn) === Stack.of(this) ? this : fn;
    const { functionName } = fn;
    this.alarm(
      `${topic}Failing`,
      {
        kind: "Failing",
        wrong: `The function that runs the jobs of topic ${topic} crashes or reaches its timeout`,
        first: `read the log of the function ${functionName}`,
        ...failing(fn),
      },
      scope,
    );
  }

  private watchTick(): void {
    const { fn } = this.props.tick;
    this.alarm("TickErrors", {
      kind: "TickErrors",
      wrong: "The tick has failed in three of the last five minutes, so jobs will soon be late",
      first: `read the log of the function ${fn.functionName}`,
      metric: fn.metricErrors({ period: MINUTE, statistic: "Sum" }),
      threshold: 1,
      evaluationPeriods: 5,
      datapointsToAlarm: 3,
    });
    this.alarm("TickMissing", {
      kind: "TickMissing",
      wrong: "The tick has not run for three minutes or longer, so jobs are late",
      first: `check that the tick's rule is enabled, and that Lambda does not throttle the function ${fn.functionName}`,
      metric: fn.metricInvocations({ period: MINUTE, statistic: "Sum" }),
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      threshold: 1,
      // Jobs that are due within `LOOKAHEAD` after the last tick have already been sent.
      evaluationPeriods: LOOKAHEAD / MINUTE.toMilliseconds(),
      treatMissingData: TreatMissingData.BREACHING,
      tellsEnd: true,
    });
  }

  /** Without a backlog the tick's function is invoked five times in five minutes, and else at least ten times. */
  private watchSweepers(): void {
    const { tick, shards } = this.props;
    if (tick.sweepers === 0 || shards > MOST_SHARDS_OF_ONE) return;
    this.alarm("TickDivided", {
      kind: "TickDivided",
      wrong:
        "In each five minutes of the last hour, ticks had a backlog and started further invocations, which cost up to $3 an hour",
      first: `see how many jobs are due each minute: ${this.command("forecast")}`,
      metric: tick.fn.metricInvocations({ period: FIVE_MINUTES, statistic: "Sum" }),
      threshold: 8,
      evaluationPeriods: 12,
      tellsEnd: true,
    });
  }

  private watchOccurrences({ dlq, fn }: RecurringSchedules): void {
    this.alarm("OccurrencesLost", {
      kind: "OccurrencesLost",
      wrong: "Occurrences of recurring schedules were not filed as jobs",
      first: `read the log of the function ${fn.functionName}`,
      ...holdsMessages(dlq),
    });
  }

  private watchEvents({ rules, eventBus, queue, dlq, fn }: Events): void {
    const readLog = `read the log of the function ${fn.functionName}`;
    this.alarm("EventsFailing", {
      kind: "EventsFailing",
      wrong: "The function that applies events crashes or reaches its timeout",
      first: readLog,
      ...failing(fn),
    });
    // There is an alarm for each rule: a metric expression takes at most ten metrics ("Limits" of CloudWatch's alarms).
    for (const rule of rules)
      this.alarm(`EventsUndelivered${rule.node.id}`, {
        kind: "EventsUndelivered",
        wrong: "EventBridge cannot send events to their queue, and drops them",
        first: `check that the queue ${this.props.prefix}_events exists, and that the policy of its key allows EventBridge`,
        metric: failedInvocations(rule, eventBus),
        threshold: 1,
        evaluationPeriods: 1,
      });
    this.alarm("EventsLost", {
      kind: "EventsLost",
      wrong: "Events were not applied to their topics within an hour of retries",
      first: readLog,
      ...holdsMessages(dlq),
    });
    this.alarm("EventsBacklog", {
      kind: "EventsBacklog",
      wrong:
        "Events wait too long, because the function that applies them is too slow or fails, or because jobs with the keys of these events are still running",
      first: readLog,
      metric: queue.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: "Maximum" }),
      threshold: DEFAULT_OLDEST_AGE.toSeconds(),
      evaluationPeriods: 3,
    });
  }

  private watchPromises(): void {
    const { prefix, table, tick } = this.props;
    const readLog = `read the log of the function ${tick.fn.functionName}`;
    this.alarm("SweepLag", {
      kind: "SweepLag",
      wrong: "The sweep is so far behind that it sends jobs after they are due",
      first: readLog,
      metric: queueMetric(prefix, "SweepLag", { statistic: "Maximum" }),
      threshold: LOOKAHEAD,
      evaluationPeriods: 3,
      datapointsToAlarm: 2,
    });
    this.alarm("TableThrottled", {
      kind: "TableThrottled",
      wrong:
        "DynamoDB has throttled writes to the job table for five minutes, so calls answer 503 and jobs are late",
      first: "see on the dashboard or in the table's metrics how many write units are consumed",
      metric: table.metric("WriteThrottleEvents", { period: MINUTE, statistic: "Sum" }),
      threshold: 1,
      evaluationPeriods: 5,
    });
    // CloudWatch charges for each metric of an alarm, and an expression has one for each cause. So the functions write the sum themselves.
    this.alarm("Warnings", {
      kind: "Warnings",
      wrong:
        "Jobs were due and did not run, are dead without a letter, or are far and got no schedule; or occurrences of schedules were not " +
        "filed; or events of notify are lost; or a chain of jobs that file jobs has used half of maxFiledPerChain",
      first:
        `see whether consumers are behind: ${this.command("topics")}. Then see which of the metrics AuditFound, DeadWithoutLetter, ` +
        "FarWithoutSchedule, NotifyFailed and RunawayJobs has values",
      metric: queueMetric(prefix, "Warnings", { statistic: "Sum" }),
      threshold: 1,
      evaluationPeriods: WARNING_MINUTES,
      datapointsToAlarm: 1,
    });
  }

  private logOf(topic: string): string | undefined {
    const fn = this.props.consumerOf(topic);
    const group = fn && logGroupOf(this, fn);
    return group === undefined ? undefined : failuresUrl(this, group);
  }

  /** A command line that a person can copy from the description of an alarm. */
  private command(words: string): string {
    return `\`minutehand ${words} --stack ${Stack.of(this).stackName}\``;
  }

  private alarm(
    id: string,
    { kind, wrong, first, log, tellsEnd, ...props }: AlarmText & Omit<AlarmProps, "alarmDescription">,
    scope: Construct = this,
  ): void {
    const guide = `${this.props.runbookUrl ?? RUNBOOK_FILE}#${kind.toLowerCase()}`;
    const alarm = new Alarm(scope, id, {
      alarmDescription: Lazy.string({
        produce: () => {
          const address = log?.();
          const lines = [`${wrong}. First ${first}.`, `Runbook: ${guide}`];
          return [...lines, ...(address === undefined ? [] : [`Log of the failed runs: ${address}`])].join(
            "\n",
          );
        },
      }),
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...props,
    });
    if (scope === this) this.inStack.push(alarm);
    if (this.props.alarmTopic === undefined) return;
    const notify = new SnsAction(this.props.alarmTopic);
    alarm.addAlarmAction(notify);
    if (tellsEnd) alarm.addOkAction(notify);
  }
}

/**
 * By default only `Dead`. A function that fails makes jobs late or dead, which `Warnings` and `Dead` say, and so does a backlog. Nobody audits an
 * untracked topic.
 */
function alarmsOf({ alarms, tracking, oldestMessageAge }: TopicProps): readonly TopicAlarm[] {
  if (alarms !== undefined) return alarms;
  return tracking === "none" || oldestMessageAge !== undefined ? ["Dead", "Backlog"] : ["Dead"];
}

/** A reader hides the messages of a DLQ for up to a minute. So the alarm returns to OK only after five minutes without a message. */
function holdsMessages(
  dlq: IQueue,
): Pick<AlarmProps, "metric" | "threshold" | "evaluationPeriods" | "datapointsToAlarm"> &
  Pick<AlarmText, "tellsEnd"> {
  const metric = dlq.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: "Maximum" });
  return { metric, threshold: 1, evaluationPeriods: 5, datapointsToAlarm: 1, tellsEnd: true };
}

/** Rings if 3 of the last 15 minutes have errors: SQS delivers a message again only after its visibility timeout. */
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
