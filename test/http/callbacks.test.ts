import { describe, expect, test } from "vitest";
import { directOn } from "../../src/client/direct-client.ts";
import { type Api, createApi, type Json } from "../support/api.ts";
import { createWorld } from "../support/world.ts";

const URL_GIVEN = "https://shop.example/hooks?order=17";

function createHooks(): Api {
  return createApi(
    createWorld({
      topics: {
        callbacks: { webhook: {} },
        mail: { webhook: { url: "https://mail.example/hooks", timeout: 20 } },
        internal: { webhook: { allowHttp: true, allowHosts: ["10.0.0.7", "localhost"] } },
        bounded: { webhook: { onlyHosts: ["mail.example", "*.mail.example"], mostAttempts: 20 } },
        orders: {},
      },
    }),
  );
}

const job = (more: Json = {}): Json => ({ topic: "callbacks", body: 1, delay: "1h", ...more });

describe("a job of a webhook topic", () => {
  test("keeps its callbackUrl as it was given, and answers it", async () => {
    const api = createHooks();
    const { json } = await api.call("POST", "/jobs", { body: job({ callbackUrl: URL_GIVEN }) });
    expect(json).toMatchObject({ topic: "callbacks", callbackUrl: URL_GIVEN });
    expect((await api.call("GET", `/jobs/${json.id}`)).json).toMatchObject({ callbackUrl: URL_GIVEN });
    expect(await api.world.home(String(json.id))).toMatchObject({ callbackUrl: URL_GIVEN });
  });

  test("needs no callbackUrl if its topic has a URL", async () => {
    const api = createHooks();
    const { status, json } = await api.call("POST", "/jobs", { body: job({ topic: "mail" }) });
    expect(status).toBe(201);
    expect(json).not.toHaveProperty("callbackUrl");
  });

  test("gets the callbackUrl of the request that replaces it, or none", async () => {
    const api = createHooks();
    const path = "/topics/mail/jobs/order-17";
    const put = (more: Json) => api.call("PUT", path, { body: { body: 1, delay: "1h", ...more } });
    expect((await put({ callbackUrl: URL_GIVEN })).json).toMatchObject({ callbackUrl: URL_GIVEN });
    const other = "https://shop.example/other";
    expect((await put({ callbackUrl: other })).json).toMatchObject({ callbackUrl: other, revision: 1 });
    expect((await put({})).json).not.toHaveProperty("callbackUrl");
    expect((await api.call("GET", path)).json).not.toHaveProperty("callbackUrl");
  });

  test("keeps its callbackUrl when it is rescheduled", async () => {
    const api = createHooks();
    const { id } = await api.file(job({ callbackUrl: URL_GIVEN }));
    const moved = await api.call("PATCH", `/jobs/${id}`, { body: { delay: "2h" } });
    expect(moved.json).toMatchObject({ callbackUrl: URL_GIVEN, revision: 1 });
  });

  test("may call what its topic allows", async () => {
    const api = createHooks();
    for (const callbackUrl of ["http://10.0.0.7:8080/", "http://localhost/", "https://shop.example/"]) {
      await api.file(job({ topic: "internal", callbackUrl }));
    }
  });

  test.each([
    ["no URL at all", {}, "callbackUrl must be given, because topic callbacks has no URL of its own"],
    [
      "something that is no URL",
      { callbackUrl: "shop" },
      'callbackUrl must be a complete URL such as https://example.com/hooks, got "shop"',
    ],
    ["a number", { callbackUrl: 7 }, "callbackUrl must be a URL, got 7"],
    ["another scheme", { callbackUrl: "http://shop.example/" }, "callbackUrl must begin with https:, got"],
    ["a private address", { callbackUrl: "https://0x7f.1/" }, "callbackUrl must lead to a public address"],
    ["this machine", { callbackUrl: "https://localhost/" }, "callbackUrl must not lead to this machine"],
    [
      "a port of another service",
      { callbackUrl: "https://shop.example:22/" },
      "callbackUrl must lead to one of the topic's ports: 80, 443",
    ],
    [
      "a host that its topic does not name",
      { topic: "bounded", callbackUrl: "https://shop.example/" },
      "hosts: mail.example, *.mail.example",
    ],
    [
      "more attempts than its topic has",
      { callbackUrl: URL_GIVEN, maxAttempts: 11 },
      "maxAttempts must be at most 10, the limit of topic callbacks, got 11",
    ],
    [
      "more attempts than its topic allows",
      { topic: "bounded", callbackUrl: "https://a.mail.example/", maxAttempts: 21 },
      "maxAttempts must be at most 20, the limit of topic bounded, got 21",
    ],
    ["credentials", { callbackUrl: "https://a:b@shop.example/" }, "no user name or password"],
    [
      "too long a URL",
      { callbackUrl: `https://shop.example/${"x".repeat(2048)}` },
      "at most 2048 characters, got 2069",
    ],
    [
      "a private address on a topic with a URL of its own",
      { topic: "mail", callbackUrl: "https://[::ffff:7f00:1]/" },
      "a public address",
    ],
    [
      "a host that another topic allows",
      { topic: "mail", callbackUrl: "https://10.0.0.7/" },
      "a public address",
    ],
    [
      "a header that the call has already",
      { callbackUrl: URL_GIVEN, headers: { "Webhook-Id": "1" } },
      "headers become HTTP headers of the webhook call: Webhook-Id must be absent, because HTTP or the call sets it",
    ],
    [
      "a header that HTTP cannot carry",
      { callbackUrl: URL_GIVEN, headers: { "x-name": "José" } },
      "x-name must be printable ASCII",
    ],
    [
      "a webhook's URL on another topic",
      { topic: "orders", callbackUrl: URL_GIVEN },
      "which has no webhook consumer",
    ],
  ])("is refused with %s, and nothing is left behind", async (_, more, detail) => {
    const { call, world } = createHooks();
    const answered = await call("POST", "/jobs", { body: job(more) });
    expect(answered).toMatchObject({ status: 400, json: { code: "bad-request" } });
    expect(answered.json.detail).toContain(detail);
    expect(world.pool.items()).toEqual([]);
  });

  test("that is refused does not fail the other jobs of its batch", async () => {
    const { call } = createHooks();
    const jobs = [job({ callbackUrl: URL_GIVEN }), job(), job({ topic: "mail" })];
    const { json } = await call("POST", "/jobs/batch", { body: { jobs } });
    const results = json.results as { status: number }[];
    expect(results.map(({ status }) => status)).toEqual([201, 400, 201]);
  });
});

test("other topics' headers may be any that a message carries", async () => {
  const api = createHooks();
  const headers = { host: "x", "x-name": "José" };
  expect(await api.file(job({ topic: "orders", headers }))).toMatchObject({ headers });
});

describe("a request that is repeated after its topic's settings have changed", () => {
  const asked = {
    topic: "changed",
    callbackUrl: "http://10.0.0.7/hook",
    maxAttempts: 9,
    body: 1,
    delay: "1h",
  };
  const before = { webhook: { allowHttp: true, allowHosts: ["10.0.0.7"], mostAttempts: 9 } } as const;

  test.each<[string, object, Json]>([
    ["forbid http", { webhook: { ...before.webhook, allowHttp: false } }, asked],
    ["forbid its host", { webhook: { allowHttp: true } }, asked],
    ["allow fewer attempts", { webhook: { ...before.webhook, mostAttempts: 2 } }, asked],
    ["have no receiver", {}, asked],
  ])("to %s still answers its job, but a new request is refused", async (_, after, body) => {
    const world = createWorld({ topics: { changed: before } });
    let api = createApi(world);
    const call = (key: string) => api.call("POST", "/jobs", { body, headers: { "idempotency-key": key } });
    const first = await call("once");
    expect(first.status).toBe(201);
    const policy = { ...world.ctx.policy, topics: { changed: after } };
    api = createApi({ ...world, ctx: { ...world.ctx, policy } });
    const again = await call("once");
    expect([again.status, again.json.id]).toEqual([201, first.json.id]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect((await call("twice")).status).toBe(400);
  });
});

test("the answer for a topic says which hosts its webhook may call", async () => {
  const { call } = createHooks();
  const policyOf = async (topic: string) => (await call("GET", `/topics/${topic}`)).json.policy;
  expect(await policyOf("callbacks")).toMatchObject({
    consumer: "webhook",
    webhook: { timeout: 15, allowHttp: false, allowHosts: [], ports: [80, 443], mostAttempts: 10 },
  });
  expect(await policyOf("mail")).toMatchObject({
    webhook: { url: "https://mail.example/hooks", timeout: 20 },
  });
  expect(await policyOf("internal")).toMatchObject({
    webhook: { allowHttp: true, allowHosts: ["10.0.0.7", "localhost"] },
  });
  expect(await policyOf("orders")).not.toHaveProperty("webhook");
});

test("the direct client has the same rules", async () => {
  const client = directOn(createHooks().world.ctx, console);
  const filed = await client.enqueue("callbacks", 1, { delay: 60, callbackUrl: URL_GIVEN });
  expect(filed).toMatchObject({ callbackUrl: URL_GIVEN });
  await expect(
    client.enqueue("callbacks", 1, { delay: 60, callbackUrl: "https://[::]/" }),
  ).rejects.toMatchObject({ code: "bad-request" });
});
