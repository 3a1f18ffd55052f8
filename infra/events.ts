import { Annotations, Aws, Duration } from "aws-cdk-lib";
import { type IEventBusRef, Rule } from "aws-cdk-lib/aws-events";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { EventSourceMapping, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { EVENT_RECEIVES } from "../src/core/constants.ts";
import type { EventRule } from "../src/settings/event-rules.ts";
import { EVENT_ACTIONS, grantPool, grantQueues } from "./access.ts";
import { bundleOf } from "./bundles.ts";
import { BundledFunction } from "./bundling/bundled-function.ts";
import { queueSettings } from "./queue-settings.ts";
import {
  DEFAULT_BUS,
  DLQ_RETENTION,
  QUEUE_RETENTION,
  type QueueParts,
  visibilityTimeoutFor,
} from "./topic-queues.ts";

export type EventsProps = QueueParts & {
  readonly rules: readonly EventRule[];
  readonly eventBus: IEventBusRef | undefined;
  readonly encryptionKey: IKey | undefined;
};

const TIMEOUT = Duration.seconds(30);
const MEMORY_MIB = 512;
const BATCH_SIZE = 10;
/** How many invocations may apply events at once. Small, so that a burst leaves concurrency and the table's capacity to the jobs. */
const MAX_CONCURRENCY = 10;
const SERVICE = "events.amazonaws.com";

/** EventBridge rules send events to a queue, and a function applies them. */
export class Events extends Construct {
  readonly fn: LambdaFunction;
  readonly rules: readonly Rule[];
  /** Absent: the default bus. */
  readonly eventBus: IEventBusRef | undefined;
  readonly queue: Queue;
  readonly dlq: Queue;

  constructor(scope: Construct, id: string, props: EventsProps) {
    super(scope, id);
    const { rules, eventBus, prefix, encryptionKey, removable, tracing } = props;
    const shared = queueSettings(props);
    const queueName = `${prefix}_events`;
    this.dlq = new Queue(this, "Dlq", {
      ...shared,
      queueName: `${queueName}_dlq`,
      retentionPeriod: DLQ_RETENTION,
    });
    this.queue = new Queue(this, "Queue", {
      ...shared,
      queueName,
      retentionPeriod: QUEUE_RETENTION,
      visibilityTimeout: visibilityTimeoutFor(TIMEOUT),
      deadLetterQueue: { queue: this.dlq, maxReceiveCount: EVENT_RECEIVES },
    });
    // CloudWatch's metrics of a rule do not name the default bus. So a given default bus counts as no bus.
    this.eventBus = eventBus?.eventBusRef.eventBusName === DEFAULT_BUS ? undefined : eventBus;
    this.rules = this.bring(patternsOf(rules));
    if (encryptionKey !== undefined) this.letInto(encryptionKey);
    this.fn = new BundledFunction(this, "Applier", {
      code: bundleOf("event"),
      description: "Applies events: cancels and enqueues jobs by their keys",
      timeout: TIMEOUT,
      memoryMiB: MEMORY_MIB,
      removable,
      tracing,
    }).fn;
    this.fn.addEnvironment("MINUTEHAND_EVENTS", JSON.stringify(rules));
    this.letApply(props);
    new EventSourceMapping(this.fn, "Events", {
      target: this.fn,
      eventSourceArn: this.queue.queueArn,
      batchSize: BATCH_SIZE,
      maxConcurrency: MAX_CONCURRENCY,
      reportBatchItemFailures: true,
    });
  }

  /** Also lets the function enqueue jobs of the topics whose rules enqueue. */
  private letApply({ rules, table, topics }: EventsProps): void {
    grantPool(this.fn, table, EVENT_ACTIONS);
    const enqueued = new Set(rules.filter((rule) => rule.do === "enqueue").map(({ topic }) => topic));
    grantQueues(
      this.fn,
      topics.filter(({ topic }) => enqueued.has(topic)).map(({ ready }) => ready),
      ["SendMessage"],
    );
    grantQueues(
      this.fn,
      [this.queue],
      ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes"],
    );
  }

  /** Creates the rules and lets only them send to the queue. The CDK's own SQS target would let every rule of the account send. */
  private bring(patterns: readonly Pattern[]): Rule[] {
    const rules = patterns.map(
      ({ source, detailType }) =>
        new Rule(this, JSON.stringify([source ?? "Anyone", detailType]), {
          description: `Minutehand's ${detailType} of ${source ?? "anyone"}`,
          eventPattern: { detailType: [detailType], ...(source !== undefined && { source: [source] }) },
          targets: [{ bind: () => ({ arn: this.queue.queueArn }) }],
          ...(this.eventBus && { eventBus: this.eventBus }),
        }),
    );
    this.queue.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(SERVICE)],
        actions: ["sqs:SendMessage"],
        resources: [this.queue.queueArn],
        conditions: { ArnEquals: { "aws:SourceArn": rules.map(({ ruleArn }) => ruleArn) } },
      }),
    );
    return rules;
  }

  /**
   * Names the account and no rule: rules refer to the queue and the queue to its key, so a rule's name would make a circular dependency.
   */
  private letInto(key: IKey): void {
    const { statementAdded } = key.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(SERVICE)],
        actions: ["kms:Decrypt", "kms:GenerateDataKey"],
        resources: ["*"],
        conditions: { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } },
      }),
    );
    if (statementAdded) return;
    Annotations.of(this).addWarningV2(
      "minutehand:events-key",
      `events reach a topic only if the policy of the encryption key allows kms:Decrypt and kms:GenerateDataKey to ${SERVICE}`,
    );
  }
}

type Pattern = Pick<EventRule, "source" | "detailType">;

/** Leaves out a pattern that another pattern covers. */
function patternsOf(rules: readonly EventRule[]): Pattern[] {
  const fromAnyone = new Set(
    rules.flatMap(({ source, detailType }) => (source === undefined ? [detailType] : [])),
  );
  const patterns = rules.map(
    ({ source, detailType }): Pattern =>
      source === undefined || fromAnyone.has(detailType) ? { detailType } : { source, detailType },
  );
  return [...new Map(patterns.map((pattern) => [JSON.stringify(pattern), pattern])).values()];
}
