import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { type Api, createApi } from "../http/api.ts";

export type ServedApi = Api &
  AsyncDisposable & {
    readonly url: string;
    /** Of each call. */
    readonly authorizations: (string | undefined)[];
  };

/** The API in memory, on a port of this machine. Its `Date` is its own clock's. */
export async function serveApi(api: Api = createApi()): Promise<ServedApi> {
  const authorizations: (string | undefined)[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { method = "GET", url, headers } = incoming;
    authorizations.push(headers.authorization);
    const body = await buffer(incoming);
    const request = new Request(`http://api${url}`, {
      method,
      headers: headers as Record<string, string>,
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    });
    const response = await api.app.fetch(request);
    outgoing.writeHead(response.status, {
      ...Object.fromEntries(response.headers),
      date: new Date(api.world.now()).toUTCString(),
    });
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    ...api,
    authorizations,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
