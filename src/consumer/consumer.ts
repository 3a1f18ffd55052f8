import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonOf } from "../core/json-of.ts";
import { createContext } from "../environment/context.ts";
import { TIMERS } from "../environment/process.ts";
import type { Schema } from "../general/read-by-schema.ts";
import { quoted } from "../general/text.ts";
import { checkedHandler } from "./checked-handler.ts";
import { type ConsumerFunction, consumeOn } from "./consume.ts";
import type { CheckedHandler, Job, JobHandler } from "./run-handler.ts";

export type { Duration } from "../general/times.ts";
export type { ConsumerFunction } from "./consume.ts";
export type { CheckedHandler, CheckedJob, Job, JobHandler } from "./run-handler.ts";

/** Tests can call the handler as `jobHandler`. */
export type Consumer<Body> = CheckedConsumer<JsonOf<Body>>;

export interface CheckedConsumer<Body> extends ConsumerFunction {
  readonly jobHandler: CheckedHandler<Body>;
}

/** `Topics` has the type of the body of each topic's jobs. If `T` has several topics, `job.topic` tells the type of `job.body`. */
export type TopicHandler<Topics, T extends keyof Topics & string> = (
  job: { [N in T]: Job<Topics[N]> & { readonly topic: N } }[T],
) => unknown;

export type ConsumerOptions<S extends StandardSchemaV1> = {
  /**
   * The schema of the body, of any library of Standard Schema, such as zod, valibot or arktype. The handler gets what the schema makes of the
   * body. If the body does not fit, the attempt fails before the handler starts.
   */
  readonly schema: S;
};

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
 * export const handler = consumer<Topics, keyof Topics>(async (job) => {
 *   if (job.topic === "order-timeout") await closeOrder(job.body.orderId);
 * });
 *
 * @example
 * export const handler = consumer<{ orderId: string }>(async (job) => {
 *   await closeOrder(job.body.orderId);
 * });
 *
 * @example
 * const schema = z.object({ orderId: z.string() });
 * export const handler = consumer(async (job) => closeOrder(job.body.orderId), { schema });
 */
export function consumer<Body = unknown>(handler: JobHandler<Body>): Consumer<Body>;
export function consumer<Topics, T extends keyof Topics & string>(
  handler: TopicHandler<Topics, T>,
): Consumer<Topics[T]>;
export function consumer<S extends StandardSchemaV1>(
  handler: CheckedHandler<StandardSchemaV1.InferOutput<S>>,
  options: ConsumerOptions<S>,
): Consumer<StandardSchemaV1.InferInput<S>>;
export function consumer(
  given: CheckedHandler<never>,
  { schema }: { readonly schema?: StandardSchemaV1 } = {},
): CheckedConsumer<never> {
  // Only plain JavaScript can give something else. Without this check, each job would fail.
  if (typeof given !== "function")
    throw new RangeError(`consumer takes the function that runs the jobs, got ${quoted(String(given), 40)}`);
  const handler = schema === undefined ? given : checkedHandler(schema as Schema<never>, given);
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
