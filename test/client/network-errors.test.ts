import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { clientOver } from "../../src/client/client-over.ts";
import { httpTransport } from "../../src/client/http-transport.ts";

/** An error as `network-errors/record.mjs` has seen it. */
type Shape = {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly cause?: Shape;
};

/** These are no network errors: the caller has ended the call, or no call will ever be sent. Bun calls each port. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  node: ["the caller aborts", "the port is blocked"],
  bun: ["the caller aborts"],
  deno: ["the caller aborts", "the port is blocked"],
};
/** How a runtime throws an answer that breaks off: from `fetch`, or from the body. */
const FROM = ["fetch", "the body"] as const;

function recorded(runtime: string): [string, Shape][] {
  const file = join(import.meta.dirname, "network-errors", `${runtime}.json`);
  return Object.entries(JSON.parse(readFileSync(file, "utf8")));
}

function errorOf({ name, message, code, cause }: Shape): Error {
  const options = cause === undefined ? {} : { cause: errorOf(cause) };
  if (name === "AbortError" || name === "TimeoutError") return new DOMException(message, name);
  const error = name === "TypeError" ? new TypeError(message, options) : new Error(message, options);
  return Object.assign(error, code === undefined ? {} : { code });
}

const deepest = (shape: Shape): string => (shape.cause ? deepest(shape.cause) : shape.message);

/** A client, with a `fetch` that always throws. */
function clientWhose(thrown: Error, from: (typeof FROM)[number] = "fetch") {
  const half = () => new Response(new ReadableStream({ pull: (body) => body.error(thrown) }));
  const calls = vi
    .spyOn(globalThis, "fetch")
    .mockImplementation(() => (from === "fetch" ? Promise.reject(thrown) : Promise.resolve(half())));
  const transport = httpTransport({
    authorize: async ({ headers }) => headers,
    ...{ timeout: 30_000, retries: 2, firstWait: 1, random: () => 0 },
  });
  const client = clientOver({ transport, url: "http://127.0.0.1:1", newKey: () => "key" });
  return { client, calls };
}

afterEach(() => void vi.restoreAllMocks());

describe.each(Object.entries(OTHERS))("on %s", (runtime, others) => {
  const network = recorded(runtime).filter(([what]) => !others.includes(what));
  test.each(network)("a call is retried, and then unavailable, if %s", async (_, shape) => {
    for (const from of FROM) {
      const { client, calls } = clientWhose(errorOf(shape), from);
      const failure = await client.enqueue("orders", 1, { delay: 60 }).catch((error: unknown) => error);
      const detail = `no answer to POST http://127.0.0.1:1/jobs, tried 3 times: ${deepest(shape)}`;
      expect(failure).toMatchObject({ name: "MinutehandError", code: "unavailable", message: detail });
      expect(calls).toHaveBeenCalledTimes(3);
      vi.restoreAllMocks();
    }
  });

  test("a call that its caller aborts throws the signal's reason, and is not retried", async () => {
    const [, shape] = recorded(runtime).find(([what]) => what === "the caller aborts") ?? [];
    const { client, calls } = clientWhose(errorOf(shape as Shape));
    await expect(client.enqueue("orders", 1, { delay: 60 })).rejects.toBeInstanceOf(DOMException);
    expect(calls).toHaveBeenCalledTimes(1);
  });
});

test.each(["node", "deno"])("a call to a port that fetch of %s blocks fails at once", async (runtime) => {
  const [, shape] = recorded(runtime).find(([what]) => what === "the port is blocked") ?? [];
  const { client, calls } = clientWhose(errorOf(shape as Shape));
  await expect(client.health()).rejects.toMatchObject({
    code: "bad-request",
    message: expect.stringContaining("the request cannot be sent: fetch calls no server on port 1"),
  });
  expect(calls).toHaveBeenCalledTimes(1);
});

test.each([1, 22, 6000, 10_080])("a call to port %i fails at once, with the real fetch", async (port) => {
  const transport = httpTransport({
    authorize: async ({ headers }) => headers,
    ...{ timeout: 30_000, retries: 100, firstWait: 20_000, random: () => 1 },
  });
  const client = clientOver({ transport, url: `http://127.0.0.1:${port}` });
  await expect(client.health()).rejects.toThrow(`fetch calls no server on port ${port}`);
});

test("an error in the request itself is not taken for one of the network", async () => {
  const transport = httpTransport({
    authorize: async () => new Headers({ authorization: "Bearer ☃" }),
    ...{ timeout: 30_000, retries: 100, firstWait: 20_000, random: () => 1 },
  });
  const client = clientOver({ transport, url: "http://127.0.0.1:1" });
  await expect(client.health()).rejects.toBeInstanceOf(TypeError);
});
