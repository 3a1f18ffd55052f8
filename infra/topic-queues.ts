import { Aws, Duration } from "aws-cdk-lib";
import type { IEventBusRef } from "aws-cdk-lib/aws-events";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { type CfnQueue, Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { MOST_RECEIVES, READY_RETENTION, VISIBILITY_MARGIN } from "../src/core/constants.ts";
import { topicPolicy } from "../src/settings/policy.ts";
import { cdkDurationOf } from "./app-duration.ts";
import type { PoolTable } from "./job-pool.ts";
import type { TopicProps } from "./props.ts";
import { queueSettings } from "./queue-settings.ts";

// A message that SQS moves to the DLQ keeps its timestamp, so the retention of the DLQ must be longer.
export const QUEUE_RETENTION = Duration.millis(READY_RETENTION);
export const DLQ_RETENTION = Duration.days(14);

export type QueueParts = {
  readonly table: PoolTable;
  readonly topics: readonly TopicQueues[];
  readonly prefix: string;
  readonly removable: boolean;
  readonly tracing: boolean;
};

export type TopicQueuesProps = {
  readonly prefix: string;
  readonly topic: string;
  readonly settings: TopicProps;
  readonly encryptionKey: IKey | undefined;
  readonly eventBus: IEventBusRef | undefined;
  readonly removable: boolean;
};

/** The visibility timeout for runs of at most `run`: long enough for every run, and short enough to find a crashed run soon. */
export function visibilityTimeoutFor(run: Duration): Duration {
  return run.plus(Duration.millis(VISIBILITY_MARGIN));
}

export function ttrOf({ ttr }: TopicProps): Duration {
  return cdkDurationOf(ttr ?? topicPolicy({}).ttr);
}

/** The name of each account's own event bus. */
export const DEFAULT_BUS = "default";
const DEFAULT_BUS_ARN = `arn:${Aws.PARTITION}:events:${Aws.REGION}:${Aws.ACCOUNT_ID}:event-bus/${DEFAULT_BUS}`;

/** `<prefix>-<topic>` and `<prefix>-<topic>_dlq`. A topic's name has no underscore, so no DLQ has the name of a ready queue. */
export class TopicQueues extends Construct {
  readonly topic: string;
  readonly settings: TopicProps;
  readonly ready: Queue;
  readonly dlq: Queue;
  /** The event bus of a topic with `notify`. */
  readonly busArn: string | undefined;

  constructor(scope: Construct, id: string, props: TopicQueuesProps) {
    super(scope, id);
    const { prefix, topic, settings } = props;
    this.topic = topic;
    this.settings = settings;
    if (settings.notify) this.busArn = props.eventBus?.eventBusRef.eventBusArn ?? DEFAULT_BUS_ARN;
    // `tlsOnly` enforces TLS with one policy for all topics.
    const shared = { ...queueSettings(props), enforceSSL: false };
    const name = `${prefix}-${topic}`;
    this.dlq = new Queue(this, "Dlq", {
      ...shared,
      queueName: `${name}_dlq`,
      retentionPeriod: DLQ_RETENTION,
    });
    this.ready = new Queue(this, "Ready", {
      ...shared,
      queueName: name,
      retentionPeriod: QUEUE_RETENTION,
      visibilityTimeout: visibilityTimeoutFor(ttrOf(settings)),
      deadLetterQueue: { queue: this.dlq, maxReceiveCount: MOST_RECEIVES },
    });
  }

  /** Whether the pool records the runs and deaths of the topic's jobs. */
  get isTracked(): boolean {
    return this.settings.tracking !== "none";
  }

  /** For a consumer that runs for at most `run`. Without this call, the timeout follows from `ttr`. */
  hideFor(run: Duration): void {
    const resource = this.ready.node.defaultChild as CfnQueue;
    resource.visibilityTimeout = visibilityTimeoutFor(run).toSeconds();
  }
}
