import type { Answered } from "../client/call.ts";
import type { TopicBodies } from "../client/check-bodies.ts";
import type { Client } from "../client/client.ts";
import { clientOver } from "../client/client-over.ts";
import { unlessAborted } from "../client/direct-calls.ts";
import { withOrigin } from "../client/with-origin.ts";
import { createApp } from "../http/app.ts";
import type { HttpAnswer, Route, Service } from "../http/route.ts";
import { createService } from "../http/service.ts";
import type { Context } from "../protocol/ports.ts";
import { STILL } from "./still-timers.ts";

/** `done` is awaited after each call. */
export function clientInside<Topics = TopicBodies>(
  ctx: Context,
  log: Service["log"],
  routes: readonly Route[],
  done = async () => {},
): Client<Topics> {
  const app = createApp(createService(ctx, log, STILL), routes);
  return clientOver({
    // No request leaves the process, so its URL needs no host.
    url: "",
    transport: withOrigin(({ url, signal, ...request }) => {
      const [path = "", query = ""] = url.split("?");
      const answered = app({ ...request, path, query, signal })
        .then(answeredOf)
        .finally(done);
      return signal ? unlessAborted(answered, signal) : answered;
    }),
  });
}

function answeredOf({ status, headers, body }: HttpAnswer): Answered {
  return {
    ok: status < 300,
    status,
    headers: { get: (name) => headers[name] ?? null },
    text: async () => body,
  };
}
