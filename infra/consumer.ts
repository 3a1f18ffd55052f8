import { Duration } from "aws-cdk-lib";
import { EventSourceMapping, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { LAST_START_BEFORE_DEADLINE } from "../src/core/constants.ts";
import { grantPool, grantQueues, RUN_ACTIONS } from "./access.ts";
import type { PoolTable } from "./job-pool.ts";
import type { TopicQueues } from "./topic-queues.ts";

export type ConsumerOptions = {
  /**
   * How many messages an invocation gets at most, 1 to 10.
   * @default 10
   */
  readonly batchSize?: number;
};

const DEFAULT_BATCH_SIZE = 10;
/** Lambda's default ("Configure Lambda function timeout", AWS Lambda Developer Guide). */
export const LAMBDA_TIMEOUT = Duration.seconds(3);
/** A shorter timeout would leave almost no time for jobs: a consumer starts no job in the last `LAST_START_BEFORE_DEADLINE`. */
const LEAST_TIMEOUT = Duration.millis(2 * LAST_START_BEFORE_DEADLINE);

/** Says why a topic cannot get a function. `undefined`: it can. */
export function topicError(
  topic: string,
  queues: TopicQueues | undefined,
  consumer: LambdaFunction | undefined,
): string | undefined {
  if (queues === undefined) return `topic "${topic}" is not declared in the queue's topics`;
  if (queues.settings.consumer === "pull") {
    return `topic "${topic}" is a pull topic: only a topic with consumer "lambda" can have a function`;
  }
  if (queues.settings.webhook !== undefined) {
    return `topic "${topic}" is a webhook topic: only a topic without a webhook can have a function`;
  }
  if (consumer !== undefined) {
    return `topic "${topic}" already has the consumer ${consumer.node.path}: a topic can have one consumer only`;
  }
  return undefined;
}

/** Says why a function cannot be a consumer. `undefined`: it can. */
export function consumerError(
  path: string,
  timeout: Duration = LAMBDA_TIMEOUT,
  { batchSize = DEFAULT_BATCH_SIZE }: ConsumerOptions = {},
): string | undefined {
  if (timeout.isUnresolved()) {
    return `the timeout of ${path} must be known at synth, got a token; allowed: ${LEAST_TIMEOUT.toSeconds()} s or more`;
  }
  if (timeout.toSeconds() < LEAST_TIMEOUT.toSeconds()) {
    return `the timeout of ${path} must be ${LEAST_TIMEOUT.toSeconds()} s or more, so that the function can run a job, got ${timeout.toSeconds()} s`;
  }
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > 10) {
    return `batchSize must be a whole number from 1 to 10, got ${batchSize}`;
  }
  return undefined;
}

/** Sets the visibility timeout, the permissions and the event source. */
export function connectConsumer(
  fn: LambdaFunction,
  queues: TopicQueues,
  table: PoolTable,
  defaultConcurrency: number,
  { batchSize = DEFAULT_BATCH_SIZE }: ConsumerOptions = {},
): EventSourceMapping {
  const { topic, settings, ready, dlq } = queues;
  const { pollers } = settings;
  queues.hideFor(fn.timeout ?? LAMBDA_TIMEOUT);
  // For an untracked topic too: its queue may contain tracked jobs from before its tracking was changed.
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
    // Lambda refuses an event source that has both.
    ...(pollers === undefined
      ? { maxConcurrency: settings.maximumConcurrency ?? defaultConcurrency }
      : { provisionedPollerConfig: { minimumPollers: pollers.min, maximumPollers: pollers.max } }),
  });
}
