import { describe, expect, test } from "vitest";
import { MinutehandError } from "../../src/core/errors.ts";
import { parseOccurrence } from "../../src/core/occurrence.ts";
import { fileOccurrence } from "../../src/protocol/file/recurring.ts";
import { createApi, type Json } from "../support/api.ts";
import { createWorld, HOUR, START } from "../support/world.ts";

const hourly = { expression: "cron(0 * * * ? *)", topic: "orders", body: { n: 1 } };
const put = (api: ReturnType<typeof createApi>, more: Json = {}, name = "hourly") =>
  api.call("PUT", `/schedules/${name}`, { body: { ...hourly, ...more } });

describe("a schedule", () => {
  test("is put, and answered with its next five occurrences", async () => {
    const api = createApi();
    const { status, headers, json } = await put(api);
    expect(status).toBe(201);
    expect(headers.get("location")).toBe("/schedules/hourly");
    expect(json).toEqual({
      name: "hourly",
      expression: "cron(0 * * * ? *)",
      timezone: "UTC",
      topic: "orders",
      body: { n: 1 },
      paused: false,
      createdAt: "2026-03-01T09:00:00.000Z",
      next: [10, 11, 12, 13, 14].map((hour) => `2026-03-01T${hour}:00:00.000Z`),
    });
    expect((await api.call("GET", "/schedules/hourly")).json).toEqual(json);
  });

  test.each([
    ["0 9 * * 1-5", "cron(0 9 ? * MON-FRI *)"],
    ["@daily", "cron(0 0 * * ? *)"],
  ])("takes the expression %s, and answers EventBridge's form", async (expression, written) => {
    const api = createApi();
    expect((await put(api, { expression })).json).toMatchObject({ expression: written });
    expect((await api.call("GET", "/schedules/hourly")).json).toMatchObject({ expression: written });
    expect((await put(api, { expression: written })).status).toBe(200);
  });

  test("keeps every given field, and loses the fields that the next PUT leaves out", async () => {
    const api = createApi();
    const fields = {
      expression: "rate(2 days)",
      timezone: "Europe/Berlin",
      start: "2026-03-02T09:00:00.100+01:00",
      end: "2026-03-07T00:00:00.999Z",
      flexibleWindow: "15m",
      headers: { "x-a": "b" },
      expiresAfter: "1h",
      maxAttempts: 2,
      spread: "10m",
      tag: "t",
      group: "g",
    };
    const { json } = await put(api, fields);
    expect(json).toMatchObject({
      ...fields,
      start: "2026-03-02T08:00:01.000Z",
      end: "2026-03-07T00:00:00.000Z",
      flexibleWindow: 900,
      expiresAfter: 3600,
      spread: 600,
      next: ["02", "04", "06"].map((day) => `2026-03-${day}T08:00:01.000Z`),
    });
    const replaced = await put(api);
    expect(replaced.status).toBe(200);
    for (const name of [
      "start",
      "end",
      "flexibleWindow",
      "headers",
      "expiresAfter",
      "spread",
      "tag",
      "group",
    ])
      expect(replaced.json).not.toHaveProperty(name);
  });

  test("passes its callbackUrl on to its jobs", async () => {
    const world = createWorld({ topics: { calls: { webhook: {} }, orders: {} } });
    const api = createApi(world);
    const callbackUrl = "https://example.com/hook";
    const { status, json } = await put(api, { topic: "calls", callbackUrl });
    expect({ status, callbackUrl: json.callbackUrl }).toEqual({ status: 201, callbackUrl });
    expect(await put(api, { callbackUrl })).toMatchObject({ status: 400 });
    expect(await put(api, { topic: "calls", callbackUrl: "https://127.0.0.1/" })).toMatchObject({
      status: 400,
    });
    const occurrence = parseOccurrence(world.schedules.inputOf("hourly", START + HOUR));
    expect((await fileOccurrence(world.ctx, occurrence)).home).toMatchObject({ callbackUrl });
  });

  test("that only a newer version understands is listed without times, beside the others", async () => {
    const api = createApi();
    const { json } = await put(api);
    const strange = { name: "a", expression: "moon(full)", timezone: "UTC", anchor: START, createdAt: START };
    const job = { topic: "orders", body: "1" };
    await api.world.schedules.create({ ...strange, paused: false, job }, undefined);
    const { schedules } = (await api.call("GET", "/schedules")).json as { schedules: Json[] };
    expect(schedules.map(({ name, next }) => ({ name, next }))).toEqual([
      { name: "a", next: [] },
      { name: "hourly", next: json.next },
    ]);
  });

  test("is paused, stays paused after a PUT, and is resumed", async () => {
    const api = createApi();
    await put(api);
    expect((await api.call("POST", "/schedules/hourly/pause")).json).toMatchObject({ paused: true });
    expect((await put(api)).json).toMatchObject({ paused: true });
    expect((await api.call("POST", "/schedules/hourly/resume")).json).toMatchObject({ paused: false });
  });

  test("answers at a resume how many occurrences fell into the pause", async () => {
    const api = createApi();
    await put(api);
    await api.call("POST", "/schedules/hourly/pause");
    await api.world.pass(2 * 3_600_000, { ticks: false });
    expect((await api.call("GET", "/schedules/hourly")).json).not.toHaveProperty("skippedInPause");
    expect((await api.call("POST", "/schedules/hourly/resume")).json).toMatchObject({ skippedInPause: 2 });
    expect((await api.call("POST", "/schedules/hourly/resume")).json).not.toHaveProperty("skippedInPause");
  });

  test("runs now, and files one job for one Idempotency-Key", async () => {
    const api = createApi();
    await put(api);
    const headers = { "idempotency-key": "k" };
    const first = await api.call("POST", "/schedules/hourly/run", { headers });
    expect(first).toMatchObject({
      status: 201,
      json: { topic: "orders", body: { n: 1 }, outcome: "created" },
    });
    expect(first.headers.get("location")).toBe(`/jobs/${first.json.id}`);
    const again = await api.call("POST", "/schedules/hourly/run", { headers });
    expect(again).toMatchObject({ status: 201, json: { id: first.json.id, outcome: "replayed" } });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    await put(api, {}, "other");
    const other = await api.call("POST", "/schedules/other/run", { headers });
    expect(other).toMatchObject({ status: 201, json: { outcome: "created" } });
  });

  test("is deleted, and the answer has its last state", async () => {
    const api = createApi();
    const { json } = await put(api);
    expect(await api.call("DELETE", "/schedules/hourly")).toMatchObject({ status: 200, json });
    expect(await api.call("DELETE", "/schedules/hourly")).toMatchObject({
      status: 404,
      json: { code: "schedule-not-found", name: "hourly" },
    });
  });
});

describe("the list", () => {
  test("has all schedules in pages, without bodies", async () => {
    const api = createApi();
    for (const name of ["a", "b", "c"]) await put(api, {}, name);
    const first = (await api.call("GET", "/schedules?limit=2")).json;
    const second = (await api.call("GET", `/schedules?limit=2&cursor=${first.cursor}`)).json;
    const schedules = [first, second].flatMap((page) => page.schedules as Json[]);
    expect(schedules.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(second).not.toHaveProperty("cursor");
    for (const schedule of schedules) expect(schedule).not.toHaveProperty("body");
  });

  test.each(["x", "", "a.b", "YQ"])("refuses the cursor %j", async (cursor) => {
    const { call } = createApi();
    expect(await call("GET", `/schedules?cursor=${cursor}`)).toMatchObject({ status: 400 });
  });
});

describe("is refused:", () => {
  test.each<[string, Json, number, string]>([
    ["no expression", { expression: undefined }, 400, "expression must be cron(…), rate(…) or at(…)"],
    ["a long expression", { expression: "x".repeat(257) }, 400, "of at most 256 characters"],
    [
      "a wrong field",
      { expression: "cron(0 25 * * ? *)" },
      400,
      "0 to 23, ranges, steps or lists of them in hours",
    ],
    ["two kinds of days", { expression: "0 9 13 * 5" }, 400, "make two schedules"],
    ["a wrong time zone", { timezone: "+01:00" }, 400, "timezone must be an IANA name such as Europe/Berlin"],
    [
      "an expression that never occurs",
      { expression: "cron(0 0 30 2 ? *)" },
      400,
      "expression must have an occurrence after",
    ],
    [
      "an end before the start",
      { start: "2026-04-02T00:00:00Z", end: "2026-04-01T00:00:00Z" },
      400,
      "end must not be before start",
    ],
    [
      "a start of an at expression",
      { expression: "at(2027-01-01T00:00:00)", start: "2026-04-01T00:00:00Z" },
      400,
      "start and end must be given for cron and rate only",
    ],
    [
      "a window of 90.5 seconds",
      { flexibleWindow: 90.5 },
      400,
      "flexibleWindow must be a duration of whole minutes, 1 to 1440",
    ],
    ["a window of two days", { flexibleWindow: "2d" }, 400, "whole minutes, 1 to 1440"],
    ["a window of 0", { flexibleWindow: 0 }, 400, "whole minutes, 1 to 1440"],
    ["no body", { body: undefined }, 400, "body must be given"],
    ["a delay", { delay: 1 }, 400, 'has unknown "delay"'],
    ["a key", { key: "k" }, 400, 'has unknown "key"'],
    ["another topic", { topic: "gone" }, 404, "topic"],
    ["a large body", { body: "x".repeat(210_000) }, 413, "204800 bytes (200 KiB)"],
    ["a body that Scheduler cannot keep", { body: "<".repeat(43_000) }, 413, "256000 bytes (256 KB)"],
  ])("%s", async (_, more, status, rule) => {
    const api = createApi();
    const answered = await put(api, more);
    expect({ status: answered.status, detail: answered.json.detail }).toEqual({
      status,
      detail: expect.stringContaining(rule),
    });
    expect((await api.call("GET", "/schedules")).json).toEqual({ schedules: [] });
  });

  test.each(["a%20b", "x".repeat(65), "%C3%BC", "a%2Fb"])("the name %s", async (name) => {
    expect(await put(createApi(), {}, name)).toMatchObject({ status: 400 });
  });

  test.each([
    ["GET", ""],
    ["DELETE", ""],
    ["POST", "/pause"],
    ["POST", "/resume"],
    ["POST", "/run"],
  ])("%s /schedules/nobody%s", async (method, verb) => {
    const { call } = createApi();
    expect(await call(method, `/schedules/nobody${verb}`)).toMatchObject({
      status: 404,
      json: { code: "schedule-not-found" },
    });
  });

  test("any call if Scheduler fails, or if the queue has no schedules", async () => {
    const api = createApi();
    await put(api);
    api.world.schedules.trouble = new MinutehandError(
      "unavailable",
      "Rate exceeded for account 123456789012",
    );
    const answered = await put(api);
    expect(answered).toMatchObject({ status: 503, json: { code: "unavailable" } });
    expect(answered.headers.get("retry-after")).toBe("2");
    expect(JSON.stringify(answered.json)).not.toContain("123456789012");

    const world = createWorld();
    const { schedules: _, ...ctx } = world.ctx;
    expect(await put(createApi({ ...world, ctx }))).toMatchObject({ status: 503 });
  });
});
