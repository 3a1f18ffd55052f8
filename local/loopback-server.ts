import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, errorText, LocalError } from "./local-error.ts";

const IPV4 = "127.0.0.1";
const IPV6 = "::1";

/** Port 0 takes a free one. Answers the URL. Throws `LocalError` if the port cannot be opened. */
export async function listenOnLoopback(server: Server, port: number): Promise<string> {
  return `http://${IPV4}:${await listen(server, port, IPV4)}`;
}

/** How many free ports of 127.0.0.1 are tried. The same port of ::1 is in use at most by chance. */
const FREE_PORTS_TRIED = 10;

/**
 * Opens the same port at both loopback addresses, and answers it. A browser tries both for a name under `localhost`, so another program
 * must not have the port at either. A machine without IPv6 has only one. Throws `LocalError` if the port cannot be opened.
 */
export async function listenOnBothLoopbacks(
  servers: readonly [Server, Server],
  port: number,
): Promise<number> {
  const [first, second] = servers;
  for (let tried = 1; ; tried++) {
    const opened = await listen(first, port, IPV4);
    try {
      await listen(second, opened, IPV6);
      return opened;
    } catch (error) {
      const code = error instanceof LocalError ? errorCode(error.cause) : undefined;
      if (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT") return opened;
      await closeServer(first, 0);
      if (port !== 0 || code !== "EADDRINUSE" || tried === FREE_PORTS_TRIED) throw error;
    }
  }
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    if (errorCode(error) === "EADDRINUSE")
      throw new LocalError(
        `port ${port} of ${host} is in use by another program, such as the local stack of another folder: choose another port with --port, or a free one with --port 0`,
        { cause: error },
      );
    throw new LocalError(`port ${port} of ${host} cannot be opened: ${errorText(error)}`, { cause: error });
  }
  return (server.address() as AddressInfo).port;
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
