/** One life of a job through openapi-fetch and the types that openapi-typescript makes. */
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./client.d.ts";

const api = createClient<paths>({ baseUrl: process.argv[2] ?? "" });
const work = { params: { path: { topic: "work" } } };

const order: components["schemas"]["NewJob"] = {
  topic: "work",
  body: { by: "typescript" },
  delay: "1h",
  expiresAfter: 90.5,
};
const header = { "idempotency-key": "life-of-typescript" };
const filed = (await api.POST("/jobs", { body: order, params: { header } })).data;
assert(filed?.state === "scheduled" && filed.expiresAfter === 90.5);
const path = { id: filed.id };
const read = await api.GET("/jobs/{id}", { params: { path } });
assert.equal(read.data?.timeline[0]?.event, "filed");

const timeAfter = (seconds: number) => new Date(Date.parse(filed.dueAt) + seconds * 1000).toISOString();
const range = { topic: "work", from: timeAfter(3600), to: timeAfter(3601) };
const moved = await api.PATCH("/jobs/{id}", { params: { path }, body: { dueAt: range.from } });
assert.equal(moved.data?.dueAt, range.from);
const page = await api.GET("/jobs", { params: { query: range } });
assert.deepEqual(
  page.data?.jobs.map(({ id }) => id),
  [filed.id],
);
const all = await api.POST("/jobs/bulk", { body: { action: "cancel", ...range, dryRun: true } });
assert.equal(all.data?.matched, 1);
const cancelled = await api.DELETE("/jobs/{id}", { params: { path } });
assert.equal(cancelled.data?.state, "cancelled");

const jobs = [
  { topic: "work", body: 17, delay: 0 },
  { topic: "no-topic", body: 1, delay: "1s" },
];
const batch = await api.POST("/jobs/batch", { body: { jobs } });
const [first, second] = batch.data?.results ?? [];
assert.equal(second?.error?.code, "unknown-topic");
const received = await api.POST("/topics/{topic}/receive", { ...work, body: { waitSeconds: 20 } });
const [pulled] = received.data?.jobs ?? [];
assert(pulled?.id === first?.job?.id && pulled?.body === 17);
const done = await api.POST("/topics/{topic}/finish", { ...work, body: { receipt: pulled.receipt } });
assert.equal(done.data?.state, "done");

const topic = await api.GET("/topics/{topic}", work);
assert(topic.data?.policy.backoff.waits?.length);
const missing = await api.GET("/jobs/{id}", { params: { path: { id: "01KGJPQM00T9B5Q2V3W4X5Y6Z7" } } });
assert.equal(missing.error?.code, "job-not-found");
const refused = await api.POST("/jobs", { body: { ...order, dueAt: range.from } });
assert.equal(refused.error?.errors?.length, 1);
