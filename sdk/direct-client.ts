import { createApp } from "../http/app.ts";
import type { Service } from "../http/route.ts";
import { jobRoutes } from "../http/routes/jobs.ts";
import { keyedJobRoutes } from "../http/routes/keyed-jobs.ts";
import { manyJobRoutes } from "../http/routes/many-jobs.ts";
import { createService } from "../http/service.ts";
import type { Context } from "../protocol/ports.ts";
import type { Client, TopicBodies } from "./client.ts";
import { clientOver } from "./client-over.ts";
import { createContext } from "./context.ts";
import { createScheduler } from "./scheduler.ts";

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

/** Nobody looks this name up: requests to it stay in the process. */
const URL_INSIDE = "http://minutehand.invalid";

/**
 * The queue for code inside AWS, without the network between it and the API: the same rules, the same answers, with
 * the caller's own role, as the environment says that `grantEnqueue` gives it. What fails is in its log.
 */
export function directClient<Topics = TopicBodies>(): DirectClient<Topics> {
  const ctx = { ...createContext(), ...createScheduler() };
  return directOn(ctx, ctx.telemetry.logger);
}

/** The same over any context. */
export function directOn<Topics = TopicBodies>(ctx: Context, log: Service["log"]): DirectClient<Topics> {
  const app = createApp(createService(ctx, log), routes);
  return clientOver({ transport: async (request) => app.fetch(request), url: URL_INSIDE, clock: ctx.clock });
}
