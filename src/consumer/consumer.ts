import { createContext } from "../environment/context.ts";
import { TIMERS } from "../environment/process.ts";
import { type ConsumerFunction, consumeOn } from "./consume.ts";
import type { Job, JobHandler } from "./run-handler.ts";

export type { ConsumerFunction } from "./consume.ts";
export type { Job, JobHandler } from "./run-handler.ts";

/** Tests can call the handler as `jobHandler`. */
export type Consumer<Body> = ConsumerFunction & { readonly jobHandler: JobHandler<Body> };

/** `Topics` has the type of the body of each topic's jobs. */
export type TopicHandler<Topics, T extends keyof Topics & string> = (
  job: Job<Topics[T]> & { readonly topic: T },
) => unknown;

/**
 * Makes a Lambda function that runs a topic's jobs with your handler.
 *
 * When the handler returns, the job is done. When the handler throws, the attempt has failed, and the job runs again by the topic's
 * backoff until it has no attempts left. Make the handler idempotent: a job may run again after a run that crashed.
 *
 * @example
 * type Topics = { "order-timeout": { orderId: string } };
 * export const handler = consumer<Topics, "order-timeout">(async (job) => {
 *   await closeOrder(job.body.orderId);
 * });
 *
 * @example
 * export const handler = consumer<{ orderId: string }>(async (job) => {
 *   await closeOrder(job.body.orderId);
 * });
 */
export function consumer<Body = unknown>(handler: JobHandler<Body>): Consumer<Body>;
export function consumer<Topics, T extends keyof Topics & string>(
  handler: TopicHandler<Topics, T>,
): Consumer<Topics[T]>;
export function consumer<Body>(handler: JobHandler<Body>): Consumer<Body> {
  const deployed = (): ConsumerFunction => {
    const ctx = createContext();
    return consumeOn(ctx, handler, TIMERS, ctx.telemetry.flush);
  };
  // A test may import the handler without a deployed function's environment. Then only a call of the function fails.
  let consume = process.env.MINUTEHAND_POLICY === undefined ? undefined : deployed();
  const handle: ConsumerFunction = async (event, context) => {
    consume ??= deployed();
    return consume(event, context);
  };
  return Object.assign(handle, { jobHandler: handler });
}
