import { Annotations, Aws, Duration } from "aws-cdk-lib";
import { type IEventBusRef, Rule } from "aws-cdk-lib/aws-events";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { EventSourceMapping, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { EVENT_RECEIVES } from "../core/constants.ts";
import type { EventRule } from "../core/event-rules.ts";
import { EVENT_ACTIONS, grantPool, grantQueues } from "./access.ts";
import { BundledFunction } from "./bundled-function.ts";
import { bundleOf } from "./bundles.ts";
import { queueSettings } from "./queue-settings.ts";
import { DLQ_RETENTION, QUEUE_RETENTION, type QueueParts, visibilityTimeoutFor } from "./topic-queues.ts";

export type EventsProps = QueueParts & {
  readonly rules: readonly EventRule[];
  readonly eventBus: IEventBusRef | undefined;
  readonly encryptionKey: IKey | undefined;
};

const TIMEOUT = Duration.seconds(30);
const MEMORY_MIB = 512;
const BATCH_SIZE = 10;
/** A burst of events is to leave the account's concurrency, and the table, to the jobs. */
const MAX_CONCURRENCY = 10;
const SERVICE = "events.amazonaws.com";
const DEFAULT_BUS = "default";

/** What brings events to the topics: EventBridge's rules, a queue that they wait in, and the function that applies them. */
export class Events extends Construct {
  readonly fn: LambdaFunction;
  readonly rules: readonly Rule[];
  /** Of the rules; absent: the default bus. */
  readonly eventBus: IEventBusRef | undefined;
  readonly queue: Queue;
  readonly dlq: Queue;

  constructor(scope: Construct, id: string, props: EventsProps) {
    super(scope, id);
    const { rules, eventBus, table, topics, prefix, encryptionKey, removable, tracing } = props;
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
    // The metrics of its rules do not name the default bus.
    this.eventBus = eventBus?.eventBusRef.eventBusName === DEFAULT_BUS ? undefined : eventBus;
    this.rules = this.bring(patternsOf(rules));
    if (encryptionKey !== undefined) this.letInto(encryptionKey);
    this.fn = new BundledFunction(this, "Applier", {
      code: bundleOf("event"),
      description: "Cancels and enqueues jobs by their keys as events say",
      timeout: TIMEOUT,
      memoryMiB: MEMORY_MIB,
      removable,
      tracing,
    }).fn;
    this.fn.addEnvironment("MINUTEHAND_EVENTS", JSON.stringify(rules));
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
    new EventSourceMapping(this.fn, "Events", {
      target: this.fn,
      eventSourceArn: this.queue.queueArn,
      batchSize: BATCH_SIZE,
      maxConcurrency: MAX_CONCURRENCY,
      reportBatchItemFailures: true,
    });
  }

  /** The CDK's own target would let every rule of the account send, and into the key, once there is one. */
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

  /** Rules name the queue and the queue its key, so the key can name no rule. */
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

/** Each once, and none that asks for less than another. */
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
