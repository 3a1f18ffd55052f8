/**
 * Prints, as JSON, the errors that `fetch` of this runtime throws. Run it with each runtime after its major versions, and store what it prints:
 * `node test/client/network-errors/record.mjs > test/client/network-errors/node.json`, and so with `bun` and with `deno run --allow-net`.
 */
import { createServer } from "node:net";

/** Listens on a free port, and does `act` with a connection once it has sent something. */
const listen = (act) =>
  new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => act(socket));
    });
    server.listen(0, "127.0.0.1", () => resolve(`//127.0.0.1:${server.address().port}/`));
  });
/** Sends the beginning of an answer, and then closes the connection. */
const breakOff = (text) => (socket) => {
  socket.write(text);
  setTimeout(() => socket.destroy(), 50);
};
const hang = await listen(() => {});
const nobody = await new Promise((resolve) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(`//127.0.0.1:${port}/`));
  });
});

const aborting = new AbortController();

const calls = {
  "nobody listens": [`http:${nobody}`],
  "the connection is closed": [`http:${await listen((socket) => socket.destroy())}`],
  "the connection is reset": [`http:${await listen((socket) => socket.resetAndDestroy())}`],
  "the answer is no HTTP": [`http:${await listen((socket) => socket.end("hello\r\n\r\n"))}`],
  "the answer breaks off": [
    `http:${await listen(breakOff("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"))}`,
  ],
  "a chunk breaks off": [
    `http:${await listen(breakOff("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhe"))}`,
  ],
  "the host has no address": ["http://no-such-host.invalid/"],
  "the server speaks no TLS": [`https:${await listen((socket) => socket.end("HTTP/1.1 400 no\r\n\r\n"))}`],
  "the port is blocked": ["http://127.0.0.1:1/"],
  "the caller aborts": [`http:${hang}`, aborting.signal],
};

/** Ports and numbers of a run, and what ends a line, are left out. */
const textOf = (text) => text.replace(/\d{5}|\b[0-9A-F]{12}\b/g, "0").trim();
const shapeOf = ({ name, message, code, cause }) => ({
  ...{ name, message: textOf(message), code },
  ...(cause instanceof Error ? { cause: shapeOf(cause) } : {}),
});

const errors = {};
for (const [what, [url, signal = null]] of Object.entries(calls)) {
  if (signal) setTimeout(() => aborting.abort(), 200);
  try {
    const response = await fetch(url, { method: "POST", body: "{}", signal });
    await response.arrayBuffer();
  } catch (error) {
    errors[what] = shapeOf(error);
  }
}
console.log(JSON.stringify(errors, undefined, 2));
process.exit(0);
