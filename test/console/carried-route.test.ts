import { createServer } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { ABOUT_PATH, type About, ACTIONS_PATH, ASK, KEY_HEADER } from "../../console/about.ts";
import type { CarriedAction } from "../../console/carried.ts";
import { carriedRoute } from "../../console/carried-route.ts";
import { consolePages } from "../../console/pages.ts";
import { openProxy } from "../../console/proxy.ts";
import { closeServer, listenOnLoopback } from "../../local/loopback-server.ts";
import type { Call } from "../../src/client/call.ts";
import { startReceiver } from "../support/receiver.ts";
import { type Asked, ask } from "./ask.ts";

const KEY = "the-key";
const RANGE = { from: "2030-01-01T00:00:00.000Z", to: "2030-01-02T00:00:00.000Z" };
const PLAN = {
  change: { action: "cancel", reason: "the sale is over" },
  lines: [{ which: { topic: "work", tag: "sale", ...RANGE }, counted: 2 }],
};
const PART = { changed: 2, skipped: {}, reached: RANGE.to };

let closing: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.map((close) => close()));
  closing = [];
});

const files = new Map([["index.html", Buffer.from("<!-- about -->")]]);

/** Serves an API whose bulks have one part, and a console of it as `minutehand console` does. */
async function serveProxy(given: Partial<About> = {}) {
  const api = await startReceiver((_, response) => void response.end(JSON.stringify(PART)));
  closing.push(() => api[Symbol.asyncDispose]());
  const url = `http://127.0.0.1:${api.port}`;
  const about: About = { queue: "Shop", url, auth: "bearer", hasLive: false, ...given };
  const proxy = await openProxy({
    ...{ pages: consolePages(files, ASK), about, url, key: KEY, host: "test.localhost", port: 0 },
    async authorize({ headers }) {
      const all = new Headers(headers);
      all.set("authorization", "Bearer the-user");
      return all;
    },
  });
  closing.push(proxy.stop);
  const call = (path: string, asked: Asked = {}) =>
    ask(proxy.address, path, { ...asked, headers: { [KEY_HEADER]: KEY, ...asked.headers } });
  return { api, call, proxy };
}

type Serve = Awaited<ReturnType<typeof serveProxy>>["call"];

const post = (plan: unknown): Asked => ({ method: "POST", body: JSON.stringify(plan) });
const listed = async (call: Serve) =>
  (JSON.parse((await call(ACTIONS_PATH)).text) as { actions: CarriedAction[] }).actions;

describe("an action of minutehand console", () => {
  test("calls the API in the user's name, as often as needed, while no page is open", async () => {
    const { api, call } = await serveProxy();
    const { status, text } = await call(ACTIONS_PATH, post(PLAN));
    expect({ status, ...JSON.parse(text) }).toMatchObject({ status: 201, state: "running", ...PLAN });
    await expect.poll(async () => (await listed(call))[0]?.state).toBe("done");
    expect((await listed(call))[0]?.lines).toMatchObject([{ changed: 2, isDone: true }]);
    const [received] = api.received;
    expect(received).toMatchObject({
      method: "POST",
      path: "/jobs/bulk?reason=the+sale+is+over",
      headers: { authorization: "Bearer the-user", "idempotency-key": expect.stringMatching(/./) },
    });
    expect(JSON.parse(received?.body ?? "")).toEqual({
      ...{ action: "cancel", topic: "work", tag: "sale" },
      ...RANGE,
    });
    expect(JSON.stringify(received)).not.toContain(KEY);
  });

  test.each<[string, string, Asked]>([
    ["the list", ACTIONS_PATH, {}],
    ["a start", ACTIONS_PATH, post(PLAN)],
    ["a stop", `${ACTIONS_PATH}/1`, { method: "DELETE" }],
  ])("is refused without the key, and to other pages: %s", async (_, path, asked) => {
    const { api, call } = await serveProxy();
    for (const headers of [{ [KEY_HEADER]: "other" }, { origin: "http://evil.example" }]) {
      expect((await call(path, { ...asked, headers })).status).toBe(403);
    }
    expect(await listed(call)).toEqual([]);
    expect(api.received).toEqual([]);
  });

  test.each<[string, unknown]>([
    ["no JSON", undefined],
    ["no lines", { ...PLAN, lines: [] }],
    ["another action", { ...PLAN, change: { action: "erase" } }],
    ["a dry run", { ...PLAN, change: { ...PLAN.change, dryRun: true } }],
    ["too many lines", { ...PLAN, lines: Array.from({ length: 201 }, () => PLAN.lines[0]) }],
  ])("with %s is refused", async (_, plan) => {
    const { call } = await serveProxy();
    const { status, text } = await call(ACTIONS_PATH, post(plan));
    expect({ status, code: JSON.parse(text).code }).toEqual({ status: 400, code: "bad-request" });
  });

  test("that does not exist answers 404, and another method answers 405", async () => {
    const { call } = await serveProxy();
    for (const method of ["DELETE", "POST"])
      expect((await call(`${ACTIONS_PATH}/other`, { method })).status).toBe(404);
    expect(await call(ACTIONS_PATH, { method: "DELETE" })).toMatchObject({
      ...{ status: 405, headers: { allow: "GET, HEAD, POST" } },
    });
    expect((await call(`${ACTIONS_PATH}/other`)).status).toBe(405);
  });
});

describe("a console that was started with --view-only", () => {
  test("shows everything", async () => {
    const { api, call } = await serveProxy({ isViewOnly: true });
    expect(JSON.parse((await call(ABOUT_PATH)).text)).toMatchObject({ isViewOnly: true });
    for (const method of ["GET", "HEAD"]) expect((await call("/topics", { method })).status).toBe(200);
    expect(api.received).toHaveLength(2);
  });

  test.each<[string, string]>([
    ["POST", "/jobs"],
    ["PUT", "/topics/work/jobs/17"],
    ["PATCH", "/jobs/17"],
    ["DELETE", "/jobs/17"],
    ["POST", "/topics/work/pause"],
    ["POST", ACTIONS_PATH],
    ["POST", `${ACTIONS_PATH}/1`],
    ["DELETE", `${ACTIONS_PATH}/1`],
  ])("refuses %s %s, and says why", async (method, path) => {
    const { api, call } = await serveProxy({ isViewOnly: true });
    const { status, text } = await call(path, { method, body: JSON.stringify(PLAN) });
    expect({ status, ...JSON.parse(text) }).toMatchObject({
      ...{ status: 403, code: "forbidden" },
      detail: "this console shows the queue and changes nothing: it was started with --view-only",
    });
    expect(api.received).toEqual([]);
  });
});

describe("an action of the local stack's console", () => {
  async function serveLocal() {
    const call = (async () => PART) as Call;
    const about = { queue: "local stack", auth: "none", hasLive: true } as const;
    const pages = consolePages(files, about, { [ACTIONS_PATH]: carriedRoute(() => call).answer });
    const server = createServer((request, response) => {
      if (!pages(request, response)) response.writeHead(418).end();
    });
    closing.push(() => closeServer(server, 0));
    const base = await listenOnLoopback(server, 0);
    return (path: string, asked?: Asked) => ask(base, path, asked);
  }

  test("is carried on by the stack's own server", async () => {
    const call = await serveLocal();
    expect((await call(ACTIONS_PATH, post(PLAN))).status).toBe(201);
    await expect.poll(async () => (await listed(call))[0]?.state).toBe("done");
  });

  test.each<Record<string, string>>([
    { origin: "http://evil.example" },
    { "sec-fetch-site": "cross-site" },
    { host: "evil.example" },
  ])("is refused to other pages: %j", async (headers) => {
    const call = await serveLocal();
    expect((await call(ACTIONS_PATH, { ...post(PLAN), headers })).status).toBe(403);
    expect((await call(ACTIONS_PATH, { headers })).status).toBe(403);
    expect(await listed(call)).toEqual([]);
  });
});
