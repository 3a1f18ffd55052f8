import { CLOCK_PATH } from "../../local/clock-path.ts";
import type { Bindings } from "../../src/http/route.ts";
import { type Api, createApi } from "../support/api.ts";
import { fetchApp } from "../support/fetch-app.ts";
import { type Received, startReceiver } from "../support/receiver.ts";

export type ServedApi = Api &
  AsyncDisposable & {
    readonly url: string;
    /** The header `authorization` of each call. */
    readonly authorizations: (string | undefined)[];
  };

/** The path at which a local stack's own services answer. */
export const SERVICES = "/key-of-this-run";

/**
 * Serves the API in memory on a port of this machine, and answers at `SERVICES` as a local stack does. `Date` has the API's time. `bindings`: what API Gateway adds to a request. `ahead`: serves
 * the clock of a local stack too, which is so far ahead of the machine's, ms.
 */
export async function serveApi(
  api: Api = createApi(),
  bindings: Bindings = {},
  ahead?: number,
): Promise<ServedApi> {
  const receiver = await startReceiver(async (_, response) => {
    if (receiver.received.at(-1)?.path === SERVICES) {
      response.writeHead(404, { "x-amzn-errortype": "UnknownOperationException" }).end("{}");
      return;
    }
    if (ahead !== undefined && receiver.received.at(-1)?.path === CLOCK_PATH) {
      response.end(JSON.stringify({ now: new Date(api.world.now()).toISOString(), ahead }));
      return;
    }
    const answered = await fetchApp(api.app, requestOf(receiver.received.at(-1) as Received), bindings);
    response.writeHead(answered.status, {
      ...Object.fromEntries(answered.headers),
      date: new Date(api.world.now()).toUTCString(),
    });
    response.end(await answered.text());
  });
  return {
    ...api,
    url: `http://127.0.0.1:${receiver.port}`,
    get authorizations() {
      return receiver.received.map(({ headers }) => headers.authorization);
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

export function requestOf({ method, path, headers, body }: Received): Request {
  const init = { method, headers: headers as Record<string, string>, ...(body === "" ? {} : { body }) };
  return new Request(`http://api${path}`, init);
}
