import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Random } from "./random.ts";

/** What happens to a connection's data. Shares are of chunks, 0 to 1: a small request or answer is one. */
export type Weather = {
  /** Cut instead of passing a request on: nothing took place. */
  readonly cutRequests: number;
  /** Cut instead of passing an answer back: the effect took place, and nobody was told. */
  readonly cutAnswers: number;
  /** Swallow a request, and all else on that connection: the caller waits for its timeout. */
  readonly swallow: number;
  /** ms that each chunk is held, at most. */
  readonly delay: number;
};

export const CALM: Weather = { cutRequests: 0, cutAnswers: 0, swallow: 0, delay: 0 };

export type FaultyProxy = {
  /** `http://127.0.0.1:<port>`; the port stays the same for the proxy's life. */
  readonly url: string;
  /** Where connections go from now on, `http://<host>:<port>`; without it they are refused. */
  readonly setTarget: (url: string | undefined) => void;
  readonly setWeather: (weather: Weather) => void;
  /** Cuts all connections there are. Answers how many. */
  readonly cutAll: () => number;
  readonly connections: () => number;
  readonly close: () => Promise<void>;
};

/** Passes TCP connections from a port of loopback on to another place there, badly if told so. */
export async function startProxy(random: Random): Promise<FaultyProxy> {
  let target: URL | undefined;
  let weather = CALM;
  const pairs = new Set<() => void>();

  const server = createServer((client) => {
    if (target === undefined) return client.destroy();
    const service = connect(Number(target.port), target.hostname);
    let swallowed = false;
    const cut = () => {
      pairs.delete(cut);
      client.destroy();
      service.destroy();
    };
    pairs.add(cut);
    for (const socket of [client, service]) socket.setNoDelay(true).on("error", cut);
    client.once("close", () => pairs.delete(cut));
    pass(client, service, () => {
      if (random() < weather.cutRequests) cut();
      swallowed ||= random() < weather.swallow;
      return !swallowed;
    });
    pass(service, client, () => {
      if (random() < weather.cutAnswers) cut();
      return !swallowed;
    });
  });

  /** Chunks stay in order: each waits for those before it. */
  function pass(from: Socket, to: Socket, mayPass: () => boolean): void {
    let last: Promise<void> = Promise.resolve();
    from.on("data", (chunk: Buffer) => {
      if (!mayPass()) return;
      const ms = random() * weather.delay;
      last = last.then(async () => {
        if (ms > 1) await new Promise((resolve) => setTimeout(resolve, ms));
        if (to.destroyed) return;
        // The sender waits while the receiver is slow, so that nothing piles up here.
        if (!to.write(chunk)) {
          from.pause();
          to.once("drain", () => from.resume());
        }
      });
    });
    // One side's end is the other's, once it has been told all.
    from.on("close", () => void last.then(() => to.destroySoon()));
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cutAll = () => {
    const count = pairs.size;
    for (const cut of [...pairs]) cut();
    return count;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setTarget: (url) => {
      target = url === undefined ? undefined : new URL(url);
    },
    setWeather: (next) => {
      weather = next;
    },
    cutAll,
    connections: () => pairs.size,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      cutAll();
      await closed;
    },
  };
}
