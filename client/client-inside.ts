import { createApp } from "../http/app.ts";
import { problemOf } from "../http/problem.ts";
import type { HttpAnswer, Route, Service } from "../http/route.ts";
import { createService } from "../http/service.ts";
import type { Context } from "../protocol/ports.ts";
import type { Answered } from "./call.ts";
import type { Client, TopicBodies } from "./client.ts";
import { clientOver } from "./client-over.ts";
import { refusalOf } from "./refusal.ts";

/** Creates a client that calls the API's app inside this process, with the given routes only. `done` is called after each request. */
export function clientInside<Topics = TopicBodies>(
  ctx: Context,
  log: Service["log"],
  routes: readonly Route[],
  done: () => void = () => {},
): Client<Topics> {
  const app = createApp(createService(ctx, log), routes, (thrown) => refusalOf(thrown) ?? problemOf(thrown));
  return clientOver({
    // No request leaves the process, so its URL needs no host.
    url: "",
    clock: ctx.clock,
    transport({ url, signal, ...request }) {
      const [path = "", query = ""] = url.split("?");
      const answered = app({ ...request, path, query, signal })
        .then(answeredOf)
        .finally(done);
      return signal ? unlessAborted(answered, signal) : answered;
    },
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

/** Rejects as soon as a call is aborted. The call goes on in the background, and a `receive` gives the jobs back that still come. */
function unlessAborted(answered: Promise<Answered>, signal: AbortSignal): Promise<Answered> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  return Promise.race([answered, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}
