import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOf } from "../../local/processes/processes.ts";
import { startOwnServices } from "../../local/services/own-services.ts";
import { startDynamo, startSqs } from "../aws/emulators.ts";
import { scriptedService } from "../aws/scripted-service.ts";
import { ask } from "../console/ask.ts";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "../e2e/running-stack.ts";
import { PATIENCE_MS } from "../patience.ts";
import { startReceiver } from "../support/receiver.ts";
import { beyondLoopback, dotted, familyOf, listenersOf } from "./listeners.ts";

const DEVELOPER_SECRET = "a-secret-of-the-developer";
let stack: RunningStack;
const dataDir = freshDataDir();
beforeAll(async () => {
  process.env.SECRET_OF_THE_DEVELOPER = DEVELOPER_SECRET;
  const umask = process.umask(0);
  stack = await startStack(dataDir);
  process.umask(umask);
});
afterAll(async () => {
  await stack.kill("SIGTERM");
  removeDataDir(dataDir);
});

const portOf = (url: string) => Number(new URL(url).port);
const get = (path: string) => fetch(stack.url + path);
const post = (body: string | Uint8Array<ArrayBuffer>, path = "/jobs") =>
  fetch(stack.url + path, { method: "POST", body });

function parts(): number[] {
  return familyOf(stack.pid).filter((pid) => {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    return pid === stack.pid || /(?:function|fauxqs|dynamodb)-process\.ts|dynoxide/.test(command);
  });
}

describe("nothing local listens beyond loopback:", () => {
  test("the embedded stack, with all that it starts", async () => {
    await post('{"topic":"reminders","delay":0,"body":{}}');
    await expect.poll(() => stack.output()).toContain("done in attempt 1");
    const listeners = listenersOf(stack.pid);
    expect(new Set(listeners.map(({ pid }) => pid)).size).toBe(3);
    // The services that no emulator plays are the runner's own.
    const { services } = JSON.parse(readFileSync(`${dataDir}/runner.json`, "utf8")) as { services: string };
    const ports = listeners.filter(({ pid }) => pid === stack.pid).map(({ port }) => port);
    expect(ports.sort()).toEqual([portOf(stack.url), portOf(services)].sort());
    expect(beyondLoopback(listeners)).toEqual([]);
  });

  test("the emulators and services that tests start", async () => {
    const services = [await startDynamo(), await startSqs(), await scriptedService(() => "hang")];
    const own = await startOwnServices(undefined, { region: "us-east-1", account: "000000000000" });
    const receiver = await startReceiver((_, response) => response.end());
    const listeners = listenersOf(process.pid);
    await Promise.all(services.map((service) => service.close()));
    await Promise.all([own.stop(), receiver[Symbol.asyncDispose]()]);
    const ports = [own.url, receiver.url, ...services.map(({ endpoint }) => endpoint)].map(portOf);
    expect(ports.filter((port) => !listeners.some((listener) => listener.port === port))).toEqual([]);
    expect(beyondLoopback(listeners)).toEqual([]);
  });

  test.each([["0.0.0.0"], ["::"]])("a server on %s would be noticed", async (host) => {
    const server = createServer().listen(0, host);
    await once(server, "listening");
    const found = beyondLoopback(listenersOf(process.pid));
    server.close();
    expect(found).toMatchObject([{ pid: process.pid, port: expect.any(Number) }]);
  });

  test("a UDP socket on all interfaces would be noticed, and one on loopback would not", async () => {
    const [open, kept] = [createSocket("udp4").bind(0), createSocket("udp6").bind(0, "::1")];
    await Promise.all([once(open, "listening"), once(kept, "listening")]);
    const { port } = open.address();
    const found = beyondLoopback(listenersOf(process.pid));
    open.close();
    kept.close();
    expect(found.map((listener) => listener.port)).toEqual([port]);
  });
});

describe("no web page reaches the stack:", () => {
  const FOREIGN = "http://evil.example";
  const job = '{"topic":"reminders","delay":0,"body":{}}';

  /** Sends a request to each open port of the stack. Answers the statuses, and `nobody` for a port where nothing answers. */
  async function askAll(host: (port: number) => string, headers: object): Promise<(number | "nobody")[]> {
    const ports = new Set(listenersOf(stack.pid).map(({ port }) => port));
    return Promise.all(
      [...ports].map((port) => statusOf(`http://127.0.0.1:${port}/jobs`, host(port), headers)),
    );
  }

  test.each<[string, (port: number) => string, object]>([
    [
      "another site's page",
      (port) => `127.0.0.1:${port}`,
      { origin: FOREIGN, "sec-fetch-site": "cross-site" },
    ],
    ["one that an older browser shows", (port) => `localhost:${port}`, { origin: FOREIGN }],
    ["one of a file", (port) => `localhost:${port}`, { origin: "null" }],
    ["one of another port", (port) => `localhost:${port}`, { origin: "http://localhost:3000" }],
    ["an image in another site's page", (port) => `localhost:${port}`, { "sec-fetch-site": "cross-site" }],
    ["one whose name points here", (port) => `evil.example:${port}`, { origin: FOREIGN }],
  ])("%s", async (_, host, headers) => {
    const answers = await askAll(host, headers);
    expect(answers).toHaveLength(4);
    expect(answers.filter((answer) => answer !== 403 && answer !== "nobody")).toEqual([]);
    expect(answers).toContain(403);
  });

  test.each(["/", "/console", "/console/live/events", "/console/jobs/17"])(
    "through the console's %s",
    async (path) => {
      const host = new URL(stack.url).host;
      for (const site of [{ origin: FOREIGN }, { "sec-fetch-site": "cross-site" }]) {
        for (const method of ["GET", "POST"]) {
          const { status, text } = await ask(stack.url, path, { method, headers: site });
          expect({ status, text }).toEqual({ status: 403, text: expect.stringMatching(/^the header/) });
        }
      }
      const rebound = await ask(stack.url, path, {
        headers: { host: host.replace("127.0.0.1", "evil.example") },
      });
      expect(rebound.status).toBe(403);
    },
  );

  test("a program reaches the stack", async () => {
    expect((await post(job)).status).toBe(201);
    const found = await askAll((port) => `127.0.0.1:${port}`, {});
    // The services that no emulator plays need the key of this run.
    expect(found.filter((answer) => answer === 403)).toEqual([403]);
  });

  test("DynamoDB's and SQS's emulators have addresses of their own", () => {
    const own = listenersOf(stack.pid).filter(({ pid }) => pid !== stack.pid);
    expect(own).toHaveLength(2);
    const found = new Set(own.map(({ address }) => dotted(address)));
    expect([...found].filter((address) => /^127\.0\.0\.1$/.test(address))).toEqual([]);
    expect(found.size).toBe(2);
  });
});

/** Sends a request as a browser would, with a header `Host` that `fetch` does not let a program set. */
function statusOf(url: string, host: string, headers: object): Promise<number | "nobody"> {
  const { promise, resolve, reject } = Promise.withResolvers<number | "nobody">();
  const asked = request(url, { method: "POST", headers: { ...headers, host, "content-type": "text/plain" } });
  asked.on("response", (response) => resolve(response.resume().statusCode ?? 0));
  asked.on("error", (error) =>
    "code" in error && error.code === "ECONNREFUSED" ? resolve("nobody") : reject(error),
  );
  asked.end('{"topic":"reminders","delay":0,"body":{}}');
  return promise;
}

test("the webhooks' secrets lie where only their owner can read them", () => {
  const file = `${dataDir}/secrets.json`;
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(Object.keys(JSON.parse(readFileSync(file, "utf8")))).toHaveLength(1);
});

test("a program needs the key of this run to read a webhook's secret", async () => {
  const { services } = JSON.parse(readFileSync(`${dataDir}/runner.json`, "utf8")) as { services: string };
  const [SecretId] = Object.keys(JSON.parse(readFileSync(`${dataDir}/secrets.json`, "utf8")));
  const read = (url: string) =>
    fetch(url, {
      method: "POST",
      headers: { "x-amz-target": "secretsmanager.GetSecretValue" },
      body: JSON.stringify({ SecretId }),
    });
  expect((await read(new URL(services).origin)).status).toBe(403);
  expect(await (await read(services)).json()).toMatchObject({ SecretString: expect.any(String) });
  const key = new URL(services).pathname.slice(1);
  expect(stack.output()).not.toContain(key);
  for (const pid of familyOf(stack.pid))
    expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain(key);
});

test("everything that the stack keeps can be read by its owner only, also with an open umask", () => {
  const mode = (path: string) => statSync(path).mode & 0o777;
  // The test itself has opened the file for the output.
  const names = readdirSync(dataDir).filter((name) => name !== "output.log");
  expect(names).toEqual(expect.arrayContaining(["lock", "runner.json", "schedules.sqlite", "sqs"]));
  expect(names.filter((name) => mode(join(dataDir, name)) & 0o077)).toEqual([]);
  expect(mode(".minutehand/synthesised")).toBe(0o700);
});

test("the processes of the stack do not get what the developer's environment has", async () => {
  await Promise.all([get("/health"), post("{}", "/topics/work/receive")]);
  const others = familyOf(stack.pid).filter((pid) => pid !== stack.pid);
  expect(others.length).toBeGreaterThanOrEqual(5);
  const environmentOf = (pid: number) => readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  expect(environmentOf(stack.pid).join()).toContain(DEVELOPER_SECRET);
  const told = others.filter((pid) => environmentOf(pid).join().includes(DEVELOPER_SECRET));
  // esbuild starts its own program, and the app's bundles may depend on the environment.
  expect(told.map((pid) => commandOf(pid)).filter((command) => !/\/esbuild --service/.test(command))).toEqual(
    [],
  );
  const emulators = others.filter((pid) => /fauxqs|dynamodb|dynoxide|guard/.test(commandOf(pid)));
  expect(emulators).toHaveLength(3);
  const names = emulators.flatMap((pid) => environmentOf(pid).map((line) => line.split("=")[0] ?? ""));
  const known = ["", "PATH", "TMPDIR", "NODE_COMPILE_CACHE", "NODE_CHANNEL_FD"];
  const forked = ["NODE_CHANNEL_SERIALIZATION_MODE"];
  expect([...new Set(names)].filter((name) => ![...known, ...forked].includes(name))).toEqual([]);
});

/** Opens a connection, sends `bytes`, and leaves it open. Answers functions for the text that comes back and for the end. */
async function sent(
  bytes: string | Buffer,
): Promise<{ socket: Socket; heard: () => string; ended: Promise<unknown> }> {
  const socket = connect(portOf(stack.url), "127.0.0.1");
  let heard = "";
  socket.on("data", (data) => (heard += data));
  // The stack may answer with a reset.
  socket.on("error", () => {});
  // Not `once`, which a reset would reject.
  const ended = new Promise((resolve) => socket.on("close", resolve));
  await once(socket, "connect");
  socket.write(bytes);
  return { socket, heard: () => heard, ended };
}

const MB = 1_000_000;
const HOST = "Host: localhost\r\n";

describe("hostile connections leave the stack as it was:", () => {
  let before: number[];
  beforeAll(async () => {
    // The functions' processes must run first, so that the test sees if one of them dies.
    await Promise.all([get("/health"), post("{}", "/topics/work/receive")]);
    before = parts();
    expect(before.length).toBeGreaterThanOrEqual(5);
  });
  afterAll(async () => {
    expect((await get("/health")).status).toBe(200);
    const after = parts();
    expect(before.filter((pid) => !after.includes(pid))).toEqual([]);
    expect(stack.output()).not.toMatch(/its process ended|timed out after|could not start/);
  });

  test.each([
    // The rest of such a body is not read: the answer may be lost in a reset.
    ["10 MiB and a byte", 10 * 1024 * 1024 + 1, [413, "cut"]],
    ["10 MB", 10 * MB, [413]],
    ["5 MB", 5 * MB, [413]],
    ["3 MB", 3 * MB, [400]],
  ])("a body of %s", async (_, bytes, statuses) => {
    for (const body of ["x".repeat(bytes), new Uint8Array(bytes)])
      expect(statuses).toContain(
        await post(body).then(
          ({ status }) => status,
          () => "cut",
        ),
      );
  });

  test("bodies of 10 MB in chunks, many at once", async () => {
    const answers = Array.from({ length: 10 }, async () => {
      const chunk = Buffer.alloc(MB, "x");
      const { socket, heard, ended } = await sent(
        `POST /jobs HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`,
      );
      for (let i = 0; i < 11; i++) {
        socket.write(`${chunk.length.toString(16)}\r\n`);
        socket.write(chunk);
        socket.write("\r\n");
      }
      socket.end("0\r\n\r\n");
      await ended;
      return heard();
    });
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^(HTTP\/1\.1 413 |$)/);
  });

  test.each([
    ["a header too long", `GET / HTTP/1.1\r\n${HOST}X: ${"x".repeat(20_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
    ["1,000 headers", `GET / HTTP/1.1\r\n${HOST}${"a:b\r\n".repeat(1_000)}\r\n`, /^HTTP\/1\.1 [24]/],
    ["no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01", /^HTTP\/1\.1 400 /],
    [
      "two lengths",
      `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`,
      /^HTTP\/1\.1 400 /,
    ],
    [
      "a length and chunks",
      `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      /^HTTP\/1\.1 400 /,
    ],
    ["a negative length", `POST / HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`, /^HTTP\/1\.1 400 /],
    ["no host", "GET /health HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400 /],
    ["a star for a path", `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, /^HTTP\/1\.1 404 /],
    ["another server's URL", `GET http://[::1 HTTP/1.1\r\n${HOST}\r\n`, /^HTTP\/1\.1 4/],
    ["a path with a broken escape", `GET /%zz%ff HTTP/1.1\r\n${HOST}\r\n`, /^HTTP\/1\.1 400 /],
    [
      "an upgrade",
      `GET /health HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      /^HTTP\/1\.1 [24]/,
    ],
    ["a tunnel", `CONNECT example.com:443 HTTP/1.1\r\n${HOST}\r\n`, /^(HTTP\/1\.1 4|$)/],
    [
      "an expectation",
      `POST /jobs HTTP/1.1\r\n${HOST}Expect: the worst\r\nContent-Length: 0\r\n\r\n`,
      /^HTTP\/1\.1 4/,
    ],
    [
      "two requests in one",
      `GET /health HTTP/1.1\r\n${HOST}\r\nGET /nothing HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
      /^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 404 /,
    ],
  ])("%s", async (_, bytes, answer) => {
    const { socket, heard, ended } = await sent(Buffer.from(bytes, "latin1"));
    await expect.poll(heard).toMatch(answer);
    socket.destroy();
    await ended;
  });

  test("uploads that break off", async () => {
    for (let i = 0; i < 50; i++) {
      const { socket } = await sent(`POST /jobs HTTP/1.1\r\n${HOST}Content-Length: ${5 * MB}\r\n\r\n`);
      socket.write(Buffer.alloc(i * 20_000, "x"), () => socket.destroy());
    }
    expect((await get("/health")).status).toBe(200);
  });

  test("answers that nobody waits for", async () => {
    for (let i = 0; i < 50; i++) {
      const { socket } = await sent(`GET /openapi.json HTTP/1.1\r\n${HOST}\r\n`);
      socket.destroy();
    }
    expect((await get("/health")).status).toBe(200);
  });

  test("500 idle connections, slow headers and bodies that never end: all are ended, and others are served meanwhile", async () => {
    const slow = [
      ...Array.from({ length: 500 }, () => ""),
      ...Array.from({ length: 50 }, () => `GET /health HTTP/1.1\r\n${HOST}`),
      ...Array.from({ length: 50 }, () => `POST /jobs HTTP/1.1\r\n${HOST}Content-Length: 1000\r\n\r\n{`),
      ...Array.from(
        { length: 50 },
        () => `POST /jobs HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      ),
    ];
    const connections = await Promise.all(slow.map(sent));
    const open = () => connections.filter(({ socket }) => !socket.closed).length;
    // A byte now and then, so that the connection is never silent.
    const drip = setInterval(() => {
      for (const { socket } of connections.slice(500, 550)) socket.write("X");
      for (const { socket } of connections.slice(550, 600)) socket.write("x");
      for (const { socket } of connections.slice(600)) socket.write("1\r\nx\r\n");
    }, 500);
    const startedAt = Date.now();
    while (open() > 0 && Date.now() - startedAt < PATIENCE_MS) {
      expect((await get("/health")).status).toBe(200);
      await sleep(500);
    }
    clearInterval(drip);
    const left = open();
    for (const { socket } of connections) socket.destroy();
    expect(left).toBe(0);
    expect(connections[500]?.heard()).toMatch(/^HTTP\/1\.1 408 /);
  });
});
