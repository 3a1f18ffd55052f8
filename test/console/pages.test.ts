import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPage } from "../../console/build.ts";
import { consolePages } from "../../console/pages.ts";

const files = buildPage();
const about = { queue: "</script><b>", auth: "none", hasLive: false, needsKey: false } as const;
let server: Server;

beforeAll(async () => {
  const pages = consolePages(files, about);
  server = createServer((asked, answered) => pages(asked, answered) || answered.writeHead(418).end());
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => void server.close());

type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; body: string };

/** Asks with a path and headers that `fetch` would mend or refuse. */
async function ask(path: string, headers: object = {}, method = "GET"): Promise<Answer> {
  const { port } = server.address() as AddressInfo;
  const asked = request({ port, host: "127.0.0.1", path, method, headers: { ...headers } });
  asked.end();
  const [response] = await once(asked, "response");
  let body = "";
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, headers: response.headers, body };
}

test("every view is the same page, which names only its own files", async () => {
  for (const path of ["/console", "/console/", "/console/jobs/01M8?x=1", "/console/no-such-view"]) {
    const { status, body, headers } = await ask(path);
    expect(status, path).toBe(200);
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(headers["cache-control"]).toBe("no-store");
    const named = [...body.matchAll(/(?:src|href)="(?!data:)([^"]*)"/g)].map(([, address]) => address);
    expect(named.toSorted()).toEqual(
      [...files.keys()]
        .filter((name) => name !== "index.html")
        .map((name) => `/console/${name}`)
        .toSorted(),
    );
  }
});

test("what the page knows of its server cannot end its element", async () => {
  const { body } = await ask("/console");
  const [, json = ""] = /<script type="application\/json" id="about">(.*?)<\/script>/.exec(body) ?? [];
  expect(JSON.parse(json)).toEqual(about);
  expect(body).not.toContain("<b>");
});

test("each answer forbids code, frames and requests of others", async () => {
  const [script = ""] = [...files.keys()].filter((name) => name.endsWith(".js"));
  for (const path of ["/console", `/console/${script}`, "/console/none.js", "/"]) {
    const { headers } = await ask(path);
    const policy = String(headers["content-security-policy"]);
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
    ])
      expect(policy, path).toContain(rule);
    expect(policy).not.toContain("unsafe");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["cross-origin-opener-policy"]).toBe("same-origin");
  }
});

test("/ leads to the console, and every other path is left alone", async () => {
  expect(await ask("/")).toMatchObject({ status: 302, headers: { location: "/console" } });
  for (const path of ["/jobs", "/consoles", "/console.js", "//console", "/%63onsole", "/jobs?/console"])
    expect((await ask(path)).status, path).toBe(418);
});

test.each([
  "/console/../package.json",
  "/console/%2e%2e/package.json",
  "/console/..%2f..%2fetc/passwd",
  "/console/__proto__",
])("%s reads no file", async (path) => {
  const { status, body } = await ask(path);
  expect(status).toBe(200);
  expect(body).toMatch(/^<!doctype html>/);
});

test("a file that is not there is not found, so that an old page notices a new version", async () => {
  expect((await ask("/console/console-000000000000.js")).status).toBe(404);
});

test("only GET and HEAD are answered", async () => {
  expect(await ask("/console", {}, "POST")).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
  const head = await ask("/console", {}, "HEAD");
  expect(head).toMatchObject({ status: 200, body: "" });
});

test.each([
  ["a name that points here", { host: "evil.example" }],
  [
    "another site's script",
    { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
  ],
  ["a frame", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }],
  ["another origin", { origin: "http://evil.example" }],
  [
    "a form of another site",
    {
      origin: "http://evil.example",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    },
  ],
])("%s is refused", async (_, headers) => {
  expect((await ask("/console", headers)).status).toBe(403);
});

test("a link on another site opens a view", async () => {
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  expect((await ask("/console/jobs", link)).status).toBe(200);
});

test("the page has at most 150 KB compressed", () => {
  const bytes = [...files.values()].reduce((sum, content) => sum + gzipSync(content, { level: 9 }).length, 0);
  expect(bytes).toBeLessThan(150_000);
});
