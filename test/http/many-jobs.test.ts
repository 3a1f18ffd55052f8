import { expect, test } from "vitest";
import { createApi } from "../support/api.ts";

const good = { topic: "orders", body: 1, delay: "1h" };

test("a batch answers each job in its order, and a refused job does not fail the others", async () => {
  const { call, world } = createApi();
  const jobs = [
    good,
    { ...good, topic: "nobody" },
    { ...good, key: "k" },
    { ...good, key: "k" },
    { ...good, more: 1 },
    null,
    { ...good, body: "x".repeat(200 * 1024) },
    { ...good, callbackUrl: "https://example.org" },
    { ...good, topic: "events", delay: 1 },
  ];
  const { status, json } = await call("POST", "/jobs/batch", { body: { jobs } });
  expect(status).toBe(200);
  expect(json.results).toMatchObject([
    { status: 201, job: { topic: "orders", outcome: "created" } },
    { status: 404, error: { code: "unknown-topic", topic: "nobody" } },
    { status: 201, job: { key: "k" } },
    { status: 409, error: { code: "job-already-exists" } },
    { status: 400, error: { code: "bad-request", detail: expect.stringContaining('unknown "more"') } },
    { status: 400, error: { detail: "the job must be an object, got null" } },
    { status: 413, error: { code: "too-large" } },
    { status: 400, error: { detail: expect.stringContaining("webhook") } },
    { status: 201, job: { topic: "events", state: "handed-off" } },
  ]);
  expect(JSON.stringify(json.results)).not.toContain('"body"');
  expect(world.events.filter(({ type }) => type === "enqueued")).toHaveLength(3);
});

test("an empty batch answers no results", async () => {
  const { call } = createApi();
  expect(await call("POST", "/jobs/batch", { body: { jobs: [] } })).toMatchObject({ json: { results: [] } });
  expect(await call("POST", "/jobs/cancel", { body: { ids: [] } })).toMatchObject({ json: { results: [] } });
});

test("a batch may have 500 jobs, and more are refused as a whole", async () => {
  const { call, world } = createApi();
  const most = Array.from({ length: 500 }, () => good);
  const { json } = await call("POST", "/jobs/batch", { body: { jobs: most } });
  expect(json.results).toHaveLength(500);
  const items = world.pool.items();
  const more = await call("POST", "/jobs/batch", { body: { jobs: [...most, good] } });
  expect(more).toMatchObject({ status: 413, json: { code: "too-many-jobs" } });
  expect(world.pool.items()).toEqual(items);
});

test("a cancel of many ids answers each id on its own", async () => {
  const { call, file } = createApi();
  const { id } = await file();
  const stranger = "01ARZ3NDEK00SV4RRFFQ69G5FA";
  const ids = [id, "nonsense", stranger, id, 7, { a: 1 }];
  const { status, json } = await call("POST", "/jobs/cancel", { body: { ids } });
  expect(status).toBe(200);
  expect(json.results).toMatchObject([
    { id, status: 200, job: { state: "cancelled" } },
    { id: "nonsense", status: 400, error: { code: "bad-request" } },
    { id: stranger, status: 404, error: { code: "job-not-found" } },
    { id, status: 200 },
    { id: "7", status: 400 },
    { id: '{"a":1}', status: 400 },
  ]);
  const more = await call("POST", "/jobs/cancel", { body: { ids: Array.from({ length: 501 }, () => id) } });
  expect(more).toMatchObject({ status: 413, json: { code: "too-many-jobs" } });
});

test("an outage is answered for each job of a batch, and logged once", async () => {
  const { call, world, logged } = createApi();
  world.queues.trouble({ topic: "events" }, "failing");
  const near = { topic: "events", body: 1, delay: 1 };
  const { json } = await call("POST", "/jobs/batch", { body: { jobs: [near, near, good] } });
  expect(json.results).toMatchObject([
    { status: 503, error: { code: "unavailable" } },
    { status: 503 },
    { status: 201 },
  ]);
  expect(logged).toHaveLength(1);
});
