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

// A tick that comes late has nothing to do that the next one would not: it starts at the cursors.
const NO_REPEATS = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };

export type TickProps = QueueParts & { readonly tickConcurrency: number | undefined };

/**
 * The minute's sweep and audit: a rule, its function and a DLQ of their own. A rule, not a Scheduler
 * schedule, since every emulator fires it.
 */
export class Tick extends Construct {
  readonly fn: LambdaFunction;
  readonly dlq: Queue;

  constructor(scope: Construct, id: string, props: TickProps) {
    super(scope, id);
    const { table, topics, prefix, removable, tracing, tickConcurrency } = props;
    // SQS's own key even where the customer has one: a tick's event says nothing, and EventBridge would
    // have to be let into the customer's key.
    this.dlq = new Queue(this, "Dlq", {
      queueName: `${prefix}_tick_dlq`,
      retentionPeriod: DLQ_RETENTION,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      removalPolicy: removalOf(removable),
    });
    this.fn = new BundledFunction(this, "Sweeper", {
      code: bundleOf("tick"),
      description: "Hands due jobs over to their ready queues, and audits what should have run",
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
