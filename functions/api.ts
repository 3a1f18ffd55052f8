import { MinutehandError } from "../src/core/errors.ts";
import { createApiContext } from "../src/environment/api-context.ts";
import { TIMERS } from "../src/environment/process.ts";
import { createApp } from "../src/http/app.ts";
import { serveEvents } from "../src/http/lambda.ts";
import type { Route } from "../src/http/route.ts";
import { routes } from "../src/http/route-table.ts";
import { receiveRoute } from "../src/http/routes/receive.ts";
import { createService } from "../src/http/service.ts";

const { ctx, begin } = createApiContext();

/** API Gateway sends each `receive` to the other function. Other methods of its path come here, and are told that they must be POST. */
const receiveElsewhere: Route = {
  ...receiveRoute,
  handle: async ({ path }) => {
    throw new MinutehandError("not-found", `another function than this one serves ${path}`);
  },
};
const served = routes.map((route) => (route === receiveRoute ? receiveElsewhere : route));
const app = createApp(createService(ctx, ctx.telemetry.logger, TIMERS), served);

/** Serves all but `receive`, which has a function of its own. */
export const handler = serveEvents(app, { begin, done: ctx.telemetry.flush });
