import { createContext } from "../src/environment/context.ts";
import { TIMERS } from "../src/environment/process.ts";
import { createApp } from "../src/http/app.ts";
import { serveEvents } from "../src/http/lambda.ts";
import { receiveRoute } from "../src/http/routes/receive.ts";
import { createService } from "../src/http/service.ts";

const ctx = createContext();
const app = createApp(createService(ctx, ctx.telemetry.logger, TIMERS), [receiveRoute]);

/** Long polls must not use up the concurrency of the other calls. */
export const handler = serveEvents(app, { done: ctx.telemetry.flush });
