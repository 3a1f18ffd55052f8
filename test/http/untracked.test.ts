import { expect, test } from "vitest";
import { applyRule } from "../../src/protocol/file/apply-rule.ts";
import { fileOccurrence } from "../../src/protocol/file/recurring.ts";
import type { EventRule } from "../../src/settings/event-rules.ts";
import { createApi } from "../support/api.ts";
import { createWorld, HOUR, MINUTE } from "../support/world.ts";

const near = { topic: "events", body: 1, delay: 1 };
const daily = { expression: "rate(1 day)", topic: "events", body: 1 };
const ONLY = "in topic events: the jobs of an untracked topic only run, are retried, or fail";

test.each([
  ["POST", "/jobs", { ...near, key: "k" }, "a key"],
  ["POST", "/jobs", { ...near, key: "k", onDuplicate: "keep" }, "a key"],
  ["POST", "/jobs", { ...near, expiresAfter: "1h" }, "expiresAfter"],
  ["PUT", "/topics/events/jobs/k", { body: 1, delay: 1 }, "a key"],
  ["GET", "/topics/events/jobs/k", undefined, "a key"],
  ["DELETE", "/topics/events/jobs/k", undefined, "a key"],
  ["PUT", "/schedules/daily", { ...daily, expiresAfter: "1h" }, "expiresAfter"],
  ["POST", "/jobs/bulk", { action: "cancel", topic: "events" }, "a bulk"],
  ["POST", "/topics/events/pause", {}, "a pause"],
  ["GET", "/topics/events/dead", undefined, "a list of dead jobs"],
  ["POST", "/topics/events/redrive", {}, "a redrive"],
] as const)("%s %s with %o is refused in an untracked topic", async (method, path, body, what) => {
  const { call, world } = createApi();
  expect(await call(method, path, body && { body })).toMatchObject({
    status: 409,
    json: { code: "untracked-topic", topic: "events", detail: `${what} is not possible ${ONLY}` },
  });
  expect(world.pool.items().filter((item) => "state" in item)).toEqual([]);
  expect(world.queues.messages({ topic: "events" })).toEqual([]);
});

test("a stored untracked job can be neither cancelled nor changed, and runs", async () => {
  const { call, file, receive, world } = createApi();
  const { id } = await file({ topic: "events", delay: "1h" });
  const refused = { code: "untracked-topic", detail: expect.stringContaining(`a change of job ${id}`) };
  expect(await call("DELETE", `/jobs/${id}`)).toMatchObject({ status: 409, json: refused });
  expect(await call("PATCH", `/jobs/${id}`, { body: { delay: 1 } })).toMatchObject({ json: refused });
  const many = await call("POST", "/jobs/cancel", { body: { ids: [id] } });
  expect(many.json.results).toMatchObject([{ status: 409, error: refused }]);
  await world.pass(HOUR);
  expect(await receive("events")).toMatchObject({ id });
});

test("an Idempotency-Key of untracked jobs is accepted and not stored: a repeat files the jobs again", async () => {
  const { call, world } = createApi();
  const headers = { "idempotency-key": "k" };
  const single = { body: { ...near, delay: "1h" }, headers };
  const batch = { body: { jobs: [near, { ...near, delay: "1h" }, { ...near, key: "k" }] }, headers };
  const before = world.pool.items().length;
  const ids = new Set<unknown>();
  for (let i = 0; i < 2; i++) {
    const one = await call("POST", "/jobs", single);
    expect(one).toMatchObject({ status: 201, json: { outcome: "created" } });
    const { json } = await call("POST", "/jobs/batch", batch);
    const results = json.results as { status: number; job?: { id: string } }[];
    expect(results.map(({ status }) => status)).toEqual([201, 201, 409]);
    for (const id of [one.json.id, ...results.flatMap(({ job }) => job?.id ?? [])]) ids.add(id);
  }
  expect(ids.size).toBe(6);
  // Only the four homes of the jobs that are due in an hour, and nothing for the keys.
  expect(world.pool.items().length - before).toBe(4);
  expect(world.queues.messages({ topic: "events" })).toHaveLength(2);
});

test("a schedule files untracked jobs, and an occurrence that is delivered twice files two", async () => {
  const world = createWorld();
  const occurrence = { name: "daily", time: world.now(), job: { topic: "events", body: "1" } };
  for (let i = 0; i < 2; i++) await fileOccurrence(world.ctx, occurrence);
  expect(world.queues.messages({ topic: "events" })).toHaveLength(2);
  await world.pass(MINUTE);
});

test.each([
  { do: "cancel", tombstone: 60 },
  { do: "enqueue", delay: 60, body: ["detail"], onDuplicate: "keep" },
])("an event that reaches an untracked topic after a deployment is refused: %o", async (rule) => {
  const world = createWorld();
  const before = world.pool.items();
  const event = {
    id: "e",
    source: "shop",
    detailType: "Paid",
    time: world.now(),
    text: "",
    value: { detail: { id: "7" } },
  };
  const matching = {
    topic: "events",
    detailType: "Paid",
    key: "$.detail.id",
    ...rule,
  } as unknown as EventRule;
  await expect(applyRule(world.ctx, matching, event)).rejects.toMatchObject({ code: "untracked-topic" });
  expect(world.pool.items()).toEqual(before);
});
