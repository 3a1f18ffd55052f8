import { createContext } from "../environment/context.ts";
import { createScheduler } from "../environment/scheduler.ts";
import type { Service } from "../http/route.ts";
import { jobRoutes } from "../http/routes/jobs.ts";
import { keyedJobRoutes } from "../http/routes/keyed-jobs.ts";
import { manyJobRoutes } from "../http/routes/many-jobs.ts";
import type { Context } from "../protocol/ports.ts";
import type { Client, TopicBodies } from "./client.ts";
import { clientInside } from "./client-inside.ts";

/** The calls that `queue.grantEnqueue(producer)` allows to code inside AWS. */
export type DirectClient<Topics = TopicBodies> = Pick<
  Client<Topics>,
  | "enqueue"
  | "enqueueMany"
  | "put"
  | "get"
  | "getByKey"
  | "reschedule"
  | "cancel"
  | "cancelByKey"
  | "cancelMany"
>;

const routes = [...jobRoutes, ...manyJobRoutes, ...keyedJobRoutes];

/**
 * Creates a client for code inside AWS. It calls DynamoDB and SQS directly, with the role of the code, and needs no HTTP API. Its rules
 * and answers are those of the API.
 *
 * The code needs the environment variables and the permissions that `queue.grantEnqueue(fn)` gives to it. The client writes its errors
 * and metrics to the log of the code. Throws if one of these environment variables is missing.
 *
 * @example
 * const queue = directClient();
 * await queue.enqueue("order-timeout", { orderId: "17" }, { delay: "30m" });
 */
export function directClient<Topics = TopicBodies>(): DirectClient<Topics> {
  const ctx = { ...createContext(), ...createScheduler() };
  return directOn(ctx, ctx.telemetry.logger, ctx.telemetry.flush);
}

/** Creates a direct client over a given context. `done` is called after each request. */
export function directOn<Topics = TopicBodies>(
  ctx: Context,
  log: Service["log"],
  done?: () => void,
): DirectClient<Topics> {
  return clientInside(ctx, log, routes, done);
}
