import { createApp } from "../http/app.ts";
import { serveEvents } from "../http/lambda.ts";
import { routes } from "../http/route-table.ts";
import { createService } from "../http/service.ts";
import { createContext } from "../sdk/context.ts";
import { createEventSources } from "../sdk/event-sources.ts";
import { createScheduler } from "../sdk/scheduler.ts";

const ctx = { ...createContext(), ...createScheduler(), eventSources: createEventSources() };
const app = createApp(createService(ctx, ctx.telemetry.logger), routes);

/** Every call of the HTTP API that API Gateway does not send to `receive`. */
export const handler = serveEvents(app, ctx.telemetry.flush);
