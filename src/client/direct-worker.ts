import { createContext } from "../environment/context.ts";
import { TIMERS } from "../environment/process.ts";
import { buryJob, extendLease, finishJob, receiveJobs, retryJob } from "../http/calls/pulled.ts";
import { topicPath } from "../http/parameters.ts";
import { burying, extending, finishing, receiving, retrying } from "../http/requests.ts";
import type { Service } from "../http/route.ts";
import type { Context } from "../protocol/ports.ts";
import type { TopicBodies } from "./check-bodies.ts";
import { withCheckedOptions } from "./check-options.ts";
import type { Client } from "./client.ts";
import { readFields, readPath, runDirectly } from "./direct-calls.ts";
import type { BuryOptions, CallOptions, ReceiveOptions, RetryOptions } from "./options.ts";

/** The calls that `queue.grantPull(topic, worker)` allows to code inside AWS, for the jobs of that topic. */
export type DirectWorker<Topics = TopicBodies> = Pick<
  Client<Topics>,
  "receive" | "finish" | "extend" | "retry" | "bury"
>;

/**
 * Creates a worker for code inside AWS, with the rules and answers of the API. It receives jobs from SQS and claims them in DynamoDB, with the
 * role of the code. So nobody pays for a Lambda function while the worker waits.
 *
 * An aborted `receive` throws at once. Its poll goes on until its `waitSeconds` are over, and jobs that still come are given back without a
 * failed attempt. So let the process end by itself, and do not call `process.exit`.
 *
 * The code needs the permissions of `queue.grantPull(topic, worker)`, and environment variables: a Lambda function gets them from `grantPull`,
 * any other program from `queue.environment`. Throws if a variable is missing. A call throws `forbidden` if a permission is missing, and
 * `unavailable` if AWS did not answer in time. Errors and metrics go to the log of the code.
 *
 * @example
 * const worker = directWorker<{ thumbnail: { image: string } }>();
 * for (const { receipt, body } of await worker.receive("thumbnail", { max: 10, waitSeconds: 20 })) {
 *   await shrink(body.image);
 *   await worker.finish("thumbnail", receipt);
 * }
 */
export function directWorker<Topics = TopicBodies>(): DirectWorker<Topics> {
  const ctx = createContext(process.env, { polls: true });
  return directWorkerOn(ctx, ctx.telemetry.logger, ctx.telemetry.flush);
}

/** `done` is awaited after each call. */
export function directWorkerOn<Topics = TopicBodies>(
  ctx: Context,
  log: Service["log"],
  done?: () => unknown,
): DirectWorker<Topics> {
  const run = runDirectly(log, done);
  const calls = {
    receive: (topic: string, { signal, ...options }: ReceiveOptions = {}) =>
      run(signal, () => receiveJobs(ctx, topicOf(topic), readFields(receiving, options), TIMERS, signal)),
    finish: (topic: string, receipt: string, { signal }: CallOptions = {}) =>
      run(signal, () => finishJob(ctx, topicOf(topic), readFields(finishing, { receipt }))),
    extend: (topic: string, receipt: string, seconds: number, { signal }: CallOptions = {}) =>
      run(signal, () => extendLease(ctx, topicOf(topic), readFields(extending, { receipt, seconds }))),
    retry: (topic: string, receipt: string, { signal, ...options }: RetryOptions = {}) =>
      run(signal, () => retryJob(ctx, topicOf(topic), readFields(retrying, { receipt, ...options }))),
    bury: (topic: string, receipt: string, { signal, ...options }: BuryOptions = {}) =>
      run(signal, () => buryJob(ctx, topicOf(topic), readFields(burying, { receipt, ...options }))),
  };
  return withCheckedOptions(calls as unknown as DirectWorker<Topics>);
}

function topicOf(topic: string): string {
  return readPath(topicPath, { topic }).topic;
}
