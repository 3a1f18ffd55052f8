import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const LOOPBACK = "127.0.0.1";
const RETRY_MS = 10;

/** A port of loopback that nothing listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, LOOPBACK);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves when something accepts connections on the port, or when aborted. */
export async function untilListening(port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = connect({ port, host: LOOPBACK });
    const open = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (open) return;
    await sleep(RETRY_MS);
  }
}
