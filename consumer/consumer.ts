import { createContext } from "../environment/context.ts";
import { TIMERS } from "../http/timers.ts";
import { type ConsumerFunction, consumeOn } from "./consume.ts";
import type { JobHandler } from "./run-handler.ts";

export type { ConsumerFunction } from "./consume.ts";
export type { Job, JobHandler } from "./run-handler.ts";

/** What Lambda calls, with the handler that it runs, which tests take from it. */
export type Consumer<Body> = ConsumerFunction & { readonly jobHandler: JobHandler<Body> };

/**
 * The Lambda function that runs a topic's jobs: `export const handler = consumer(async (job) => { … })`. A
 * handler that returns is done; one that throws has failed, and its job runs again by the topic's backoff.
 */
export function consumer<Body = unknown>(handler: JobHandler<Body>): Consumer<Body> {
  const deployed = (): ConsumerFunction => {
    const ctx = createContext();
    return consumeOn(ctx, handler, TIMERS, ctx.telemetry.flush);
  };
  // A test imports its handler where there is no environment; a function without one says so when it is called.
  let consume = process.env.MINUTEHAND_POLICY === undefined ? undefined : deployed();
  const handle: ConsumerFunction = async (event, context) => {
    consume ??= deployed();
    return consume(event, context);
  };
  return Object.assign(handle, { jobHandler: handler });
}
