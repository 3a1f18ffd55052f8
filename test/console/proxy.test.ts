import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { networkInterfaces } from "node:os";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ABOUT_PATH, type About, ASK, HISTORY_PATH, KEY_HEADER, LOGS_PATH } from "../../console/about.ts";
import type { HistoryAsked, ReadHistory } from "../../console/history.ts";
import { answerHistory, answerLog, type OwnAnswers } from "../../console/own-answers.ts";
import { consolePages } from "../../console/pages.ts";
import { openProxy } from "../../console/proxy.ts";
import { type Authorize, authorizeBy, signed } from "../../src/client/authorize.ts";
import { MinutehandError } from "../../src/core/errors.ts";
import { PATIENCE_MS } from "../patience.ts";
import { beyondLoopback, listenersOf } from "../security/listeners.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { signatureOf } from "../support/signature.ts";
import { type Asked, ask } from "./ask.ts";

const KEY = "the-key";
const HOST = "minutehand-of-this-test.localhost";
const SECRET = "s3cr3t";
const CREDENTIALS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: SECRET, sessionToken: "session-token" };
const unsigned: Authorize = async ({ headers }) => headers;
const ABOUT: About = { queue: "Shop", auth: "none", hasLive: false };
const hasIpv6 = Object.values(networkInterfaces()).some((found) =>
  found?.some(({ address }) => address === "::1"),
);

afterEach(() => {
  vi.unstubAllEnvs();
});

type Served = AsyncDisposable & {
  api: Receiver;
  address: string;
  call: (path: string, asked?: Asked) => ReturnType<typeof ask>;
};
type Options = {
  own?: OwnAnswers;
  authorize?: Authorize;
  patience?: number;
  path?: string;
  url?: string;
};

/** Serves an API, and a console that passes its calls on to the API. `path`: the path of the API's URL. */
async function serve(answer: RequestListener, options: Options = {}): Promise<Served> {
  const { own = {}, authorize = unsigned, patience = PATIENCE_MS, path = "" } = options;
  const api = await startReceiver(answer);
  const url = options.url ?? `http://127.0.0.1:${api.port}${path}`;
  const about: About = { queue: "Shop", url, auth: "none", hasLive: false };
  const pages = consolePages(new Map([["index.html", Buffer.from("<!-- about -->")]]), ASK);
  const opened = {
    pages,
    about,
    url,
    own,
    authorize,
    key: KEY,
    host: HOST,
    port: 0,
    patience,
  };
  const { address, stop } = await openProxy(opened);
  return {
    api,
    address,
    call: (to, asked = {}) =>
      ask(address, to, { ...asked, headers: { [KEY_HEADER]: KEY, ...asked.headers } }),
    async [Symbol.asyncDispose]() {
      await stop();
      await api[Symbol.asyncDispose]();
    },
  };
}

const ok: RequestListener = (_, response) => void response.end("{}");
const problemIn = ({ text }: { text: string }) =>
  JSON.parse(text) as { code: string; detail: string; status: number };

describe("a call of the console", () => {
  test("reaches the API as the page sent it, and the answer reaches the page as the API gave it", async () => {
    await using served = await serve((_, response) => {
      const headers = { "content-type": "application/json", location: "/jobs/1", "retry-after": "2" };
      response.writeHead(201, { ...headers, "idempotent-replayed": "true" }).end('{"id":"ä"}');
    });
    const headers = { "content-type": "application/json", "idempotency-key": "k", "if-match": '"3"' };
    const answered = await served.call("/jobs?x=a%2Fb&y=%20", {
      method: "POST",
      headers,
      body: '{"body":"ä"}',
    });
    expect(answered).toMatchObject({ status: 201, text: '{"id":"ä"}' });
    expect(answered.headers).toMatchObject({
      "content-type": "application/json",
      location: "/jobs/1",
      "retry-after": "2",
      "idempotent-replayed": "true",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    expect(served.api.received).toMatchObject([
      { method: "POST", path: "/jobs?x=a%2Fb&y=%20", headers, body: '{"body":"ä"}' },
    ]);
  });

  test("passes on neither the key nor what the browser says about itself", async () => {
    await using served = await serve(ok);
    const own = {
      cookie: "a=b",
      referer: `${served.address}/console`,
      "user-agent": "me",
      authorization: "Basic x",
    };
    const fetched = { origin: served.address, "sec-fetch-site": "same-origin", "x-forwarded-for": "1.2.3.4" };
    expect(await served.call("/topics", { headers: { ...own, ...fetched } })).toMatchObject({ status: 200 });
    const [received] = served.api.received;
    for (const name of [KEY_HEADER, "cookie", "referer", "authorization", "origin", "x-forwarded-for"])
      expect(received?.headers).not.toHaveProperty(name);
    expect(JSON.stringify(received)).not.toContain(KEY);
    expect(received?.headers["user-agent"]).not.toBe("me");
  });

  test("keeps no cookie and no header that could change the page", async () => {
    await using served = await serve((_, response) => {
      response.writeHead(200, {
        "set-cookie": "a=b",
        "access-control-allow-origin": "*",
        "content-encoding": "identity",
        "clear-site-data": '"*"',
      });
      response.end("{}");
    });
    const { headers } = await served.call("/topics");
    for (const name of ["set-cookie", "access-control-allow-origin", "content-encoding", "clear-site-data"])
      expect(headers).not.toHaveProperty(name);
  });

  test.each([
    "/jobs/a%2Fb%20c",
    "/topics/t/jobs/%252E",
    "/jobs/%F0%9F%98%80",
    "/x//y",
    "/jobs?cursor=a+b%2B&x",
    "/a;b=c",
  ])("%s keeps its path", async (path) => {
    await using served = await serve(ok, { path: "/v1" });
    expect(await served.call(path)).toMatchObject({ status: 200 });
    expect(served.api.received.map((received) => received.path)).toEqual([`/v1${path}`]);
  });

  test.each([
    "http://127.0.0.1:1/jobs",
    "http://evil.example/",
    "*",
    "/../v2/jobs",
    "/%2e%2e/secret",
    "/jobs/../../secret",
    "/..\\..\\secret",
  ])("%s is refused, because it leaves the API", async (path) => {
    await using served = await serve(ok, { path: "/v1" });
    const answered = await served.call(path, { method: path === "*" ? "DELETE" : "GET" });
    expect(problemIn(answered)).toMatchObject({
      status: 400,
      code: "bad-request",
      detail: expect.stringContaining("/v1/"),
    });
    expect(served.api.received).toEqual([]);
  });

  test.each(["OPTIONS", "TRACE", "PROPFIND"])("%s is refused", async (method) => {
    await using served = await serve(ok);
    const answered = await served.call("/jobs", { method });
    expect(answered).toMatchObject({
      status: 405,
      headers: { allow: "GET, HEAD, POST, PUT, PATCH, DELETE" },
    });
    expect(served.api.received).toEqual([]);
  });

  test.each(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])("%s is passed on", async (method) => {
    await using served = await serve(ok);
    const { status, text } = await served.call("/jobs", {
      method,
      headers: { "content-length": "2" },
      body: "{}",
    });
    expect({ status, text }).toEqual({ status: 200, text: method === "HEAD" ? "" : "{}" });
    const body = ["GET", "HEAD"].includes(method) ? "" : "{}";
    expect(served.api.received).toMatchObject([{ method, body }]);
  });

  test.each([200, 400, 403, 404, 409, 429, 500, 503])(
    "has the API's own answer with status %i",
    async (status) => {
      await using served = await serve((_, response) => {
        response
          .writeHead(status, { "content-type": "application/problem+json" })
          .end(`{"status":${status}}`);
      });
      const answered = await served.call("/jobs");
      expect(answered).toMatchObject({ status, text: `{"status":${status}}` });
      expect(answered.headers).toMatchObject({ "content-type": "application/problem+json" });
    },
  );

  test("has an answer without content", async () => {
    await using served = await serve((_, response) => void response.writeHead(204).end());
    expect(await served.call("/jobs")).toMatchObject({ status: 204, text: "" });
  });

  test("has bytes as they are, and ten megabytes of them", async () => {
    const bytes = Buffer.alloc(
      10 * 1024 * 1024,
      Uint8Array.from({ length: 256 }, (_, index) => index),
    );
    await using served = await serve((_, response) => void response.end(bytes));
    const { body } = await served.call("/jobs");
    expect(body.equals(bytes)).toBe(true);
  });

  test("is not read further than ten megabytes, however short it is before it is decompressed", async () => {
    const packed = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    await using served = await serve((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" });
      response.end(packed);
    });
    const before = process.memoryUsage().arrayBuffers;
    const answered = await served.call("/jobs");
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(60 * 1024 * 1024);
    expect(problemIn(answered)).toMatchObject({
      status: 502,
      code: "bad-answer",
      detail: expect.stringContaining("answered more than 10485760 bytes"),
    });
  });
});

describe("the history", () => {
  test("is answered to a page with the key, and is no call of the API", async () => {
    const asked: HistoryAsked[] = [];
    const history: ReadHistory = async (one) => {
      asked.push(one);
      return { why: "nothing is known" };
    };
    await using served = await serve(ok, { own: { [HISTORY_PATH]: answerHistory(history) } });
    const answered = await served.call("/console/history?hours=2&topic=a%20b");
    expect(answered).toMatchObject({ status: 200, text: '{"why":"nothing is known"}' });
    for (const query of ["", "?hours=x", "?hours=-1"]) await served.call(`/console/history${query}`);
    await served.call("/console/history?hours=1e9");
    expect(asked).toEqual([{ hours: 2, topic: "a b" }, ...[3, 3, 3, 24].map((hours) => ({ hours }))]);
    for (const headers of [{ [KEY_HEADER]: "" }, { origin: "http://evil.example" }])
      expect(await served.call("/console/history", { headers })).toMatchObject({ status: 403 });
    expect(asked).toHaveLength(5);
    expect(served.api.received).toEqual([]);
  });
});

describe("a call is refused", () => {
  test.each<[string, Record<string, string>]>([
    ["without the key", { [KEY_HEADER]: "" }],
    ["with another key", { [KEY_HEADER]: "the-keY" }],
    ["with a longer key", { [KEY_HEADER]: `${KEY}x` }],
    ["with the key in another header", { [KEY_HEADER]: "", authorization: KEY }],
  ])("%s, and the answer says where the key is", async (_, headers) => {
    await using served = await serve(ok);
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const answered = await served.call(`/jobs?key=${KEY}`, { method, headers });
      expect(answered).toMatchObject({ status: 403, headers: { [KEY_HEADER]: "wrong" } });
      expect(problemIn(answered)).toMatchObject({
        code: "forbidden",
        detail: expect.stringContaining("minutehand console"),
      });
    }
    expect(served.api.received).toEqual([]);
  });

  test.each<[string, Record<string, string>]>([
    ["another site's page", { origin: "http://evil.example", "sec-fetch-site": "cross-site" }],
    [
      "a link of another site",
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
    ],
    ["a page of another port", { origin: "http://127.0.0.1:1" }],
    ["a page of a file", { origin: "null" }],
    ["a page whose name leads here", { host: "evil.example" }],
    ["a page of an earlier server of this port", { host: "127.0.0.1" }],
    ["a page of an earlier server of localhost", { host: "localhost" }],
    ["a page of another name under localhost", { host: "minutehand-of-an-earlier-run.localhost" }],
    ["a page of the same name without the port", { host: HOST }],
  ])("from %s, although it has the key", async (_, headers) => {
    await using served = await serve(ok);
    const answered = await served.call("/jobs", { headers });
    expect(problemIn(answered)).toMatchObject({
      status: 403,
      detail: expect.stringMatching(/^the header .* must be/),
    });
    expect(answered.headers).not.toHaveProperty(KEY_HEADER);
    expect(served.api.received).toEqual([]);
  });

  test.each<[string, Record<string, string>]>([
    ["says so", { "content-length": String(11 * 1024 * 1024) }],
    ["comes in chunks", { "transfer-encoding": "chunked" }],
  ])("if its body is longer than API Gateway's limit and %s", async (_, headers) => {
    await using served = await serve(ok);
    const body = Buffer.alloc(11 * 1024 * 1024);
    // The server does not read the rest, so the connection may break before the answer is read.
    const answered = await served.call("/jobs", { method: "POST", headers, body }).catch((error) => error);
    if (!(answered instanceof Error)) expect(answered).toMatchObject({ status: 413 });
    expect(served.api.received).toEqual([]);
    expect(await served.call("/jobs")).toMatchObject({ status: 200 });
  });
});

describe("an API that fails", () => {
  test("is named if nothing listens there", async () => {
    await using served = await serve(ok, { url: "http://127.0.0.1:1" });
    const answered = await served.call("/jobs");
    expect(problemIn(answered)).toEqual({
      ...{ type: "about:blank", title: "unavailable", status: 502, code: "unavailable" },
      detail: expect.stringMatching(/^no answer from http:\/\/127\.0\.0\.1:1: .*(ECONNREFUSED|bad port)/),
    });
  });

  test.each<[string, RequestListener]>([
    ["before its answer", (_, response) => void response.destroy()],
    ["within its answer", (_, response) => void response.write("{", () => response.destroy())],
  ])("is named if it breaks off %s", async (_, answer) => {
    await using served = await serve(answer);
    const answered = await served.call("/jobs");
    expect(problemIn(answered)).toMatchObject({
      status: 502,
      detail: expect.stringMatching(/^no answer from http:.*: ./),
    });
  });

  test.each<[string, RequestListener]>([
    ["never answers", () => {}],
    ["never ends its answer", (_, response) => void response.write("{")],
  ])("is given up if it %s", async (_, answer) => {
    await using served = await serve(answer, { patience: 200 });
    const { detail, code } = problemIn(await served.call("/jobs"));
    expect({ code, detail }).toEqual({
      code: "unavailable",
      detail: `no answer from http://127.0.0.1:${served.api.port} within 0.2 s. Check the network of this machine, and whether this is the API's address`,
    });
  });

  test.each([301, 302, 303, 307, 308])("is not followed if it redirects with %i", async (status) => {
    await using other = await startReceiver(ok);
    await using served = await serve((_, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${other.port}/login?state=secret` }).end();
    });
    const answered = await served.call("/jobs", { method: "POST", body: "{}" });
    expect(problemIn(answered)).toMatchObject({ status: 502, detail: expect.stringContaining("a redirect") });
    expect(answered.text).not.toContain("secret");
    expect(answered.headers).not.toHaveProperty("location");
    expect(other.received).toEqual([]);
  });

  test("is not waited for when the page has gone", async () => {
    const gone = Promise.withResolvers<void>();
    await using served = await serve((_, response) => void response.on("close", gone.resolve));
    const socket = connect(Number(new URL(served.address).port), "127.0.0.1");
    socket.write(
      `GET /jobs HTTP/1.1\r\nHost: ${new URL(served.address).host}\r\n${KEY_HEADER}: ${KEY}\r\n\r\n`,
    );
    await expect.poll(() => served.api.received.length).toBe(1);
    socket.destroy();
    await gone.promise;
  });

  test("a page that goes while it sends leaves the server as it was", async () => {
    await using served = await serve(ok);
    for (let size = 0; size < 10; size++) {
      const socket = connect(Number(new URL(served.address).port), "127.0.0.1");
      const head = `POST /jobs HTTP/1.1\r\nHost: ${new URL(served.address).host}\r\n${KEY_HEADER}: ${KEY}\r\nContent-Length: 100\r\n\r\n`;
      socket.write(`${head}${"x".repeat(size)}`, () => socket.destroy());
      await once(socket, "close");
    }
    expect(await served.call("/jobs")).toMatchObject({ status: 200 });
    expect(served.api.received).toHaveLength(1);
  });
});

describe("the user's credentials", () => {
  /** An API that answers as API Gateway does: 200 if the signature is right, else 403. */
  function gateway(region: string): { answer: RequestListener; check: (api: Receiver) => void } {
    let received: Receiver["received"] = [];
    return {
      check: (api) => {
        received = api.received;
      },
      answer: ({ headers: { host = "" } }, response) => {
        const { method, path, headers, body } = received.at(-1) ?? {
          method: "",
          path: "",
          headers: {},
          body: "",
        };
        const [pathname = "", query = ""] = path.split("?");
        const call = { method, path: pathname, query, host, headers: new Headers(headers as never), body };
        const signature = signatureOf(call, { secretAccessKey: SECRET, region });
        const isRight = headers.authorization?.endsWith(`Signature=${signature}`) === true;
        response.writeHead(isRight ? 200 : 403).end(JSON.stringify({ isRight }));
      },
    };
  }

  test.each([
    ["GET", "/jobs?from=2026-03-01T09%3A00%3A00.000Z&topic=orders", ""],
    ["POST", "/jobs", '{"topic":"orders","body":"ä"}'],
    ["DELETE", "/topics/orders/jobs/order%3A17%40x", ""],
    ["PATCH", "/jobs/%F0%9F%98%80", '{"delay":1}'],
  ])("sign %s %s so that API Gateway accepts it", async (method, path, body) => {
    const { answer, check } = gateway("eu-central-1");
    await using served = await serve(answer, { authorize: signed(async () => CREDENTIALS, "eu-central-1") });
    check(served.api);
    const headers = { "content-type": "application/json", "idempotency-key": "a  b" };
    const answered = await served.call(path, { method, headers, ...(body === "" ? {} : { body }) });
    expect(answered).toMatchObject({ status: 200, text: '{"isRight":true}' });
    const [received] = served.api.received;
    expect(received?.headers["x-amz-security-token"]).toBe(CREDENTIALS.sessionToken);
    expect(JSON.stringify(received)).not.toContain(SECRET);
  });

  test("of the environment sign for the given region", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", CREDENTIALS.accessKeyId);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", SECRET);
    vi.stubEnv("AWS_SESSION_TOKEN", CREDENTIALS.sessionToken);
    const { answer, check } = gateway("eu-west-3");
    const authorize = authorizeBy({ url: "http://127.0.0.1", auth: "iam", region: "eu-west-3" });
    await using served = await serve(answer, { authorize });
    check(served.api);
    expect(await served.call("/topics")).toMatchObject({ status: 200 });
  });

  test("that have expired give an error that says so, and no call", async () => {
    const expired =
      "The SSO session associated with this profile has expired. To refresh, run aws sso login.";
    const authorize = signed(() => Promise.reject(new Error(expired)), "eu-central-1");
    await using served = await serve(ok, { authorize });
    expect(problemIn(await served.call("/jobs"))).toMatchObject({
      status: 403,
      code: "forbidden",
      detail: `the request cannot be signed, because there are no AWS credentials: ${expired}`,
    });
    expect(served.api.received).toEqual([]);
  });

  test("that API Gateway does not accept give API Gateway's answer", async () => {
    const text = '{"message":"The security token included in the request is expired"}';
    await using served = await serve((_, response) => void response.writeHead(403).end(text));
    const answered = await served.call("/jobs");
    expect(answered).toMatchObject({ status: 403, text });
    // The page would otherwise ask for the key.
    expect(answered.headers).not.toHaveProperty(KEY_HEADER);
  });

  test("are in no answer, whatever fails", async () => {
    const authorize = authorizeBy({
      url: "https://api.example.com",
      auth: { bearer: async () => "se cret-token" },
    });
    await using served = await serve(ok, { authorize });
    const answered = await served.call("/jobs");
    expect(answered.status).toBe(502);
    expect(answered.text).toContain("bearer must be a token");
    expect(answered.text).not.toContain("se cret");
  });
});

describe("which queue it is", () => {
  test("is told with the key", async () => {
    await using served = await serve(ok);
    const { status, text, headers } = await served.call(ABOUT_PATH);
    expect({ status, told: JSON.parse(text) }).toEqual({
      status: 200,
      told: { ...ABOUT, url: `http://127.0.0.1:${served.api.port}` },
    });
    expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    expect(served.api.received).toEqual([]);
  });

  test.each([
    "/console",
    "/console/jobs",
    "/",
    ABOUT_PATH,
    `${ABOUT_PATH}?x`,
    `${ABOUT_PATH}/`,
    "/console/index.html",
    "/topics",
    "//",
    "/../x",
  ])("is not told without the key, at %s", async (path) => {
    await using served = await serve(ok, { path: "/of-Shop" });
    for (const method of ["GET", "POST", "DELETE"]) {
      const answered = await served.call(path, { method, headers: { [KEY_HEADER]: "" } });
      expect(JSON.stringify(answered.headers) + answered.text).not.toMatch(
        new RegExp(`Shop|:${served.api.port}`),
      );
    }
  });
});

describe("the server of minutehand console", () => {
  test("listens on loopback only, at both addresses that a browser may try", async () => {
    await using served = await serve(ok);
    const port = Number(new URL(served.address).port);
    const listeners = listenersOf(process.pid).filter((listener) => listener.port === port);
    expect(listeners).toHaveLength(hasIpv6 ? 2 : 1);
    expect(beyondLoopback(listeners)).toEqual([]);
  });

  test.runIf(hasIpv6)("does not start if another program has its port at ::1", async () => {
    const other = createServer().listen(0, "::1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const options = { pages: () => false, about: ABOUT, url: "http://a", authorize: unsigned };
    const opened = openProxy({ ...options, key: KEY, host: HOST, port });
    await expect(opened).rejects.toThrow(`port ${port} of ::1 is in use`);
    // It gives the port of the other address back.
    const again = createServer().listen(port, "127.0.0.1");
    await once(again, "listening");
    again.close();
    other.close();
  });

  test("says that its port is in use", async () => {
    await using served = await serve(ok);
    const port = Number(new URL(served.address).port);
    const options = { pages: () => false, about: ABOUT, url: "http://a", authorize: unsigned };
    await expect(openProxy({ ...options, key: KEY, host: HOST, port })).rejects.toThrow(
      `port ${port} of 127.0.0.1 is in use`,
    );
  });
});

describe("the log of a job", () => {
  const LOG = { lines: [{ text: "a line", at: 1 }], isWhole: true };

  test("is read with the key, and not asked of the API", async () => {
    const asked: string[] = [];
    const log: Parameters<typeof answerLog>[0] = async (job) => {
      asked.push(job);
      return LOG;
    };
    await using served = await serve(ok, { own: { [LOGS_PATH]: answerLog(log) } });
    expect(JSON.parse((await served.call(`${LOGS_PATH}?job=01K`)).text)).toEqual(LOG);
    const headers = { [KEY_HEADER]: "wrong" };
    expect(await served.call(`${LOGS_PATH}?job=01K`, { headers })).toMatchObject({ status: 403 });
    const foreign = { "sec-fetch-site": "cross-site" };
    expect(await served.call(`${LOGS_PATH}?job=01K`, { headers: foreign })).toMatchObject({ status: 403 });
    expect(asked).toEqual(["01K"]);
    expect(served.api.received).toEqual([]);
  });

  test.each([
    [new MinutehandError("forbidden", "no right"), 403, "forbidden", "no right"],
    [new MinutehandError("job-not-found", "no job"), 404, "job-not-found", "no job"],
    [new MinutehandError("unavailable", "no log"), 502, "unavailable", "no log"],
    [new Error("odd"), 502, "unavailable", "odd"],
  ])("says why it cannot be read: %s", async (error, status, code, detail) => {
    await using served = await serve(ok, { own: { [LOGS_PATH]: answerLog(() => Promise.reject(error)) } });
    const answered = await served.call(`${LOGS_PATH}?job=01K`);
    expect(answered.status).toBe(status);
    expect(problemIn(answered)).toMatchObject({ code, detail });
  });
});
