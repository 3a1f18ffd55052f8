import { describe, expect, test } from "vitest";
import { LOG_ENTRIES } from "../../src/core/constants.ts";
import { parseMessage } from "../../src/core/message.ts";
import { parseOccurrence } from "../../src/core/occurrence.ts";
import { fileOccurrence, putSchedule } from "../../src/protocol/file/recurring.ts";
import { redriveEnvelope } from "../../src/protocol/run/redrive-envelope.ts";
import { createApi, type Json } from "../support/api.ts";
import { busEvent, deliver, paid } from "../support/bus.ts";
import { consume, crashWhileRunning } from "../support/consume.ts";
import { fetchApp } from "../support/fetch-app.ts";
import { dlq, fail, key } from "../support/scenes.ts";
import { createWorld, HOUR, MINUTE, START } from "../support/world.ts";

const caller = "arn:aws:sts::123456789012:assumed-role/Operators/alice";
const reason = "a wrong price, ticket 17";
const WHY = `reason=${encodeURIComponent(reason)}`;
const ALICE = { kind: "caller", name: "alice", reason };

/** The API, called as API Gateway calls it for a signed request. */
function signedApi() {
  const topics = {
    orders: { cancelledByEvents: true as const, maxAttempts: 3, backoff: { waits: [15] } },
    once: { maxAttempts: 1 },
  };
  const api = createApi(createWorld({ topics }));
  const signed = async (method: string, path: string, body?: Json, arn = caller): Promise<Json> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const request = new Request(`https://api${path}`, { method, ...init });
    return (await fetchApp(api.app, request, { caller: arn })).json() as Promise<Json>;
  };
  const last = async (id: unknown): Promise<Json> => {
    const { json } = await api.call("GET", `/jobs/${id}`);
    return (json.timeline as Json[]).at(-1) as Json;
  };
  return { ...api, signed, last };
}

describe("a timeline names who, and why", () => {
  test.each([
    ["moved the job", "PATCH", (id: string) => `/jobs/${id}?${WHY}`, { delay: 60 }, "moved", ALICE],
    [
      "replaced the job",
      "PUT",
      () => `/topics/orders/jobs/${key}?${WHY}`,
      { delay: 60, body: 1 },
      "moved",
      ALICE,
    ],
    ["cancelled the job", "DELETE", (id: string) => `/jobs/${id}?${WHY}`, undefined, "cancelled", ALICE],
    [
      "cancelled the job by its key",
      "DELETE",
      () => `/topics/orders/jobs/${key}?${WHY}`,
      undefined,
      "cancelled",
      ALICE,
    ],
    [
      "cancelled many jobs",
      "POST",
      () => `/jobs/cancel?${WHY}`,
      (id: string) => ({ ids: [id] }),
      "cancelled",
      ALICE,
    ],
    [
      "began a bulk that moves",
      "POST",
      () => `/jobs/bulk?${WHY}`,
      { action: "move", topic: "orders", delay: 60 },
      "moved",
      { ...ALICE, kind: "bulk" },
    ],
    [
      "began a bulk that cancels",
      "POST",
      () => `/jobs/bulk?${WHY}`,
      { action: "cancel", topic: "orders" },
      "cancelled",
      { ...ALICE, kind: "bulk" },
    ],
  ] as const)("%s", async (_, method, path, body, event, by) => {
    const { signed, file, last } = signedApi();
    const { id } = (await file({ key, delay: "1h" })) as { id: string };
    await signed(method, path(id), typeof body === "function" ? body(id) : body);
    expect(await last(id)).toMatchObject({ event, by });
  });

  test("redrove the job", async () => {
    const { signed, file, last, world } = signedApi();
    const { id } = await file({ topic: "once", delay: 0 });
    await consume(world, "once", { run: fail });
    await signed("POST", `/topics/once/redrive?${WHY}`, { delay: 60 });
    expect(await last(id)).toMatchObject({ event: "moved", by: ALICE });
  });

  test("redrove the job with SQS's own redrive", async () => {
    const { file, last, world } = signedApi();
    const { id } = await file({ topic: "once", delay: 0 });
    await consume(world, "once", { run: fail });
    const [letter] = world.queues.messages({ ...dlq, topic: "once" });
    const message = parseMessage(letter?.body ?? "");
    expect(message && (await redriveEnvelope(world.ctx, message))).toBe(true);
    expect(await last(id)).toMatchObject({ event: "moved", by: { kind: "sqs" } });
  });

  test("cancelled the job by an event, also while it ran, and before it was filed", async () => {
    const { file, last, world, call } = signedApi();
    const waiting = await file({ key, delay: "1h" });
    await deliver(world, [paid], [busEvent(world.now())]);
    expect(await last(waiting.id)).toMatchObject({ event: "cancelled", by: { kind: "event", name: "e1" } });
    const { json } = await call("POST", "/jobs", { body: { topic: "orders", key, body: 1, delay: 0 } });
    expect(json).toMatchObject({ state: "scheduled" });
    await crashWhileRunning(world, "orders");
    await world.pass(1000, { ticks: false });
    await deliver(world, [paid], [busEvent(world.now(), { id: "e2" })]);
    await world.pass(10 * MINUTE);
    await consume(world, "orders");
    expect(await last(json.id)).toMatchObject({ event: "cancelled", by: { kind: "event" } });
    const unmet = busEvent(world.now(), { id: "e3", detail: { orderId: "other" } });
    await deliver(world, [paid], [unmet]);
    const dead = await call("POST", "/jobs", { body: { topic: "orders", key: "other", body: 1, delay: 0 } });
    expect(await last(dead.json.id)).toMatchObject({ event: "cancelled", by: { kind: "event", name: "e3" } });
  });

  test("filed the job, if a schedule did", async () => {
    const { last, world } = signedApi();
    const job = { topic: "orders", body: "{}" };
    await putSchedule(world.ctx, { name: "hourly", expression: "cron(0 * * * ? *)", timezone: "UTC", job });
    const occurrence = parseOccurrence(world.schedules.inputOf("hourly", START + HOUR));
    const { home } = await fileOccurrence(world.ctx, occurrence);
    expect(await last(home.id)).toMatchObject({ event: "filed", by: { kind: "schedule", name: "hourly" } });
  });

  test("paused and resumed a topic", async () => {
    const { signed, call } = signedApi();
    const since = "2026-03-01T09:00:00.000Z";
    const paused = await signed("POST", `/topics/orders/pause?${WHY}`);
    expect(paused).toEqual({ topic: "orders", state: "paused", since, by: ALICE });
    await signed("POST", "/topics/orders/pause", undefined, "arn:aws:iam::123456789012:user/bob");
    expect((await call("GET", "/topics/orders")).json).toMatchObject({
      pause: { state: "paused", by: ALICE },
    });
    await signed("POST", "/topics/orders/resume", { ratePerSecond: 1 }, "arn:aws:iam::123456789012:user/bob");
    const by = { kind: "caller", name: "bob" };
    expect((await call("GET", "/topics")).json).toMatchObject({
      topics: [{ pause: { state: "resuming", by } }, {}],
    });
  });
});

test("a caller without a signature and without a reason is a caller", async () => {
  const { call, file, last } = signedApi();
  const { id } = await file({ delay: "1h" });
  await call("PATCH", `/jobs/${id}`, { body: { delay: 60 } });
  expect((await last(id)).by).toEqual({ kind: "caller" });
});

test("a retry is called a retry, and nobody has asked for it", async () => {
  const { call, file, world } = signedApi();
  const { id } = await file({ delay: 0 });
  await consume(world, "orders", { run: fail });
  const { json } = await call("GET", `/jobs/${id}`);
  expect(json.timeline).toMatchObject([
    { event: "filed" },
    { event: "sent" },
    { event: "claimed" },
    { event: "failed" },
    { event: "retried", dueAt: "2026-03-01T09:00:15.000Z" },
  ]);
  expect(JSON.stringify(json.timeline)).not.toContain('"by"');
});

test("a timeline says that older events were dropped", async () => {
  const { call, file } = signedApi();
  const { id } = await file({ delay: "1h" });
  for (let moves = 1; moves < LOG_ENTRIES + 2; moves++) {
    const { json } = await call("PATCH", `/jobs/${id}`, { body: { delay: moves } });
    expect(json.earlierEventsDropped).toBe(moves < LOG_ENTRIES ? undefined : true);
    expect(json.timeline).toHaveLength(Math.min(moves + 1, LOG_ENTRIES));
    expect(json.timeline).toMatchObject([
      { event: "filed", dueAt: "2026-03-01T10:00:00.000Z" },
      ...new Array(Math.min(moves, LOG_ENTRIES - 1)).fill({ event: "moved" }),
    ]);
  }
});

test("a reason is plain text of at most 100 characters, and is stored in at most 100 bytes", async () => {
  const { call, file, last } = signedApi();
  const { id } = await file({ delay: "1h" });
  const patch = (text: string) =>
    call("PATCH", `/jobs/${id}?reason=${encodeURIComponent(text)}`, { body: { delay: 60 } });
  for (const text of ["", "x".repeat(101), "two\nlines"])
    expect(await patch(text)).toMatchObject({ status: 400, json: { code: "bad-request" } });
  expect((await patch("é".repeat(100))).status).toBe(200);
  expect((await last(id)).by).toEqual({ kind: "caller", reason: "é".repeat(50) });
});

test("a job that only runs stores nothing of this", async () => {
  const { signed, world } = signedApi();
  const { id } = await signed("POST", `/jobs?${WHY}`, { topic: "orders", body: 1, delay: 0 });
  await consume(world, "orders");
  const home = await world.home(id as string);
  expect(home).toMatchObject({ state: "done" });
  expect(JSON.stringify(home)).not.toContain("alice");
  expect(home).not.toHaveProperty("log");
});

test("the reasons and names of a log are cut to fit into 1 KiB, the oldest first", async () => {
  const { signed, call, file, world } = signedApi();
  const { id } = await file({ delay: "1h" });
  const arn = `arn:aws:sts::123456789012:assumed-role/Operators/${"n".repeat(64)}`;
  for (let moves = 0; moves < LOG_ENTRIES; moves++)
    await signed("PATCH", `/jobs/${id}?reason=${"r".repeat(100)}`, { delay: moves }, arn);
  const { json } = await call("GET", `/jobs/${id}`);
  const told = (json.timeline as { by: Json }[]).map(({ by }) => by);
  const newest = { kind: "caller", name: "n".repeat(64), reason: "r".repeat(100) };
  expect(told).toEqual([undefined, ...new Array<Json>(LOG_ENTRIES - 2).fill({ kind: "caller" }), newest]);
  const { log } = await world.home(id as string);
  expect(Buffer.byteLength(JSON.stringify(log))).toBeLessThanOrEqual(1024);
});
