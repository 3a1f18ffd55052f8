import { createContext } from "../environment/context.ts";
import { TIMERS } from "../environment/process.ts";
import { createApp } from "../http/app.ts";
import { serveEvents } from "../http/lambda.ts";
import { receiveRoute } from "../http/routes/receive.ts";
import { createService } from "../http/service.ts";

const ctx = createContext();
const app = createApp(createService(ctx, ctx.telemetry.logger, TIMERS), [receiveRoute]);

/** Long polls must not use up the concurrency of the other calls. */
export const handler = serveEvents(app, { done: ctx.telemetry.flush });
