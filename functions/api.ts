import { createApiContext } from "../environment/api-context.ts";
import { TIMERS } from "../environment/process.ts";
import { createApp } from "../http/app.ts";
import { serveEvents } from "../http/lambda.ts";
import { routes } from "../http/route-table.ts";
import { createService } from "../http/service.ts";

const { ctx, begin } = createApiContext();
const app = createApp(createService(ctx, ctx.telemetry.logger, TIMERS), routes);

/** Serves all but `receive`, which has a function of its own. */
export const handler = serveEvents(app, { begin, done: ctx.telemetry.flush });
