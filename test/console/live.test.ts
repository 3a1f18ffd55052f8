import { once } from "node:events";
import { createServer, get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createLive, type Live, type LiveLine } from "../../console/live.ts";
import { closeServer } from "../../local/loopback-server.ts";

let server: Server;
afterEach(() => closeServer(server, 0));

async function serve(): Promise<Live> {
  const live = createLive();
  server = createServer((request, response) => live.stream(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return live;
}

/** Follows the stream. Answers the lines that have come so far. */
async function follow(lastEventId?: number): Promise<LiveLine[]> {
  const headers = lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
  const { port } = server.address() as AddressInfo;
  const [response] = await once(get({ port, host: "127.0.0.1", headers }), "response");
  const lines: LiveLine[] = [];
  let text = "";
  response.on("error", () => {});
  response.on("data", (chunk: Buffer) => {
    text += chunk;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data !== undefined) lines.push(JSON.parse(data.slice("data: ".length)));
    }
  });
  return lines;
}

const textsOf = (lines: readonly LiveLine[]) => lines.map(({ text }) => text);

test("a reader gets the lines before it and each line after", async () => {
  const live = await serve();
  live.add({ text: "before", at: 1, topic: "orders", job: "17" });
  const lines = await follow();
  await expect.poll(() => textsOf(lines)).toEqual(["before"]);
  live.add({ text: "two\nlines\r\n\n\u2028", at: 2 });
  await expect
    .poll(() => lines)
    .toEqual([
      { text: "before", at: 1, topic: "orders", job: "17", number: 1 },
      { text: "two\nlines\r\n\n\u2028", at: 2, number: 2 },
    ]);
});

test("a reader that comes back gets only what it has missed", async () => {
  const live = await serve();
  for (const text of ["a", "b", "c"]) live.add({ text, at: 1 });
  const lines = await follow(2);
  await expect.poll(() => textsOf(lines)).toEqual(["c"]);
});

test("a reader of an earlier run gets all lines of this run", async () => {
  const live = await serve();
  live.add({ text: "new", at: 1 });
  const lines = await follow(17);
  await expect.poll(() => textsOf(lines)).toEqual(["new"]);
});

test("only the last thousand lines are kept", async () => {
  const live = await serve();
  for (let number = 1; number <= 1500; number++) live.add({ text: String(number), at: 1 });
  const lines = await follow();
  await expect.poll(() => lines.length).toBe(1000);
  expect(lines[0]?.text).toBe("501");
});

test("a reader that reads nothing loses its stream, and not the memory of this process", async () => {
  const live = await serve();
  const { port } = server.address() as AddressInfo;
  const [response] = await once(get({ port, host: "127.0.0.1" }), "response");
  response.pause();
  const closed = new Promise((resolve) => response.on("close", resolve));
  response.on("error", () => {});
  const text = "x".repeat(100_000);
  for (let number = 0; number < 500; number++) {
    live.add({ text, at: 1 });
    if (number % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  response.resume();
  await closed;
});

test("a server with an open stream stops", async () => {
  await serve();
  await follow();
  await closeServer(server, 0);
  expect(server.listening).toBe(false);
});
