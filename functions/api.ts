import { createApiContext } from "../src/environment/api-context.ts";
import { TIMERS } from "../src/environment/process.ts";
import { createApp } from "../src/http/app.ts";
import { serveEvents } from "../src/http/lambda.ts";
import { routes } from "../src/http/route-table.ts";
import { createService } from "../src/http/service.ts";

const { ctx, begin } = createApiContext();
const app = createApp(createService(ctx, ctx.telemetry.logger, TIMERS), routes);

/** Serves all but `receive`, which has a function of its own. */
export const handler = serveEvents(app, { begin, done: ctx.telemetry.flush });
