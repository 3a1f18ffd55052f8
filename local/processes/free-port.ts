import { randomInt } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../local-error.ts";

const LOOPBACK = "127.0.0.1";
/** Shorter than any emulator's start, so that a start is noticed at once. */
const RETRY_MS = 10;

export type Address = { readonly host: string; readonly port: number };

/** Systems give higher ports to outgoing connections, which could take the port before a program listens on it. */
const PORTS = [10_000, 32_768] as const;
const PORTS_TRIED = 100;
/** Another program has the port, or Windows keeps it for itself. */
const TAKEN = ["EADDRINUSE", "EACCES"];

/** No program listens on this port at the moment. */
export async function freePort(host = LOOPBACK): Promise<number> {
  for (let tried = 1; ; tried++) {
    const port = randomInt(...PORTS);
    const server = createServer().listen(port, host);
    try {
      await once(server, "listening");
    } catch (error) {
      if (!TAKEN.includes(errorCode(error) ?? "") || tried === PORTS_TRIED) throw error;
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}

/** Hides servers without authentication from web pages, which would have to try 16 million addresses. macOS has only 127.0.0.1. */
export async function unguessableAddress(): Promise<Address> {
  const host = loopbackHost(process.platform);
  try {
    return { host, port: await freePort(host) };
  } catch (error) {
    if (errorCode(error) !== "EADDRNOTAVAIL") throw error;
    return { host: LOOPBACK, port: await freePort() };
  }
}

export function loopbackHost(platform: NodeJS.Platform): string {
  if (platform === "darwin") return LOOPBACK;
  return `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
}

export async function waitUntilListening({ host, port }: Address, signal: AbortSignal): Promise<void> {
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
