import { createContext } from "../environment/context.ts";
import { createScheduler } from "../environment/scheduler.ts";
import type { Service } from "../http/route.ts";
import { jobRoutes } from "../http/routes/jobs.ts";
import { keyedJobRoutes } from "../http/routes/keyed-jobs.ts";
import { manyJobRoutes } from "../http/routes/many-jobs.ts";
import type { Context } from "../protocol/ports.ts";
import type { Client, TopicBodies } from "./client.ts";
import { clientInside } from "./client-inside.ts";

/** What `queue.grantEnqueue(producer)` lets code inside AWS do. */
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
 * The queue for code inside AWS, without the network between it and the API: the same rules, the same answers, with
 * the caller's own role, as the environment says that `grantEnqueue` gives it. What fails is in its log, where its metrics
 * are too.
 */
export function directClient<Topics = TopicBodies>(): DirectClient<Topics> {
  const ctx = { ...createContext(), ...createScheduler() };
  return directOn(ctx, ctx.telemetry.logger, ctx.telemetry.flush);
}

/** The same over any context. `done` is called after each request. */
export function directOn<Topics = TopicBodies>(
  ctx: Context,
  log: Service["log"],
  done?: () => void,
): DirectClient<Topics> {
  return clientInside(ctx, log, routes, done);
}
