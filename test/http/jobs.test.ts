import { describe, expect, test } from "vitest";
import { cancelByEvent } from "../../src/protocol/change/cancel-by-event.ts";
import { createApi } from "../support/api.ts";
import { fetchApp } from "../support/fetch-app.ts";
import { createWorld, HOUR, MINUTE, SECOND, START } from "../support/world.ts";

describe("a job", () => {
  test("is filed, and answered with all its fields and its Location", async () => {
    const { call } = createApi();
    const body = { text: "x\u{1f600}\ud800", numbers: [1.5, 9007199254740991, -0.1], nothing: null };
    const filed = await call("POST", "/jobs", {
      body: {
        topic: "orders",
        body,
        delay: "1h30m",
        key: "order-1",
        headers: { traceparent: "00-1" },
        expiresAfter: 90,
        maxAttempts: 7,
        tag: "Zürich",
        group: "tenant/1",
      },
    });
    expect(filed.status).toBe(201);
    expect(filed.headers.get("location")).toBe(`/jobs/${filed.json.id}`);
    const job = {
      id: filed.json.id,
      topic: "orders",
      key: "order-1",
      state: "scheduled",
      dueAt: "2026-03-01T10:30:00.000Z",
      revision: 0,
      attempt: 0,
      maxAttempts: 7,
      createdAt: "2026-03-01T09:00:00.000Z",
      headers: { traceparent: "00-1" },
      expiresAfter: 90,
      tag: "Zürich",
      group: "tenant/1",
      body,
      timeline: [{ at: "2026-03-01T09:00:00.000Z", event: "filed", dueAt: "2026-03-01T10:30:00.000Z" }],
    };
    expect(filed.json).toEqual({ ...job, outcome: "created" });
    const looked = await call("GET", `/jobs/${filed.json.id}`);
    expect(looked.json).toEqual(job);
  });

  test.each([
    ["90071992547409936", "90071992547409940"],
    ["18014398509481984", "18014398509481984"],
    ["1e21", "1e+21"],
    ["1000000000000000000000", "1e+21"],
    ["0.10000000000000001", "0.1"],
    ["-0.0", "0"],
  ])(
    "with the number %s is stored and answered with the shortest digits of that double",
    async (sent, got) => {
      const { app, world } = createApi();
      const text = `{"topic": "orders", "delay": 60, "body": ${sent}}`;
      const filed = await fetchApp(app, new Request("https://api/jobs", { method: "POST", body: text }));
      expect(filed.status).toBe(201);
      expect(await filed.text()).toContain(`"body":${got},`);
      expect(JSON.stringify(world.pool.items())).toContain(`"body":"${got}"`);
      expect(Number(got)).toBe(Number(sent) + 0);
    },
  );

  test.each([
    ["2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000Z"],
    ["2026-03-01T12:00:00+02:00", "2026-03-01T10:00:00.000Z"],
    ["2026-03-01T12:00:00.1234+00:00", "2026-03-01T12:00:00.124Z"],
    ["0001-01-01T00:00:00Z", "2026-03-01T09:00:00.000Z"],
    ["2028-02-29T00:00:00.5Z", "2028-02-29T00:00:00.500Z"],
  ])("due at %s is due at %s", async (dueAt, expected) => {
    const { file } = createApi();
    expect(await file({ dueAt })).toMatchObject({ dueAt: expected });
  });

  test.each([
    [0, 0],
    [0.25, 250],
    [90, 90 * SECOND],
    ["250ms", 250],
    ["1h30m", 90 * MINUTE],
    ["7d", 168 * HOUR],
  ])("delayed by %s is due %i ms from now", async (delay, ms) => {
    const { file, world } = createApi();
    expect(await file({ delay })).toMatchObject({ dueAt: new Date(world.now() + ms).toISOString() });
  });

  test.each([
    "null",
    "false",
    '""',
    "[]",
    '{"__proto__":{"a":1},"constructor":2}',
    "0.1",
    '"\\u0000\\ud800"',
  ])("carries the body %s as it is", async (body) => {
    const { call } = createApi();
    const filed = await call("POST", "/jobs", { text: `{"topic":"orders","delay":1,"body":${body}}` });
    expect(filed.status).toBe(201);
    const { json } = await call("GET", `/jobs/${filed.json.id}`);
    expect(JSON.stringify(json.body)).toBe(body);
  });

  test("is moved by PATCH, given another body, or both", async () => {
    const { call, file } = createApi();
    const { id } = await file();
    const moved = await call("PATCH", `/jobs/${id}`, { body: { delay: "2h" } });
    expect(moved).toMatchObject({ status: 200, json: { dueAt: "2026-03-01T11:00:00.000Z", revision: 1 } });
    const altered = await call("PATCH", `/jobs/${id}`, { body: { body: null } });
    expect(altered.json).toMatchObject({ dueAt: "2026-03-01T11:00:00.000Z", revision: 2, body: null });
    const both = await call("PATCH", `/jobs/${id}`, { body: { dueAt: "2026-03-01T09:30:00Z", body: [1] } });
    expect(both.json).toMatchObject({ dueAt: "2026-03-01T09:30:00.000Z", revision: 3, body: [1] });
  });

  test("can be cancelled twice, and then cannot be moved", async () => {
    const { call, file } = createApi();
    const { id } = await file();
    for (let i = 0; i < 2; i++) {
      expect(await call("DELETE", `/jobs/${id}`)).toMatchObject({
        status: 200,
        json: { state: "cancelled" },
      });
    }
    const moved = await call("PATCH", `/jobs/${id}`, { body: { delay: 5 } });
    expect(moved).toMatchObject({ status: 409, json: { code: "job-finished", id, state: "cancelled" } });
  });

  test("that nobody filed is not found", async () => {
    const { call } = createApi();
    const id = "01ARZ3NDEK00SV4RRFFQ69G5FA";
    for (const method of ["GET", "DELETE"]) {
      expect(await call(method, `/jobs/${id}`)).toMatchObject({
        status: 404,
        json: { code: "job-not-found" },
      });
    }
    expect(await call("PATCH", `/jobs/${id}`, { body: { delay: 1 } })).toMatchObject({ status: 404 });
  });

  test("of an untracked topic is handed-off once it is near", async () => {
    const { call, file } = createApi();
    const { id } = await file({ topic: "events", delay: "5m" });
    const { json } = await call("GET", `/jobs/${id}`);
    expect(json.state).toBe("scheduled");
    const near = await file({ topic: "events", delay: 1 });
    expect(near.state).toBe("handed-off");
    expect(await call("GET", `/jobs/${near.id}`)).toMatchObject({ status: 404 });
  });
});

describe("an Idempotency-Key", () => {
  const body = { topic: "orders", body: 1, delay: "1h" };

  test("answers a repeat with the same job, and says so", async () => {
    const { call } = createApi();
    const headers = { "Idempotency-Key": "one two" };
    const first = await call("POST", "/jobs", { body, headers });
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    const second = await call("POST", "/jobs", { body, headers });
    expect(second.status).toBe(201);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(second.json).toEqual({ ...first.json, outcome: "replayed" });
  });

  test("refuses a different request, even one that means the same", async () => {
    const { call } = createApi();
    const headers = { "Idempotency-Key": "one" };
    const first = await call("POST", "/jobs", { body, headers });
    const second = await call("POST", "/jobs", { text: `${JSON.stringify(body)} `, headers });
    expect(second).toMatchObject({ status: 422, json: { code: "idempotency-mismatch", id: first.json.id } });
  });

  test("of a PUT replaces once, and files no second job after the first has ended", async () => {
    const { call, world } = createApi();
    const put = (path: string) =>
      call("PUT", path, { body: { body: 1, delay: 60 }, headers: { "Idempotency-Key": "put" } });
    const first = await put("/topics/orders/jobs/17");
    await call("DELETE", "/topics/orders/jobs/17");
    const items = world.pool.items();
    const again = await put("/topics/orders/jobs/17");
    expect(again).toMatchObject({ status: 201, json: { id: first.json.id, state: "cancelled" } });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await put("/topics/orders/jobs/18")).toMatchObject({ status: 422 });
    expect(world.pool.items()).toEqual(items);
  });

  test("names each job of a batch by its index", async () => {
    const { call, world } = createApi();
    const headers = { "Idempotency-Key": "batch" };
    const first = await call("POST", "/jobs/batch", { body: { jobs: [body, body] }, headers });
    const items = world.pool.items();
    const again = { jobs: [body, { ...body, body: 2 }] };
    const second = await call("POST", "/jobs/batch", { body: again, headers });
    const [filed] = first.json.results as [{ job: { id: string } }];
    expect(second.json.results).toMatchObject([
      { status: 201, job: { id: filed.job.id, outcome: "replayed" } },
      { status: 422, error: { code: "idempotency-mismatch" } },
    ]);
    expect(world.pool.items()).toEqual(items);
  });

  test("of a batch cannot be the same as a key that a caller sends for one job", async () => {
    const { call } = createApi();
    await call("POST", "/jobs/batch", { body: { jobs: [body] }, headers: { "Idempotency-Key": "batch" } });
    for (const name of ["batch#0", "batch 0", "batch"]) {
      const other = await call("POST", "/jobs", { body, headers: { "Idempotency-Key": name } });
      expect(other).toMatchObject({ status: 201, json: { outcome: "created" } });
    }
  });

  test("is valid for one topic only", async () => {
    const { call } = createApi();
    const headers = { "Idempotency-Key": "one" };
    const ids = [];
    for (const topic of ["orders", "work"])
      ids.push((await call("POST", "/jobs", { body: { ...body, topic }, headers })).json.id);
    expect(new Set(ids).size).toBe(2);
  });

  test("in two headers is refused", async () => {
    const { app } = createApi();
    const headers = new Headers([
      ["Idempotency-Key", "one"],
      ["Idempotency-Key", "two"],
    ]);
    const response = await fetchApp(
      app,
      new Request("https://api/jobs", { method: "POST", body: JSON.stringify(body), headers }),
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      detail: expect.stringMatching(/^idempotency-key must be .* without commas, in one header/),
    });
  });

  test("of a reschedule changes the job once, and is refused for a different reschedule", async () => {
    const { call, file } = createApi();
    const { id } = await file();
    const headers = { "Idempotency-Key": "patch" };
    const patch = (delay: string) => call("PATCH", `/jobs/${id}`, { body: { delay }, headers });
    const first = await patch("2h");
    await call("PATCH", `/jobs/${id}`, { body: { delay: "3h" } });
    const { json } = await call("GET", `/jobs/${id}`);
    expect(await patch("2h")).toMatchObject({ status: 200, json });
    expect(json.revision).toBe(Number(first.json.revision) + 1);
    expect(await patch("4h")).toMatchObject({ status: 422, json: { code: "idempotency-mismatch", id } });
  });
});

describe("a caller's own key", () => {
  const path = "/topics/orders/jobs/order:1@a=b,c+d~e";

  test("files by PUT, replaces by PUT, shows and cancels", async () => {
    const { call } = createApi();
    const created = await call("PUT", path, { body: { body: 1, delay: "1h", tag: "a" } });
    expect(created).toMatchObject({ status: 201, json: { key: "order:1@a=b,c+d~e", outcome: "created" } });
    const replaced = await call("PUT", path, { body: { body: 2, delay: "2h" } });
    expect(replaced).toMatchObject({
      status: 200,
      json: { id: created.json.id, body: 2, outcome: "replaced" },
    });
    expect(replaced.json.tag).toBeUndefined();
    expect(await call("GET", path)).toMatchObject({
      status: 200,
      json: { id: created.json.id, revision: 1 },
    });
    expect(await call("DELETE", path)).toMatchObject({ status: 200, json: { state: "cancelled" } });
    expect(await call("PUT", path, { body: { body: 3, delay: 9 } })).toMatchObject({ status: 201 });
  });

  test("that is live refuses a second job, keeps the first, or replaces it, as asked", async () => {
    const { call, file } = createApi();
    const { id } = await file({ key: "a" });
    const body = { topic: "orders", body: 2, delay: "2h", key: "a" };
    const refused = await call("POST", "/jobs", { body });
    expect(refused).toMatchObject({ status: 409, json: { code: "job-already-exists", id } });
    expect(refused.json.detail).toMatch(
      /which is not finished: onDuplicate can keep, replace or postpone it$/,
    );
    const kept = await call("POST", "/jobs", { body: { ...body, onDuplicate: "keep" } });
    expect(kept).toMatchObject({ status: 200, json: { id, body: { n: 1 }, outcome: "kept" } });
    const replaced = await call("POST", "/jobs", { body: { ...body, onDuplicate: "replace" } });
    expect(replaced).toMatchObject({ status: 200, json: { id, body: 2, outcome: "replaced" } });
  });

  test("of a live job postpones the job, not beyond its first bound, which is answered", async () => {
    const { call, world } = createApi();
    const postponing = { topic: "orders", body: 1, delay: "10m", key: "a", onDuplicate: "postpone" };
    const body = { ...postponing, maxDelay: "15m" };
    const created = await call("POST", "/jobs", { body });
    const postponeUntil = "2026-03-01T09:15:00.000Z";
    expect(created).toMatchObject({ status: 201, json: { outcome: "created", postponeUntil } });
    await world.pass(10 * MINUTE - 1, { ticks: false });
    const { id } = created.json;
    const told = { id, body: 2, dueAt: postponeUntil, postponeUntil, revision: 1 };
    expect(await call("POST", "/jobs", { body: { ...body, body: 2, maxDelay: "1h" } })).toMatchObject({
      status: 200,
      json: { ...told, outcome: "postponed" },
    });
    expect((await call("GET", `/jobs/${id}`)).json).toMatchObject(told);
    const put = await call("PUT", "/topics/orders/jobs/a", { body: { body: 3, delay: "1h" } });
    expect(put).toMatchObject({ status: 200, json: { id } });
    expect(put.json).not.toHaveProperty("postponeUntil");
  });

  test("is put with a spread, and takes no maxDelay", async () => {
    const { call } = createApi();
    const { json } = await call("PUT", path, { body: { body: 1, delay: 0, spread: "1d" } });
    expect(Date.parse(String(json.dueAt)) - START).toSatisfy((late: number) => late > 0 && late < 24 * HOUR);
    expect(await call("PUT", path, { body: { body: 1, delay: 0, maxDelay: 1 } })).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining('unknown "maxDelay"') },
    });
  });

  test("that an event has cancelled in advance makes the new job a cancelled one", async () => {
    const world = createWorld({ topics: { orders: { cancelledByEvents: true } } });
    const { call } = createApi(world);
    const at = world.now();
    await cancelByEvent(world.ctx, { id: "e1", topic: "orders", key: "a", at, until: at + MINUTE });
    const filed = await call("PUT", "/topics/orders/jobs/a", { body: { body: 1, delay: "1h" } });
    expect(filed).toMatchObject({
      status: 201,
      json: { outcome: "created", state: "cancelled", finishedAt: "2026-03-01T09:00:00.000Z" },
    });
    expect(await call("GET", "/topics/orders/jobs/a")).toMatchObject({
      status: 200,
      json: { state: "cancelled" },
    });
    expect(await call("DELETE", "/topics/orders/jobs/a")).toMatchObject({
      status: 200,
      json: { id: filed.json.id },
    });
    expect(await call("PATCH", `/jobs/${filed.json.id}`, { body: { delay: 1 } })).toMatchObject({
      status: 409,
      json: { code: "job-finished" },
    });
  });

  test("that names no job is not found", async () => {
    const { call } = createApi();
    expect(await call("GET", path)).toMatchObject({ status: 404, json: { code: "job-not-found" } });
    expect(await call("DELETE", path)).toMatchObject({ status: 404 });
  });
});

test("an error of SQS or DynamoDB is answered with 503, without its message", async () => {
  const { call, world, logged } = createApi();
  world.queues.trouble("all", "unreachable");
  const answered = await call("POST", "/jobs", { body: { topic: "events", body: 1, delay: 1 } });
  expect(answered).toMatchObject({ status: 503, json: { code: "unavailable" } });
  expect(answered.headers.get("retry-after")).toBe("2");
  expect(JSON.stringify(answered.json)).not.toContain("queue");
  expect(logged.join()).toContain("is unreachable");
});

test("an error in the API's own code is answered with 500 without details, and logged", async () => {
  const { call, world, logged } = createApi();
  world.pool.hooks.before = () => {
    throw new TypeError("secret");
  };
  const answered = await call("POST", "/jobs", { body: { topic: "orders", body: "private", delay: 1 } });
  expect(answered).toMatchObject({ status: 500, json: { code: "internal" } });
  expect(JSON.stringify(answered.json)).not.toContain("secret");
  expect(logged.join()).toContain("secret");
  expect(logged.join()).not.toContain("private");
});
