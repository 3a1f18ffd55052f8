import { Duration } from "aws-cdk-lib";
import {
  type CfnEventSourceMapping,
  EventSourceMapping,
  type IFunction,
  type Function as LambdaFunction,
} from "aws-cdk-lib/aws-lambda";
import { LAST_START_BEFORE_DEADLINE } from "../src/core/constants.ts";
import { grantNotify, grantPool, grantQueues, RUN_ACTIONS } from "./access.ts";
import type { AnyFunction } from "./function-behind.ts";
import type { PoolTable } from "./job-pool.ts";
import type { TopicQueues } from "./topic-queues.ts";

export type ConsumerOptions = {
  /**
   * How many messages an invocation gets at most, 1 to 10.
   * @default 10
   */
  readonly batchSize?: number;
};

/** `false`: none, also if an earlier deployment had one. `undefined`: an earlier deployment's may stay. */
export type ConcurrencyLimit = number | false | undefined;

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

/** Sets the visibility timeout, the permissions and the event source. `target`: `fn`, or an alias or a version of it. */
export function connectConsumer(
  fn: LambdaFunction,
  queues: TopicQueues,
  table: PoolTable,
  defaultConcurrency: ConcurrencyLimit,
  { batchSize = DEFAULT_BATCH_SIZE }: ConsumerOptions = {},
  target: AnyFunction = fn,
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
  grantNotify(fn, [queues]);
  // Lambda refuses an event source that has both, also while the pollers of an earlier deployment are not turned off yet.
  const limit = pollers === undefined ? (settings.maximumConcurrency ?? defaultConcurrency) : undefined;
  const mapping = new EventSourceMapping(fn, `Topic-${topic}`, {
    // The classes of the CDK declare `role` in a way that `exactOptionalPropertyTypes` refuses.
    target: target as IFunction,
    eventSourceArn: ready.queueArn,
    batchSize,
    reportBatchItemFailures: true,
    ...(pollers && { provisionedPollerConfig: { minimumPollers: pollers.min, maximumPollers: pollers.max } }),
    ...(limit && { maxConcurrency: limit }),
  });
  // "To remove the configuration, pass an empty value" ("ScalingConfig", CloudFormation Template Reference).
  if (limit === false) (mapping.node.defaultChild as CfnEventSourceMapping).scalingConfig = {};
  return mapping;
}
