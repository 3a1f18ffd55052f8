import { randomInt } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "./local-error.ts";

const LOOPBACK = "127.0.0.1";
const RETRY_MS = 10;

export type Place = { readonly host: string; readonly port: number };

/** A port of loopback that nothing listens on at the moment. */
export async function freePort(host = LOOPBACK): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/**
 * An address of loopback that nobody guesses, with a free port of it: a server that asks nobody who they are, as dynoxide, is
 * so out of reach of web pages, which would have to try 16 million addresses. Where a machine has no loopback address but
 * 127.0.0.1, as macOS, that one.
 */
export async function unguessableAddress(): Promise<Place> {
  const host = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
  try {
    return { host, port: await freePort(host) };
  } catch (error) {
    if (errorCode(error) !== "EADDRNOTAVAIL") throw error;
    return { host: LOOPBACK, port: await freePort() };
  }
}

/** Resolves when something accepts connections there, or when aborted. */
export async function waitUntilListening({ host, port }: Place, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = connect({ port, host });
    const open = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (open) return;
    await sleep(RETRY_MS);
  }
}
