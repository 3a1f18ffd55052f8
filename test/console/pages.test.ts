import { createServer, type IncomingMessage, type Server } from "node:http";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type About, HISTORY_PATH, LIVE_PATH, LOGS_PATH } from "../../console/about.ts";
import type { HistoryAsked } from "../../console/history.ts";
import { createJobLogs } from "../../console/job-logs.ts";
import { createLive } from "../../console/live.ts";
import { answerHistory, answerLog } from "../../console/own-answers.ts";
import { readPageFiles } from "../../console/page-files.ts";
import { consolePages } from "../../console/pages.ts";
import { listenOnLoopback } from "../../local/loopback-server.ts";
import { type Asked, ask } from "./ask.ts";

const ABOUT: About = { queue: "Shop", auth: "iam", hasLive: false };
const files = new Map([
  ["index.html", Buffer.from("<html><!-- about --></html>")],
  ["console-1.js", Buffer.from("go()")],
  ["console-1.css", Buffer.from("a{}")],
]);

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections();
});

/** Serves pages. The server answers 418 to each request that the pages leave alone. */
async function serve(pages: ReturnType<typeof consolePages>): Promise<string> {
  const server = createServer((request, response) => {
    if (!pages(request, response)) response.writeHead(418).end();
  });
  servers.push(server);
  return listenOnLoopback(server, 0);
}

let base: string;
beforeAll(async () => {
  base = await serve(consolePages(files, ABOUT));
});
const get = (path: string, asked: Asked = {}) => ask(base, path, asked);

describe("the pages of the console", () => {
  test.each([
    "/console",
    "/console/",
    "/console?x=1",
    "/console/jobs/17",
    "/console/index.html",
    "/console//x",
  ])("%s is the page, with what it must know", async (path) => {
    const { status, headers, text } = await get(path);
    expect({ status, text }).toEqual({
      status: 200,
      text: `<html><script type="application/json" id="about">${JSON.stringify(ABOUT)}</script></html>`,
    });
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
    });
  });

  test("a browser that takes gzip gets the same file in gzip", async () => {
    const plain = await get("/console/console-1.js");
    const packed = await get("/console/console-1.js", { headers: { "accept-encoding": "gzip, br" } });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(packed.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
    expect(gunzipSync(packed.body).toString()).toBe(plain.text);
  });

  test("the page may run and load only its own files", async () => {
    const { headers } = await get("/console");
    const policy = String(headers["content-security-policy"]).split("; ").sort();
    expect(policy).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self' data:",
      "require-trusted-types-for 'script'",
      "script-src 'self'",
      "style-src 'self'",
      "trusted-types 'none'",
    ]);
  });

  test.each([
    ["/console/console-1.js", "go()", "text/javascript; charset=utf-8"],
    ["/console/console-1.css", "a{}", "text/css; charset=utf-8"],
  ])("%s is a file, which a browser may keep", async (path, text, type) => {
    const answered = await get(path);
    expect(answered).toMatchObject({ status: 200, text });
    expect(answered.headers).toMatchObject({
      "content-type": type,
      "cache-control": "max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
    });
  });

  test.each(["/console/console-2.js", "/console/x.css", "/console/__proto__.js", "/console/%00.js"])(
    "%s is no file",
    async (path) => {
      expect(await get(path)).toMatchObject({ status: 404 });
    },
  );

  test.each([
    "/console/../package.json",
    "/console/..%2f..%2fpackage.json",
    "/console/%2e%2e/%2e%2e/etc/passwd",
    "/console/....//package.json",
    "/console/..\\..\\package.json",
    "/console//etc/passwd",
    "/console/file:///etc/passwd",
    "/console/constructor",
    "/console/console-1%2ejs",
    "/console/%ff%fe",
    "/console/%",
    "/console/%0d%0aset-cookie:%20a=b",
  ])("%s leads to no file of this machine", async (path) => {
    const { status, text, headers } = await get(path);
    expect({ status, isPage: text.startsWith("<html><script") }).toEqual({ status: 200, isPage: true });
    expect(headers["set-cookie"]).toBeUndefined();
  });

  test.each(["/jobs", "/consolex", "/Console", "//console", "/%63onsole", "http://localhost/console", "/.."])(
    "%s is left to the API",
    async (path) => {
      expect(await get(path)).toMatchObject({ status: 418 });
    },
  );

  test("/ leads to the console, whatever the host is called", async () => {
    const { port } = new URL(base);
    for (const host of [`127.0.0.1:${port}`, "localhost"]) {
      const { status, headers } = await get("/?to=//evil.example", { headers: { host } });
      expect({ status, location: headers.location }).toEqual({ status: 302, location: "/console" });
    }
  });

  test.each(["/", "/console", "/console/console-1.js"])("HEAD %s has the headers only", async (path) => {
    const { headers: wanted, status } = await get(path);
    const { date: _, ...rest } = wanted;
    const head = await get(path, { method: "HEAD" });
    expect(head).toMatchObject({ status, text: "" });
    expect(head.headers).toMatchObject(rest);
  });

  test.each(["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])("%s is refused", async (method) => {
    for (const path of ["/", "/console", "/console/console-1.js"]) {
      const { status, headers } = await get(path, { method });
      expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: "GET, HEAD" });
    }
  });

  test.each(["</script><script>alert(1)</script>", "<!--", "$& $' $` $1 $$", "\u2028\"'\\"])(
    "a queue named %j is text and nothing else",
    async (queue) => {
      const odd = await serve(consolePages(files, { ...ABOUT, queue }));
      const { text } = await ask(odd, "/console");
      const [, json = ""] =
        /^<html><script type="application\/json" id="about">([^<]*)<\/script><\/html>$/.exec(text) ?? [];
      expect(JSON.parse(json)).toEqual({ ...ABOUT, queue });
    },
  );
});

describe("web pages of other sites", () => {
  const link = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

  test.each(["/", "/console", "/console/jobs/17"])("may have a link to %s", async (path) => {
    for (const site of ["cross-site", "same-site", "none", "same-origin"]) {
      const { status } = await get(path, { headers: { ...link, "sec-fetch-site": site } });
      expect(status).toBeLessThan(400);
    }
  });

  test.each<[string, string, Asked]>([
    ["frame the page", "/console", { headers: { ...link, "sec-fetch-dest": "iframe" } }],
    ["fetch the page", "/console", { headers: { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "empty" } }],
    ["embed the page", "/console", { headers: { ...link, "sec-fetch-dest": "object" } }],
    [
      "load the script",
      "/console/console-1.js",
      { headers: { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" } },
    ],
    ["link to the script", "/console/console-1.js", { headers: link }],
    ["link to the stream of log lines", "/console/live/events", { headers: link }],
    ["link to the history", "/console/history", { headers: link }],
    ["fetch the history", "/console/history", { headers: { origin: "http://evil.example" } }],
    ["send a form", "/console", { method: "POST", headers: { ...link, origin: "http://evil.example" } }],
    ["say that they are nobody", "/console", { headers: { origin: "null" } }],
    [
      "rebind a name",
      "/console",
      { headers: { ...link, host: "evil.example", "sec-fetch-site": "same-origin" } },
    ],
  ])("may not %s", async (_, path, { method, headers = {} }) => {
    const answered = await get(path, {
      headers: { "sec-fetch-site": "cross-site", ...headers },
      ...(method ? { method } : {}),
    });
    expect(answered).toMatchObject({ status: 403, text: expect.stringMatching(/^the header \S+ must be /) });
    expect(answered.text).not.toContain("about");
  });
});

describe("the stream of log lines", () => {
  test("is absent where there is no log", async () => {
    expect(await get("/console/live/events")).toMatchObject({ status: 404 });
  });

  test("ends at once for HEAD", async () => {
    const live = createLive();
    live.add({ text: "a line", at: 0 });
    const local = await serve(consolePages(files, ABOUT, { [LIVE_PATH]: live.stream }));
    const answered = await ask(local, "/console/live/events", { method: "HEAD" });
    expect(answered).toMatchObject({ status: 200, text: "" });
    expect(answered.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
    });
  });
});

test("the history is answered as JSON that no browser keeps, and only where there is one", async () => {
  expect(await get("/console/history")).toMatchObject({ status: 404 });
  const history = async ({ hours }: HistoryAsked) => ({ why: `${hours} hours` });
  const local = await serve(consolePages(files, ABOUT, { [HISTORY_PATH]: answerHistory(history) }));
  const answered = await ask(local, "/console/history?hours=6");
  expect(answered).toMatchObject({ status: 200, text: '{"why":"6 hours"}' });
  expect(answered.headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
  expect(await ask(local, "/console/history", { method: "POST" })).toMatchObject({ status: 405 });
});

test("each file that the built page names is served with a type that a browser runs", async () => {
  const built = await serve(consolePages(await readPageFiles(), ABOUT));
  const { text } = await ask(built, "/console");
  const named = [...text.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, path = ""]) => path);
  // Parts of the page may be shared by the first view and by later ones.
  const kinds = new Set(named.map((path) => path.replace(/-[0-9A-Z]{8}\./, "-….")));
  expect([...kinds].sort()).toEqual([
    "/console/console-….css",
    "/console/console-….js",
    "/console/part-….js",
  ]);
  for (const path of named) {
    const { status, headers } = await ask(built, path);
    const type = path.endsWith(".js") ? "text/javascript" : "text/css";
    expect({ status, type: headers["content-type"] }).toEqual({
      status: 200,
      type: `${type}; charset=utf-8`,
    });
  }
});

/** What a page's server must not do with a request that it leaves to another function: read it or answer it. */
test("a request that is no page's is not touched", () => {
  const pages = consolePages(files, ABOUT);
  const request = { url: "/jobs", method: "POST", headers: {} } as IncomingMessage;
  const untouchable = new Proxy({}, { get: () => expect.unreachable() });
  expect(pages(request, untouchable as never)).toBe(false);
});

describe("the log of a job", () => {
  const HEADERS = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
  };

  test("is answered to the page", async () => {
    const logs = createJobLogs();
    logs.add({ text: "a line", at: 0, job: "01K", event: { type: "failed" } });
    const local = await serve(
      consolePages(files, ABOUT, { [LOGS_PATH]: answerLog(async (job) => logs.of(job)) }),
    );
    const answered = await ask(local, "/console/logs?job=01K");
    expect(answered).toMatchObject({ status: 200, headers: HEADERS });
    expect(JSON.parse(answered.text)).toEqual({ lines: [{ text: "a line", at: 0 }], isWhole: true });
    const other = await ask(local, "/console/logs");
    expect(JSON.parse(other.text)).toEqual({ lines: [], isWhole: true });
    expect((await ask(local, "/console/logs?job=01K", { method: "HEAD" })).text).toBe("");
  });

  test("is not answered to another web page", async () => {
    const local = await serve(
      consolePages(files, ABOUT, { [LOGS_PATH]: answerLog(async (job) => createJobLogs().of(job)) }),
    );
    const headers = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    expect(await ask(local, "/console/logs?job=01K", { headers })).toMatchObject({ status: 403 });
    expect(await ask(local, "/console/logs", { headers: { host: "evil.example" } })).toMatchObject({
      status: 403,
    });
  });
});
