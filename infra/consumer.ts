import { Duration } from "aws-cdk-lib";
import { EventSourceMapping, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { LAST_START } from "../core/constants.ts";
import { grantPool, grantQueues, RUN_ACTIONS } from "./access.ts";
import type { PoolTable } from "./job-pool.ts";
import type { TopicQueues } from "./topic-queues.ts";

export type ConsumerOptions = {
  /**
   * How many messages an invocation gets at most, 1 to 10.
   *
   * @default 10
   */
  readonly batchSize?: number;
};

const DEFAULT_BATCH_SIZE = 10;
/** "Configure Lambda function timeout", AWS Lambda Developer Guide. */
const LAMBDA_TIMEOUT = Duration.seconds(3);
/** A consumer starts no job within `LAST_START` of its deadline, so less would leave it no time at all. */
const LEAST_TIMEOUT = Duration.millis(2 * LAST_START);

/** What forbids a function to consume a topic: the rule, the value and what is allowed; `undefined`: nothing. */
export function consumerError(
  topic: string,
  queues: TopicQueues | undefined,
  consumer: LambdaFunction | undefined,
  path: string,
  timeout: Duration = LAMBDA_TIMEOUT,
  { batchSize = DEFAULT_BATCH_SIZE }: ConsumerOptions = {},
): string | undefined {
  if (queues === undefined)
    return `a consumer's topic must be declared, is "${topic}"; allowed: those in topics`;
  if (queues.settings.consumer === "pull") {
    return `a consumer's topic must be emptied by Lambda, "${topic}" is a pull topic; allowed: consumer "lambda"`;
  }
  if (queues.settings.webhook !== undefined) {
    return `a consumer's topic must be emptied by Lambda, "${topic}" is a webhook topic; allowed: no webhook`;
  }
  if (consumer !== undefined) {
    return `a topic must have one consumer, "${topic}" has ${consumer.node.path}; allowed: 1`;
  }
  if (timeout.isUnresolved()) {
    return `a consumer's timeout must be known at synth, ${path} has a token; allowed: ${LEAST_TIMEOUT.toSeconds()} s or more`;
  }
  if (timeout.toSeconds() < LEAST_TIMEOUT.toSeconds()) {
    const actual = `${path} has ${timeout.toSeconds()} s`;
    return `a consumer must have time to run a job, ${actual}; allowed: timeout of ${LEAST_TIMEOUT.toSeconds()} s or more`;
  }
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > 10) {
    return `batchSize must be a whole number, is ${batchSize}; allowed: 1 to 10`;
  }
  return undefined;
}

/** Makes `fn` a topic's consumer: event source, visibility timeout and grants. */
export function connectConsumer(
  fn: LambdaFunction,
  queues: TopicQueues,
  table: PoolTable,
  defaultConcurrency: number,
  { batchSize = DEFAULT_BATCH_SIZE }: ConsumerOptions = {},
): EventSourceMapping {
  const { topic, settings, ready, dlq } = queues;
  queues.hideFor(fn.timeout ?? LAMBDA_TIMEOUT);
  // An untracked topic's too: its queue may hold tracked jobs of the time before its tracking was changed.
  grantPool(fn, table, RUN_ACTIONS);
  grantQueues(
    fn,
    [ready],
    ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes", "SendMessage"],
  );
  grantQueues(fn, [dlq], ["SendMessage"]);
  return new EventSourceMapping(fn, `Topic-${topic}`, {
    target: fn,
    eventSourceArn: ready.queueArn,
    batchSize,
    reportBatchItemFailures: true,
    maxConcurrency: settings.maximumConcurrency ?? defaultConcurrency,
  });
}
