import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export type Request = { operation: string; input: Record<string, unknown> };

/**
 * `cut`: the connection ends without an answer. `cut in the body`: the connection ends after the status and a part of the body. `hang`:
 * the connection stays open, without an answer. The body of an error has its name in `__type`. `date`: what the service says as its time;
 * an empty text: it says none.
 */
export type Answer =
  | { status: number; body: unknown; afterMs?: number; date?: string }
  | "cut"
  | "cut in the body"
  | "hang";

export type ScriptedService = {
  endpoint: string;
  /** All requests that arrived. Each try of the SDK is a request. */
  requests: Request[];
  close(): Promise<void>;
};

export function error(status: number, name: string, more: object = {}): Answer {
  return { status, body: { __type: `com.amazonaws#${name}`, message: `scripted ${name}`, ...more } };
}

export function ok(body: unknown): Answer {
  return { status: 200, body };
}

/** The name of the operation. If the service has a REST API: method and URL, such as `GET /schedules/name?group=g`. */
function operationOf({ headers, method, url }: IncomingMessage): string {
  const target = headers["x-amz-target"];
  return target === undefined ? `${method} ${url}` : (String(target).split(".").at(-1) ?? "");
}

/** A service that answers as `script` says; `count` is 1 for the first request. */
export async function scriptedService(
  script: (request: Request, count: number) => Answer,
): Promise<ScriptedService> {
  const requests: Request[] = [];
  const server = createServer(async (incoming: IncomingMessage, response: ServerResponse) => {
    let text = "";
    for await (const chunk of incoming) text += chunk;
    const request = { operation: operationOf(incoming), input: text === "" ? {} : JSON.parse(text) };
    requests.push(request);
    const answer = script(request, requests.length);
    if (answer === "hang") return;
    if (answer === "cut") return incoming.socket.destroy();
    if (answer === "cut in the body") {
      response.writeHead(200, { "content-type": "application/x-amz-json-1.0", "content-length": "1000" });
      response.write('{"Attributes":{"pk"');
      // The client must have got the status before the connection ends.
      await sleep(20);
      return incoming.socket.destroy();
    }
    await sleep(answer.afterMs ?? 0);
    if (answer.date !== undefined) response.sendDate = false;
    if (answer.date) response.setHeader("date", answer.date);
    response.writeHead(answer.status, { "content-type": "application/x-amz-json-1.0" });
    return response.end(JSON.stringify(answer.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string")
    throw new Error("a server that listens on a port must have an address");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
