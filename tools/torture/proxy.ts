import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Random } from "./random.ts";

/** How connections are disturbed. The shares are of chunks, 0 to 1. A small request or answer is one chunk. */
export type Weather = {
  /** How many connections are cut before a request is passed on, so that it has no effect. */
  readonly cutRequests: number;
  /** How many connections are cut before an answer is passed back, so that the caller does not learn of the effect. */
  readonly cutAnswers: number;
  /** How many requests are not passed on, and nothing after them on the same connection is. The callers wait for a timeout. */
  readonly swallow: number;
  /** For how many ms at most each chunk is held. */
  readonly delay: number;
};

export const CALM: Weather = { cutRequests: 0, cutAnswers: 0, swallow: 0, delay: 0 };

export type FaultyProxy = {
  /** `http://127.0.0.1:<port>`. The port never changes. */
  readonly url: string;
  /** Where new connections go from now on: `http://<host>:<port>`. Without a target they are closed at once. */
  readonly setTarget: (url: string | undefined) => void;
  readonly setWeather: (weather: Weather) => void;
  readonly cutAll: () => number;
  readonly connections: () => number;
  readonly close: () => Promise<void>;
};

type State = {
  readonly random: Random;
  readonly pairs: Set<() => void>;
  target: URL | undefined;
  weather: Weather;
};

/** Starts a TCP proxy on a port of loopback. It disturbs connections as its `Weather` says. */
export async function startProxy(random: Random): Promise<FaultyProxy> {
  const state: State = { random, pairs: new Set(), target: undefined, weather: CALM };
  const server = createServer((client) => connectPair(state, client));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cutAll = () => {
    const count = state.pairs.size;
    for (const cut of [...state.pairs]) cut();
    return count;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setTarget: (url) => {
      state.target = url === undefined ? undefined : new URL(url);
    },
    setWeather: (next) => {
      state.weather = next;
    },
    cutAll,
    connections: () => state.pairs.size,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      cutAll();
      await closed;
    },
  };
}

function connectPair(state: State, client: Socket): void {
  const { random, pairs, target } = state;
  if (target === undefined) {
    client.destroy();
    return;
  }
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
  passOn(state, client, service, () => {
    if (random() < state.weather.cutRequests) cut();
    swallowed ||= random() < state.weather.swallow;
    return !swallowed;
  });
  passOn(state, service, client, () => {
    if (random() < state.weather.cutAnswers) cut();
    return !swallowed;
  });
}

function passOn(state: State, from: Socket, to: Socket, mayPass: () => boolean): void {
  let last: Promise<void> = Promise.resolve();
  from.on("data", (chunk: Buffer) => {
    if (!mayPass()) return;
    const ms = state.random() * state.weather.delay;
    last = last.then(async () => {
      if (ms > 1) await new Promise((resolve) => setTimeout(resolve, ms));
      if (to.destroyed) return;
      // A slow receiver makes the sender wait, so that no data piles up here.
      if (!to.write(chunk)) {
        from.pause();
        to.once("drain", () => from.resume());
      }
    });
  });
  // When one side ends, the other is closed after it has received all data.
  from.on("close", () => void last.then(() => to.destroySoon()));
}
