import { createApp } from "../http/app.ts";
import type { Route, Service } from "../http/route.ts";
import { createService } from "../http/service.ts";
import type { Context } from "../protocol/ports.ts";
import type { Client, TopicBodies } from "./client.ts";
import { clientOver } from "./client-over.ts";

/** Nobody looks this name up: requests to it stay in the process. */
const URL_INSIDE = "http://minutehand.invalid";

/** The client over the API's app in this very process, with these of its routes. `done` is called after each request. */
export function clientInside<Topics = TopicBodies>(
  ctx: Context,
  log: Service["log"],
  routes: readonly Route[],
  done: () => void = () => {},
): Client<Topics> {
  const app = createApp(createService(ctx, log), routes);
  return clientOver({
    url: URL_INSIDE,
    clock: ctx.clock,
    async transport(request) {
      try {
        return await app.fetch(request);
      } finally {
        done();
      }
    },
  });
}
