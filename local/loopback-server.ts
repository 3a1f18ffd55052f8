import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, errorText, LocalError } from "./local-error.ts";

/** Opens a port of 127.0.0.1, or a free one for 0, and answers its URL. Throws `LocalError` if it is not to be had. */
export async function listen(server: Server, port: number): Promise<string> {
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

/** Accepts nothing more, gives running requests `graceMs`, then cuts their connections. */
export async function close(server: Server, graceMs: number): Promise<void> {
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
