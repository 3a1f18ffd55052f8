import { Duration } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction as LambdaTarget } from "aws-cdk-lib/aws-events-targets";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { grantPool, grantQueues, TICK_ACTIONS } from "./access.ts";
import { BundledFunction } from "./bundled-function.ts";
import { bundleOf } from "./bundles.ts";
import { removalOf } from "./removal.ts";
import { DLQ_RETENTION, type QueueParts } from "./topic-queues.ts";

// Do not retry a tick: the next one starts at the same cursors and does the same work.
const NO_REPEATS = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };

export type TickProps = QueueParts & { readonly tickConcurrency: number | undefined };

/**
 * The tick: a rule that fires each minute, its function and a DLQ. It is an EventBridge rule and not a schedule of EventBridge
 * Scheduler, because every emulator fires rules.
 */
export class Tick extends Construct {
  readonly fn: LambdaFunction;
  readonly dlq: Queue;

  constructor(scope: Construct, id: string, props: TickProps) {
    super(scope, id);
    const { table, topics, prefix, removable, tracing, tickConcurrency } = props;
    // Encrypt with SQS's key even if the user has a key: the event of a tick contains no data, and EventBridge would need access to the
    // user's key.
    this.dlq = new Queue(this, "Dlq", {
      queueName: `${prefix}_tick_dlq`,
      retentionPeriod: DLQ_RETENTION,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      removalPolicy: removalOf(removable),
    });
    this.fn = new BundledFunction(this, "Sweeper", {
      code: bundleOf("tick"),
      description: "Sends due jobs to their ready queues, and audits that jobs have run",
      timeout: Duration.minutes(3),
      memoryMiB: 1024,
      deadLetterQueue: this.dlq,
      ...NO_REPEATS,
      removable,
      tracing,
      ...(tickConcurrency && { reservedConcurrentExecutions: tickConcurrency }),
    }).fn;
    grantPool(this.fn, table, TICK_ACTIONS);
    grantQueues(
      this.fn,
      topics.map(({ ready }) => ready),
      ["SendMessage", "GetQueueAttributes"],
    );
    grantQueues(
      this.fn,
      topics.filter(({ isTracked }) => isTracked).map(({ dlq }) => dlq),
      ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes"],
    );
    new Rule(this, "EveryMinute", {
      description: "Minutehand's tick",
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [new LambdaTarget(this.fn, { deadLetterQueue: this.dlq, ...NO_REPEATS })],
    });
  }
}
