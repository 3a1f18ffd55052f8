import { join } from "node:path";
import { CfnOutput, Duration, Stack, type StackProps, Validations } from "aws-cdk-lib";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { Topic } from "aws-cdk-lib/aws-sns";
import type { Construct } from "constructs";
import { bundleOf } from "./bundles.ts";
import type { FunctionName } from "./bundling/build.ts";
import { BundledFunction } from "./bundling/bundled-function.ts";
import { DelayQueue } from "./delay-queue.ts";
import type { DelayQueueProps } from "./props.ts";

export type MinutehandStackProps = Pick<StackProps, "description" | "stackName"> &
  Omit<DelayQueueProps, "topics" | "alarmTopic"> & {
    /** The ARN of the SNS topic that the alarms notify. @default none */
    readonly alarmTopicArn?: string;
    /** Private hosts that the topic `callbacks` may call, also over `http:`. @default none */
    readonly callbackHosts?: readonly string[];
    /** Whether there is a topic `receipts`, whose jobs a function in Python runs. @default false */
    readonly pythonTarget?: boolean;
  };

const CONSUMER_TIMEOUT = Duration.seconds(60);
const CONSUMER_MEMORY_MIB = 512;
const BASIC_EXECUTION =
  "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]";
/** Short, so that a user can try the topic. */
const REMINDED_AFTER = Duration.seconds(2);
const LATE_AFTER = Duration.minutes(1);

/** The stack of this repository's own app: a topic of each kind, and two consumers. */
export class MinutehandStack extends Stack {
  readonly queue: DelayQueue;

  constructor(scope: Construct, id: string, props: MinutehandStackProps = {}) {
    super(scope, id, props);
    const { description: _, stackName: __, alarmTopicArn, callbackHosts, pythonTarget, ...queue } = props;
    this.queue = new DelayQueue(this, "Jobs", {
      ...queue,
      ...(alarmTopicArn && { alarmTopic: Topic.fromTopicArn(this, "AlarmTopic", alarmTopicArn) }),
      topics: {
        reminders: {
          cancelOn: { detailType: "ReminderDone", key: "$.detail.key" },
          enqueueOn: { detailType: "ReminderAsked", key: "$.detail.key", delay: REMINDED_AFTER },
        },
        readings: { tracking: "none" },
        work: { consumer: "pull" },
        events: { consumer: "pull", tracking: "none" },
        precise: { precision: "millisecond" },
        days: { consumer: "pull", window: "06:00-18:00 UTC", ifLate: { after: LATE_AFTER, do: "skip" } },
        nights: { consumer: "pull", window: "18:00-06:00 UTC", ifLate: { after: LATE_AFTER, do: "expire" } },
        callbacks: { webhook: callbackHosts ? { allowHosts: callbackHosts, allowHttp: true } : {} },
        ...(pythonTarget && { receipts: {} }),
      },
    });
    const { removable = false } = queue;
    const reminders = this.consume("reminders", "Logs each job", removable);
    this.queue.addConsumer("readings", reminders);
    this.consume("precise", "Logs when each job started", removable);
    if (pythonTarget) this.queue.addTarget("receipts", this.sendReceipt());
    if (this.queue.api !== undefined) new CfnOutput(this, "ApiUrl", { value: this.queue.api.apiEndpoint });
    new CfnOutput(this, "TableName", { value: this.queue.table.tableName });
    new CfnOutput(this, "QueueUrlPrefix", { value: this.queue.queueUrlPrefix });
  }

  private sendReceipt(): LambdaFunction {
    const fn = new LambdaFunction(this, "SendReceipt", {
      runtime: Runtime.PYTHON_3_13,
      handler: "send_receipt.handler",
      code: Code.fromAsset(join(import.meta.dirname, "..", "examples", "python-target")),
    });
    const reason = "this function is as users make theirs, and only tests deploy it";
    for (const id of ["AwsSolutions-L1", BASIC_EXECUTION]) Validations.of(fn).acknowledge({ id, reason });
    return fn;
  }

  private consume(topic: FunctionName, description: string, removable: boolean): LambdaFunction {
    const { fn } = new BundledFunction(this, `Consumer-${topic}`, {
      code: bundleOf(topic),
      description,
      timeout: CONSUMER_TIMEOUT,
      memoryMiB: CONSUMER_MEMORY_MIB,
      removable,
    });
    this.queue.addConsumer(topic, fn);
    return fn;
  }
}
