import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, errorText, LocalError } from "./local-error.ts";

/** Port 0 takes a free one. Answers the URL. Throws `LocalError` if the port cannot be opened. */
export async function listenOnLoopback(server: Server, port: number): Promise<string> {
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    if (errorCode(error) === "EADDRINUSE")
      throw new LocalError(
        `port ${port} of 127.0.0.1 is in use; choose another port with --port, or a free one with --port 0`,
      );
    throw new LocalError(`port ${port} of 127.0.0.1 cannot be opened: ${errorText(error)}`);
  }
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Stops a server: accepts no more connections, waits up to `graceMs` for running requests, then closes all connections. */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  await Promise.race([closed, sleep(graceMs)]);
  server.closeAllConnections();
}

export async function readRequestBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Buffer | "too-large"> {
  if (Number(request.headers["content-length"]) > maxBytes) return "too-large";
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > maxBytes) return "too-large";
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
