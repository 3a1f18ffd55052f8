import { createApp } from "../http/app.ts";
import { problemOf } from "../http/problem.ts";
import type { Route, Service } from "../http/route.ts";
import { createService } from "../http/service.ts";
import type { Context } from "../protocol/ports.ts";
import type { Client, TopicBodies } from "./client.ts";
import { clientOver } from "./client-over.ts";
import { refusalOf } from "./refusal.ts";

/** A `Request` needs a URL with a host. No request leaves the process, so this name is never looked up. */
const URL_INSIDE = "http://minutehand.invalid";

/** Creates a client that calls the API's app inside this process, with the given routes only. `done` is called after each request. */
export function clientInside<Topics = TopicBodies>(
  ctx: Context,
  log: Service["log"],
  routes: readonly Route[],
  done: () => void = () => {},
): Client<Topics> {
  const app = createApp(createService(ctx, log), routes, (thrown) => refusalOf(thrown) ?? problemOf(thrown));
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
