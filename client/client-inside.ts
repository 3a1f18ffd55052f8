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
    transport(request) {
      const { promise: aborted, reject } = Promise.withResolvers<never>();
      const onAbort = () => reject(request.signal.reason);
      request.signal.addEventListener("abort", onAbort);
      // An aborted call goes on in the background, and a `receive` gives the jobs back that still come.
      const answered = Promise.resolve(app.fetch(request)).finally(() => {
        request.signal.removeEventListener("abort", onAbort);
        done();
      });
      return Promise.race([answered, aborted]);
    },
  });
}
