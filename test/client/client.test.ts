import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { BulkResult } from "../../src/client/answers.ts";
import { fetchable, type Transport } from "../../src/client/call.ts";
import { type Client, MinutehandError } from "../../src/client/client.ts";
import { clientOver } from "../../src/client/client-over.ts";
import { directOn } from "../../src/client/direct-client.ts";
import { createTelemetry } from "../../src/environment/telemetry.ts";
import { iso } from "../../src/general/times.ts";
import { enqueue } from "../../src/protocol/file/enqueue.ts";
import { type Api, createApi } from "../support/api.ts";
import { fetchApp } from "../support/fetch-app.ts";
import { createWorld, MINUTE, START } from "../support/world.ts";

const URL_OF_API = "https://api.example.com/v1/";
const ID = "01KJMF8S00G00000000000000A";

/** A client of the API in memory, whose stage is `v1`. `asked`: the calls that the client made. */
function createClient(api: Api = createApi()) {
  const asked: string[] = [];
  const transport: Transport = async (outgoing) => {
    const request = fetchable(outgoing);
    const { pathname, search } = new URL(request.url);
    asked.push(`${request.method} ${pathname}${search}`);
    return fetchApp(api.app, new Request(`https://api${pathname.replace("/v1", "")}${search}`, request));
  };
  const client: Client = clientOver({ transport, url: URL_OF_API });
  return { client, api, asked };
}

/** `client`: the one over HTTP, or the one that reads and writes the same queue's table directly. */
function createEither(how: string) {
  const { client: http, ...more } = createClient();
  const direct = () => directOn(more.api.world.ctx, createTelemetry("minutehand").logger);
  return { http, client: how === "directly" ? direct() : http, ...more };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** A client of a server that gives this answer to everything. */
function answeredBy(status: number, type: string, body: string): Client {
  const transport: Transport = async () => new Response(body, { status, headers: { "content-type": type } });
  return clientOver({ transport, url: "https://api.example.com" });
}

describe("the client", () => {
  test("files, finds, moves, replaces and cancels a job", async () => {
    const { client } = createClient();
    const filed = await client.enqueue("orders", { n: 1 }, { delay: "1h", key: "17", tag: "eu" });
    expect(filed).toMatchObject({ topic: "orders", outcome: "created", body: { n: 1 }, tag: "eu" });
    expect(await client.get({ topic: "orders", key: "17" })).toMatchObject({ id: filed.id });
    const dueAt = new Date(START + 30 * MINUTE);
    expect(await client.reschedule(filed.id, { dueAt })).toMatchObject({ dueAt: dueAt.toISOString() });
    expect(await client.put("orders", "17", { body: 2, delay: 90 })).toMatchObject({ outcome: "replaced" });
    expect(await client.cancel({ topic: "orders", key: "17" })).toMatchObject({
      state: "cancelled",
      body: 2,
    });
    expect(await client.get(filed.id)).toMatchObject({ state: "cancelled" });
  });

  test.each(["over HTTP", "directly"])("changes a job only as its caller saw it: %s", async (how) => {
    const { client } = createEither(how);
    const ifMatch = await client.enqueue("orders", 1, { delay: "1h", key: "k" });
    const newer = await client.reschedule(ifMatch.id, { body: 2, ifMatch });
    const message = `job ${newer.id} is not as you saw it: it has revision 1 now. Read it again with get`;
    const refused = { code: "changed-meanwhile", message, data: { id: newer.id, revision: 1 } };
    await expect(client.reschedule(newer.id, { body: 3, ifMatch })).rejects.toMatchObject(refused);
    await expect(client.put("orders", "k", { body: 3, delay: 1, ifMatch })).rejects.toMatchObject(refused);
    await expect(client.cancel({ topic: "orders", key: "k" }, { ifMatch })).rejects.toMatchObject(refused);
    await expect(client.cancel(newer.id, { ifMatch })).rejects.toMatchObject(refused);
    expect(await client.get(newer.id)).toMatchObject({ state: "scheduled", body: 2 });
    for (const wrong of [3, null, {}, { id: newer.id }, { id: "x", revision: 1 }])
      await expect(client.cancel(newer.id, { ifMatch: wrong as never })).rejects.toMatchObject({
        code: "bad-request",
      });
    expect(await client.put("orders", "k", { body: 3, delay: 1, ifMatch: newer })).toMatchObject({
      revision: 2,
    });
    expect(await client.cancel(newer.id, { ifMatch: { id: newer.id, revision: 2 } })).toMatchObject({
      state: "cancelled",
    });
  });

  test("redrives a job only as its caller saw it", async () => {
    const { client, api } = createClient();
    const id = await api.bury();
    const ifMatch = await client.get(id);
    expect(await client.redrive("work", { ids: [id], ifMatch, delay: "1h" })).toMatchObject({ redriven: 1 });
    await expect(client.redrive("work", { ids: [id], ifMatch })).rejects.toMatchObject({
      code: "changed-meanwhile",
    });
    await expect(client.redrive("work", { ifMatch })).rejects.toMatchObject({ code: "bad-request" });
  });

  test("dismisses dead jobs, says of the others why not, and one job only as its caller saw it", async () => {
    const { client, api } = createClient();
    const [id, other] = [await api.bury(), await api.bury()];
    const waiting = await client.enqueue("work", 1, { delay: "1h" });
    expect(await client.dismiss("work", { ids: [id, waiting.id], reason: "old" })).toEqual({
      dismissed: 1,
      left: 1,
      errors: [
        { id: waiting.id, problem: expect.objectContaining({ code: "job-not-dead", state: "scheduled" }) },
      ],
    });
    const { timeline } = await client.get(id);
    expect(timeline.at(-1)).toMatchObject({ event: "cancelled", by: { kind: "caller", reason: "old" } });
    const ifMatch = { id: other, revision: 5 };
    await expect(client.dismiss("work", { ids: [other], ifMatch })).rejects.toMatchObject({
      code: "changed-meanwhile",
    });
    await expect(client.dismiss("work", { ids: [id, other], ifMatch })).rejects.toMatchObject({
      code: "bad-request",
    });
    await expect(client.dismiss("orders", { ids: ["x"] })).rejects.toMatchObject({ code: "bad-request" });
    await api.world.pass(1);
    expect(await client.bulk({ action: "dismiss", topic: "work" })).toMatchObject({ changed: 1 });
  });

  test("answers a job or an error for each job of a batch", async () => {
    const { client } = createClient();
    const [first, second] = await client.enqueueMany([
      { topic: "orders", body: 1, delay: 60 },
      { topic: "nowhere", body: 2, delay: 60 },
    ]);
    expect(first).toMatchObject({ state: "scheduled", outcome: "created" });
    expect(second).toBeInstanceOf(MinutehandError);
    expect(second).toMatchObject({ code: "unknown-topic", status: 404 });
    const cancelled = await client.cancelMany([(first as { id: string }).id, "x"]);
    expect(cancelled).toMatchObject([{ state: "cancelled" }, { code: "bad-request", status: 400 }]);
  });

  test.each(["over HTTP", "directly"])(
    "splits a batch of any length, with a result for each: %s",
    async (how) => {
      const { client, asked } = createEither(how);
      const jobs = Array.from({ length: 1100 }, (_, body) => ({
        topic: body === 700 ? "nowhere" : "orders",
        body,
        delay: "1h" as const,
      }));
      const filed = await client.enqueueMany(jobs, { idempotencyKey: "all" });
      const ids = filed.map((one) => (one instanceof MinutehandError ? one.code : one.id));
      expect(ids).toHaveLength(1100);
      expect(ids[700]).toBe("unknown-topic");
      expect(await client.get(String(ids[1099]))).toMatchObject({ body: 1099 });
      const again = await client.enqueueMany(jobs, { idempotencyKey: "all" });
      expect(again.map((one) => (one instanceof MinutehandError ? one.code : one.id))).toEqual(ids);
      const cancelled = await client.cancelMany(ids);
      expect(cancelled[700]).toMatchObject({ code: "bad-request" });
      expect(cancelled.filter((one) => "state" in one && one.state === "cancelled")).toHaveLength(1099);
      if (how === "over HTTP")
        expect(asked.filter((call) => !call.startsWith("GET"))).toEqual([
          ...Array.from({ length: 6 }, () => "POST /v1/jobs/batch"),
          ...Array.from({ length: 3 }, () => "POST /v1/jobs/cancel"),
        ]);
    },
  );

  test("goes on after a part of a batch that fails, but not after the first one", async () => {
    let failing = 2;
    const { api } = createClient();
    const keys: (string | null)[] = [];
    const transport: Transport = async (outgoing) => {
      const request = fetchable(outgoing);
      keys.push(request.headers.get("idempotency-key"));
      if (keys.length === failing) throw new MinutehandError("unavailable", "no answer");
      return fetchApp(api.app, request);
    };
    const client: Client = clientOver({ transport, url: "https://api" });
    const jobs = Array.from({ length: 1001 }, () => ({ topic: "orders", body: 1, delay: "1h" as const }));
    const filed = await client.enqueueMany(jobs, { idempotencyKey: "k" });
    const partKey = /^part-[23]-[0-9a-f]{64}$/;
    expect(keys).toEqual(["k", expect.stringMatching(partKey), expect.stringMatching(partKey)]);
    expect(new Set(keys).size).toBe(3);
    const failed = filed.flatMap((one, i) => (one instanceof MinutehandError ? [`${i} ${one.code}`] : []));
    expect(failed).toEqual(Array.from({ length: 500 }, (_, i) => `${500 + i} unavailable`));
    expect(filed[1000]).toMatchObject({ state: "scheduled" });
    failing = 4;
    await expect(client.enqueueMany(jobs)).rejects.toMatchObject({ code: "unavailable" });
    expect(keys).toHaveLength(4);
  });

  test.each(["over HTTP", "directly"])(
    "gives the parts of a batch keys that meet no other key: %s",
    async (how) => {
      const { client } = createEither(how);
      const jobs = Array.from({ length: 501 }, (_, body) => ({
        topic: "orders",
        body,
        delay: "1h" as const,
      }));
      await client.enqueue("orders", "mine", { delay: "1h", idempotencyKey: "k#2" });
      for (const key of ["k", "K", "k".repeat(256)]) {
        const filed = await client.enqueueMany(jobs, { idempotencyKey: key });
        expect(filed.map((one) => "outcome" in one && one.outcome)).toEqual(Array(501).fill("created"));
      }
      const tooLong = { idempotencyKey: "k".repeat(257) };
      await expect(client.enqueueMany(jobs, tooLong)).rejects.toMatchObject({ code: "bad-request" });
    },
  );

  test("pulls jobs and settles them", async () => {
    const { client } = createClient();
    for (const body of ["done", "again", "dead"])
      await client.enqueue("work", body, { delay: 0, tag: body, group: "g" });
    const [done, again, dead] = await client.receive("work", { max: 10 });
    const receipts = [done, again, dead].map((job) => job?.receipt ?? "");
    expect(await client.extend("work", receipts[0] ?? "", 60)).toMatchObject({
      leaseUntil: expect.any(String),
    });
    expect(await client.finish("work", receipts[0] ?? "")).toMatchObject({ state: "done" });
    expect(await client.retry("work", receipts[1] ?? "", { delay: "1m", error: "no" })).toMatchObject({
      state: "scheduled",
      lastError: "no",
    });
    expect(await client.bury("work", receipts[2] ?? "", { error: "gone" })).toMatchObject({ state: "dead" });
    expect(await all(client.dead("work"))).toMatchObject([{ lastError: "gone" }]);
    expect(await all(client.dead("work", { tag: "dead", group: "g" }))).toHaveLength(1);
    expect(await all(client.dead("work", { tag: "done" }))).toEqual([]);
    expect(await client.redrive("work", { max: 1 })).toEqual({ redriven: 1, left: 0 });
  });

  test("manages topics and schedules", async () => {
    const { client } = createClient();
    expect((await client.topics()).map(({ topic }) => topic)).toContain("orders");
    expect(await client.pause("orders")).toMatchObject({ state: "paused" });
    expect(await client.topic("orders")).toMatchObject({ pause: { state: "paused" } });
    expect(await client.resume("orders", { ratePerSecond: 10 })).toMatchObject({ topic: "orders" });
    const put = { expression: "rate(1 hour)", topic: "orders", body: 1 };
    expect(await client.putSchedule("hourly", put)).toMatchObject({ name: "hourly", paused: false });
    expect(await client.pauseSchedule("hourly")).toMatchObject({ paused: true });
    expect(await client.resumeSchedule("hourly")).toMatchObject({ paused: false });
    expect(await client.runSchedule("hourly")).toMatchObject({ topic: "orders", body: 1 });
    expect(await all(client.schedules())).toMatchObject([{ name: "hourly" }]);
    expect(await client.schedule("hourly")).toMatchObject({ body: 1 });
    expect(await client.removeSchedule("hourly")).toMatchObject({ name: "hourly" });
    expect(await client.health()).toEqual({ status: "ok", version: "1.2.3" });
  });

  test("reads a list page by page, and no page that the caller does not need", async () => {
    const { client, asked } = createClient();
    const jobs = Array.from({ length: 150 }, (_, n) => ({ topic: "orders", body: n, delay: n }));
    await client.enqueueMany(jobs);
    asked.length = 0;
    for await (const job of client.list({ topic: "orders" })) if (job) break;
    expect(asked).toHaveLength(1);
    const found = await all(client.list({ topic: "orders", to: new Date(START + 10 * MINUTE) }));
    expect(new Set(found.map(({ id }) => id)).size).toBe(150);
    expect(found.map(({ dueAt }) => dueAt)).toEqual(found.map(({ dueAt }) => dueAt).sort());
    expect(asked.length).toBeGreaterThan(2);
    asked.length = 0;
    expect(await all(client.list({ topic: "orders", pageSize: 1000 }))).toHaveLength(150);
    expect(asked).toEqual(["GET /v1/jobs?topic=orders&limit=1000"]);
  });

  test("reads a forecast to the end of its range", async () => {
    const { client, asked } = createClient();
    await client.enqueue("orders", 1, { delay: "5m" });
    await client.enqueue("orders", 2, { delay: "23h" });
    const to = new Date(START + 24 * 60 * MINUTE).toISOString();
    asked.length = 0;
    expect((await all(client.forecast({ to }))).map(({ count }) => count)).toEqual([1, 1]);
    expect(asked.length).toBeGreaterThan(1);
    expect(await all(client.forecast({ topic: "orders" }))).toEqual([
      { minute: new Date(START + 5 * MINUTE).toISOString(), count: 1 },
    ]);
  });

  test("counts by a step that is a text, and refuses a step that is missing or that the API would refuse", async () => {
    const { client, asked } = createClient();
    const counts = client.counts as (query: object) => AsyncIterable<unknown>;
    await all(client.counts({ step: "1h30m" }));
    expect(asked.splice(0)).toEqual(["GET /v1/forecast?step=5400"]);
    for (const [step, got] of [
      [undefined, "nothing"],
      ["soon", '"soon"'],
      ...[0, 1.5, 86_401].map((step) => [step, `${step}`] as const),
    ]) {
      const message = `must be whole seconds, from 1 to 86400, or a text such as "1h", got ${got}`;
      await expect(all(counts({ topic: "orders", step }))).rejects.toMatchObject({
        code: "bad-request",
        message: `step ${message}`,
        data: { errors: [{ path: "step", message }] },
      });
    }
    expect(asked).toEqual([]);
  });

  test("adds up a minute that is counted in several calls, and answers the parts of counts as they come", async () => {
    const minute = (count: number) => ({ minute: "2026-03-01T09:01:00.000Z", count });
    const answers = [
      { minutes: [minute(2)], cursor: "a", next: "2026-03-01T09:01:30.000Z" },
      { minutes: [minute(3)], cursor: "b", next: "2026-03-01T09:01:30.000Z" },
      { minutes: [{ minute: "2026-03-01T09:02:00.000Z", count: 1 }] },
    ];
    const urls: string[] = [];
    const client = () => {
      let at = 0;
      const transport: Transport = async ({ url }) => {
        urls.push(url.split("?")[1] ?? "");
        return Response.json(answers[at++]);
      };
      return clientOver({ transport, url: URL_OF_API });
    };
    expect(await all(client().forecast())).toEqual([minute(5), answers[2]?.minutes[0]]);
    expect(urls.map((query) => new URLSearchParams(query).get("cursor"))).toEqual([null, "a", "b"]);
    expect(await all(client().counts({ step: 60 }))).toEqual(answers);
    expect(urls.at(-1)).toContain("step=60");
  });

  test("counts the hour that begins now by the API's clock, which may differ from the machine's", async () => {
    const { client } = createClient();
    await client.enqueue("orders", 1, { delay: "5m" });
    const count = 1;
    expect(await all(client.forecast())).toEqual([{ minute: iso(START + 5 * MINUTE), count }]);
    expect(await all(client.counts({ step: 3600 }))).toMatchObject([{ counts: [{ count }] }]);
  });

  test("follows the times of an API of an earlier version, which answers no cursor, to the end of its hour", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: START });
    const next = iso(START + 30 * MINUTE);
    const queries: string[] = [];
    const transport: Transport = async ({ url }) => {
      queries.push(new URL(url).search);
      return Response.json({ minutes: [], ...(queries.length % 2 === 1 && { next }) });
    };
    const client = clientOver({ transport, url: URL_OF_API });
    await all(client.forecast()).finally(() => vi.useRealTimers());
    await all(client.forecast({ from: iso(START - MINUTE) }));
    const sent = queries.map((query) => Object.fromEntries(new URLSearchParams(query)));
    const from = iso(START - MINUTE);
    expect(sent).toEqual([
      {},
      { from: next, to: iso(START + 60 * MINUTE) },
      { from },
      { from: next, to: iso(START + 59 * MINUTE) },
    ]);
  });

  test("repeats the call of a bulk until all of the bulk is done, and reports the progress", async () => {
    const part = { action: "cancel", dryRun: false, from: "a", to: "c" } as const;
    const problem = { type: "about:blank", title: "x", status: 503, code: "unavailable", detail: "no" };
    const error = { id: "x", problem };
    const counts = { examined: 5, matched: 3, changed: 2, skipped: { "job-running": 1 }, errors: [error] };
    const parts = [
      { ...part, ...counts, reached: "b", cursor: "next" },
      { ...part, ...counts, reached: "c" },
    ];
    const sent: unknown[] = [];
    const transport: Transport = async (request) => {
      sent.push(JSON.parse(request.body ?? ""));
      return Response.json(parts.shift());
    };
    const client = clientOver({ transport, url: URL_OF_API });
    const reached: string[] = [];
    const request = { action: "cancel", topic: "orders", tag: "eu" } as const;
    const result: BulkResult = await client.bulk(request, (sums) =>
      reached.push(`${sums.reached} ${sums.changed} ${sums.cursor}`),
    );
    expect(sent).toEqual([request, { ...request, cursor: "next" }]);
    expect(reached).toEqual(["b 2 next", "c 4 undefined"]);
    expect(result).toEqual({
      ...part,
      reached: "c",
      examined: 10,
      matched: 6,
      changed: 4,
      skipped: { "job-running": 2 },
      errors: [error, error],
    });
  });

  test("continues a bulk that failed half-way, and moves no job twice", async () => {
    const { client, api } = createClient();
    const { hooks } = api.world.pool;
    for (const part of [1, 2]) {
      await client.enqueueMany(
        Array.from({ length: 300 }, (_, n) => ({ topic: "orders", body: part * n, delay: n + 300 })),
      );
    }
    const request = { action: "move", topic: "orders", delay: "6h" } as const;
    const begun: (string | undefined)[] = [];
    const failing = client.bulk(request, ({ cursor }) => {
      begun.push(cursor);
      hooks.before = ({ operation }) => {
        if (operation === "page") throw new Error("crash");
      };
    });
    const error = await failing.catch((error) => error);
    delete hooks.before;
    expect(error).toMatchObject({ status: 500, data: { cursor: expect.any(String) } });
    expect(begun).toEqual([error.data.cursor]);
    expect(await client.bulk({ ...request, cursor: error.data.cursor })).toMatchObject({ changed: 100 });
    const moved = await all(client.list({ topic: "orders", to: new Date(START + 7 * 60 * MINUTE) }));
    expect(moved.map(({ revision }) => revision)).toEqual(Array.from({ length: 600 }, () => 1));
  });

  test("names the key with which a bulk goes on whose first part failed", async () => {
    const { client, api } = createClient();
    await client.enqueue("orders", 1, { delay: "1h" });
    const { hooks } = api.world.pool;
    hooks.after = ({ operation }) => {
      if (operation !== "page" && operation !== "read") throw new Error("crash");
    };
    const request = {
      action: "move",
      topic: "orders",
      shift: "1h",
      to: new Date(START + 3 * 60 * MINUTE),
    } as const;
    const error = await client.bulk({ ...request, idempotencyKey: "first" }).catch((error) => error);
    delete hooks.after;
    expect(error).toMatchObject({ status: 500, data: { idempotencyKey: "first" } });
    const { idempotencyKey } = error.data;
    expect(await client.bulk({ ...request, idempotencyKey })).toMatchObject({ changed: 1 });
    const moved = await all(client.list({ topic: "orders", to: request.to }));
    expect(moved.map(({ dueAt }) => Date.parse(dueAt))).toEqual([START + 2 * 60 * MINUTE]);
  });

  test("counts many jobs first, and then cancels them", async () => {
    const { client } = createClient();
    for (const part of [1, 2]) {
      await client.enqueueMany(
        Array.from({ length: 300 }, (_, n) => ({ topic: "orders", body: part * n, delay: n, tag: "eu" })),
      );
    }
    const request = { action: "cancel", topic: "orders", tag: "eu" } as const;
    expect(await client.bulk({ ...request, dryRun: true })).toMatchObject({ matched: 600, changed: 0 });
    const sums: BulkResult[] = [];
    expect(await client.bulk(request, (part) => sums.push(part))).toMatchObject({ changed: 600, errors: [] });
    expect(sums.length).toBeGreaterThan(1);
    expect(await all(client.list({ topic: "orders", state: "scheduled" }))).toEqual([]);
  });

  test("refuses a body that JSON cannot represent, and makes no call", async () => {
    const { client, asked } = createClient();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    for (const [body, reason] of [
      [{ orderId: 17n }, "body.orderId must be a value that JSON keeps, got a bigint"],
      [
        circle,
        "the request must be a value that JSON can represent: Converting circular structure to JSON --> starting at",
      ],
    ] as const) {
      const refused = await client.enqueue("orders", body, { delay: 60 }).catch((error) => error);
      expect(refused).toBeInstanceOf(MinutehandError);
      expect(refused.code).toBe("bad-request");
      expect(refused.message).toContain(reason);
    }
    expect(asked).toEqual([]);
  });

  test("refuses a key that HTTP cannot carry, and a wrong time, with the error code of the API", async () => {
    const { client, asked } = createClient();
    const never = new Date("x");
    const refused = (message: string) => expect.objectContaining({ code: "bad-request", message });
    const key = client.enqueue("orders", 1, { delay: 60, idempotencyKey: "ключ" });
    await expect(key).rejects.toEqual(
      refused(expect.stringMatching(/^the request cannot be sent: .*ByteString/)),
    );
    await expect(all(client.list({ from: never }))).rejects.toEqual(
      refused("from must be a time, got an invalid Date"),
    );
    expect(asked).toEqual([]);
    await expect(all(client.forecast({ from: "x" }))).rejects.toEqual(
      refused(expect.stringContaining("from")),
    );
  });

  test("lets the API refuse a call from which plain JavaScript left out an argument", async () => {
    const { client } = createClient();
    const [enqueue, put] = [client.enqueue, client.put] as ((...given: unknown[]) => Promise<unknown>)[];
    const missing = {
      code: "bad-request",
      message: expect.stringContaining("exactly one of delay and dueAt"),
    };
    await expect(enqueue?.("orders", 1)).rejects.toMatchObject(missing);
    await expect(put?.("orders", "17")).rejects.toMatchObject({ code: "bad-request", status: 400 });
  });

  test("throws a refusal with its code, its data and its status", async () => {
    const { client } = createClient();
    const { id } = await client.enqueue("orders", 1, { delay: "1h", key: "17" });
    await expect(client.enqueue("orders", 1, { delay: "1h", key: "17" })).rejects.toMatchObject({
      name: "MinutehandError",
      code: "job-already-exists",
      status: 409,
      data: { id },
    });
    await expect(client.enqueue("orders", 1, { delay: "soon" as "1m" })).rejects.toMatchObject({
      code: "bad-request",
      data: { errors: [{ path: "delay", message: expect.any(String) }] },
    });
  });

  test.each(["over HTTP", "directly"])(
    "refuses a number of milliseconds in place of seconds: %s",
    async (how) => {
      const { http, client, asked } = createEither(how);
      const text =
        'must be at most 31622400 as a number, which is seconds (did you mean milliseconds?), or a text with its unit, such as "400d", got 31622401';
      const calls: [string, Promise<unknown>][] = [
        ["delay", client.enqueue("orders", 1, { delay: 31_622_401 })],
        ["shift", http.bulk({ action: "move", topic: "orders", shift: 31_622_401 })],
        ["expiresAfter", client.put("orders", "k", { body: 1, delay: 1, expiresAfter: 31_622_401 })],
        [
          "jobs.1.delay",
          client.enqueueMany([1, 31_622_401].map((delay) => ({ topic: "orders", body: 1, delay }))),
        ],
        ["delay", client.reschedule(ID, { delay: 31_622_401 })],
      ];
      for (const [path, call] of calls)
        await expect(call).rejects.toMatchObject({
          code: "bad-request",
          message: `${path} ${text}`,
          data: { errors: [{ path, message: text }] },
        });
      const earlier = http.bulk({ action: "move", topic: "orders", shift: -31_622_401 });
      await expect(earlier).rejects.toMatchObject({
        code: "bad-request",
        data: { errors: [{ path: "shift" }] },
      });
      expect(asked).toEqual([]);
      for (const delay of [31_622_400, "31622401s", "3660d"] as const)
        expect(await client.enqueue("orders", 1, { delay })).toMatchObject({ state: "scheduled" });
    },
  );

  test.each(["..", ".", "a/b", "a?b", "", "\ud800"])(
    "makes no call, and names the rule, if a name is %j",
    async (name) => {
      const { client, api, asked } = createClient();
      const { id } = await api.file({ key: "17" });
      const calls = {
        id: [client.cancel(name), client.get(name), client.reschedule(name, { delay: 1 })],
        key: [
          client.cancel({ topic: "orders", key: name }),
          client.put("orders", name, { body: 1, delay: 1 }),
        ],
        topic: [
          client.cancel({ topic: name, key: String(id) }),
          ...[client.topic(name), client.pause(name), client.resume(name), client.redrive(name)],
          ...[client.dismiss(name, { ids: [] }), all(client.dead(name))],
          ...[client.receive(name), client.finish(name, "r"), client.extend(name, "r", 1)],
          ...[client.retry(name, "r"), client.bury(name, "r")],
        ],
        name: [
          client.putSchedule(name, { expression: "rate(1 hour)", topic: "orders", body: 1 }),
          ...[client.schedule(name), client.removeSchedule(name), client.runSchedule(name)],
          ...[client.pauseSchedule(name), client.resumeSchedule(name)],
        ],
      };
      for (const [path, refused] of Object.entries(calls))
        for (const call of refused)
          await expect(call).rejects.toMatchObject({
            code: "bad-request",
            message: expect.stringMatching(new RegExp(`^${path} must be .*, got "`)),
            data: { errors: [{ path }] },
          });
      expect(asked).toEqual([]);
      expect(await client.get(String(id))).toMatchObject({ state: "scheduled" });
    },
  );

  test.each([
    [200, "text/html", "<!doctype html>", "bad-answer"],
    [200, "application/json", "17", "bad-answer"],
    [404, "application/json", '{"message":"Not Found"}', "bad-answer"],
    [403, "application/json", '{"message":"Forbidden"}', "forbidden"],
    [401, "text/plain", "", "forbidden"],
    [429, "application/json", '{"message":"Too Many Requests"}', "unavailable"],
    [502, "text/html", `<html>${"x".repeat(1000)}`, "unavailable"],
  ])("says in one line that %i %s is no answer of the API's", async (status, type, body, code) => {
    const call = answeredBy(status, type, body).get(ID);
    await expect(call).rejects.toMatchObject({ code, status });
    const start = `the answer to GET https://api.example.com/jobs/${ID} is ${status} (${type}) and not from Minutehand's API: `;
    await expect(call).rejects.toThrow(start);
    await expect(call).rejects.toMatchObject({ message: expect.stringMatching(/^.{1,290}$/) });
  });
});

describe("an answer that is not from Minutehand's API", () => {
  const receipt = "r";
  const CALLS: Record<string, (client: Client) => Promise<unknown>> = {
    "an object whose id is a string": (client) => client.get(ID),
    "an object whose results is an array": (client) => client.cancelMany([]),
    "an object whose jobs is an array": (client) => client.receive("work"),
    "an object whose topics is an array": (client) => client.topics(),
    "an object whose minutes is an array": (client) => all(client.forecast()),
    "an object whose schedules is an array": (client) => all(client.schedules()),
    "an object whose matched is a number": (client) => client.bulk({ action: "cancel", topic: "orders" }),
    "an object whose redriven is a number": (client) => client.redrive("orders"),
    "an object whose dismissed is a number": (client) => client.dismiss("orders", { ids: [] }),
    "an object whose leaseUntil is a string": (client) => client.extend("work", receipt, 1),
    "an object whose name is a string": (client) => client.removeSchedule("x"),
    "an object whose topic is a string": (client) => client.pause("x"),
  };
  test.each(Object.keys(CALLS))("of {} is refused with what was expected: %s", async (expected) => {
    const call = CALLS[expected]?.(answeredBy(200, "application/json", "{}"));
    await expect(call).rejects.toMatchObject({ code: "bad-answer", status: 200 });
    await expect(call).rejects.toThrow(new RegExp(`not from Minutehand's API: "{}", expected ${expected}$`));
  });

  test("of a list where an object is expected is refused", async () => {
    for (const call of [
      (client: Client) => client.finish("work", receipt),
      (client: Client) => client.get(ID),
    ])
      await expect(call(answeredBy(200, "application/json", "[]"))).rejects.toThrow("expected an object");
    expect(await answeredBy(200, "application/json", "{}").finish("work", receipt)).toEqual({});
  });

  test("that repeats an earlier cursor ends a list, a forecast or a bulk with an error", async () => {
    const answers = ["a", "b", "a"];
    const counts = { matched: 0, changed: 0, skipped: {}, errors: [], examined: 0 };
    const client = () => {
      let at = 0;
      const transport: Transport = async () =>
        Response.json({ ...counts, jobs: [], minutes: [], cursor: answers[at], next: answers[at++] });
      return clientOver({ transport, url: URL_OF_API });
    };
    const error = {
      code: "bad-answer",
      message: expect.stringMatching(/answered the same cursor twice.*"a"$/),
    };
    await expect(all(client().list())).rejects.toMatchObject(error);
    await expect(all(client().forecast())).rejects.toMatchObject(error);
    await expect(all(client().exportJobs())).rejects.toMatchObject(error);
    await expect(client().bulk({ action: "cancel", topic: "orders" })).rejects.toMatchObject(error);
  });
});

const reason = new Error("enough");
const signal = AbortSignal.abort(reason);
/** Each call with a signal. */
const CALLS: Record<string, (client: Client) => Promise<unknown>> = {
  enqueue: (client) => client.enqueue("orders", 1, { delay: 1, signal }),
  enqueueMany: (client) => client.enqueueMany([], { signal }),
  put: (client) => client.put("orders", "17", { body: 1, delay: 1, signal }),
  get: (client) => client.get(ID, { signal }),
  reschedule: (client) => client.reschedule(ID, { delay: 1, signal }),
  cancel: (client) => client.cancel(ID, { signal }),
  cancelIfWaiting: (client) => client.cancelIfWaiting(ID, { signal }),
  cancelMany: (client) => client.cancelMany([], { signal }),
  list: (client) => all(client.list({ signal })),
  forecast: (client) => all(client.forecast({ signal })),
  counts: (client) => all(client.counts({ step: 60, signal })),
  bulk: (client) => client.bulk({ action: "run", topic: "orders", signal }),
  erase: (client) => client.erase({ tag: "customer-42", signal }),
  exportJobs: (client) => all(client.exportJobs({ signal })),
  topics: (client) => client.topics({ signal }),
  topic: (client) => client.topic("orders", { signal }),
  pause: (client) => client.pause("orders", { signal }),
  resume: (client) => client.resume("orders", { signal }),
  dead: (client) => all(client.dead("orders", { signal })),
  redrive: (client) => client.redrive("orders", { signal }),
  dismiss: (client) => client.dismiss("orders", { ids: [], signal }),
  schedules: (client) => all(client.schedules({ signal })),
  schedule: (client) => client.schedule("x", { signal }),
  putSchedule: (client) =>
    client.putSchedule("x", { expression: "rate(1 hour)", topic: "orders", body: 1 }, { signal }),
  removeSchedule: (client) => client.removeSchedule("x", { signal }),
  pauseSchedule: (client) => client.pauseSchedule("x", { signal }),
  resumeSchedule: (client) => client.resumeSchedule("x", { signal }),
  runSchedule: (client) => client.runSchedule("x", { signal }),
  receive: (client) => client.receive("work", { signal }),
  finish: (client) => client.finish("work", "r", { signal }),
  extend: (client) => client.extend("work", "r", 1, { signal }),
  retry: (client) => client.retry("work", "r", { signal }),
  bury: (client) => client.bury("work", "r", { signal }),
  health: (client) => client.health({ signal }),
};

describe("an abort signal", () => {
  test.each(Object.keys(CALLS))("that is already aborted keeps %s from making a call", async (name) => {
    const { client, asked } = createClient();
    await expect(CALLS[name]?.(client)).rejects.toBe(reason);
    expect(asked).toEqual([]);
  });

  test("is an option of every call", () => {
    expect(Object.keys(CALLS).sort()).toEqual(Object.keys(createClient().client).sort());
  });
});

describe("an unknown option", () => {
  type Calls = Record<string, (...given: unknown[]) => unknown>;
  /** The client of somebody who writes `signol` for `signal`. */
  const misspelling = (client: Client) =>
    Object.fromEntries(
      Object.entries(client as unknown as Calls).map(([name, call]) => [
        name,
        (...given: unknown[]) => call(...given.map((one) => misspelled(one))),
      ]),
    ) as unknown as Client;
  const misspelled = (given: unknown) => {
    if (typeof given !== "object" || given === null || !("signal" in given)) return given;
    const { signal: signol, ...others } = given;
    return { ...others, signol };
  };

  test.each(Object.keys(CALLS))(
    "is refused by %s before it makes a call, with the nearest known name",
    async (name) => {
      const { client, asked } = createClient();
      await expect(CALLS[name]?.(misspelling(client))).rejects.toMatchObject({
        code: "bad-request",
        message: expect.stringMatching(
          new RegExp(`^${name} has an unknown option "signol" \\(did you mean "signal"\\?\\); allowed are `),
        ),
      });
      expect(asked).toEqual([]);
    },
  );

  test("is refused in the calls of the direct client too", async () => {
    const { api } = createClient();
    const client = directOn(api.world.ctx, console);
    const options = { dely: 60 } as never;
    await expect(client.enqueue("orders", 1, options)).rejects.toThrow(
      'enqueue has an unknown option "dely" (did you mean "delay"?); allowed are delay, dueAt, key, ',
    );
  });

  test("is ignored if its value is undefined", async () => {
    const { client } = createClient();
    const options = { delay: 60, dely: undefined };
    expect(await client.enqueue("orders", 1, options)).toMatchObject({ topic: "orders" });
  });
});

describe("typed topics", () => {
  type Topics = { orders: { orderId: number }; work: string };
  const good = { orderId: 1 };

  test("accept only bodies of their own types", async () => {
    const { client: untyped, api } = createClient();
    const client = directOn<Topics>(api.world.ctx, console);
    await client.enqueue("orders", good, { delay: 60 });
    await untyped.enqueue<Topics>("work", "text", { delay: 60 });
    await client.put("orders", "17", { body: good, delay: 60 });
    await client.enqueueMany([{ topic: "work", body: "text", delay: 60 }]);
    // @ts-expect-error: an order's body has a number.
    await client.enqueue("orders", { orderId: "1" }, { delay: 60 });
    // @ts-expect-error: this is the other topic's body.
    await client.enqueue("work", good, { delay: 60 });
    // @ts-expect-error: this is the other topic's body.
    await untyped.enqueue<Topics>("orders", "text", { delay: 60 });
    // @ts-expect-error: this is the other topic's body.
    await client.put("orders", "18", { body: "text", delay: 60 });
    // @ts-expect-error: this is the other topic's body.
    await client.enqueueMany([{ topic: "work", body: good, delay: 60 }]);
    // @ts-expect-error: there is no such topic.
    await expect(client.enqueue("order", good, { delay: 60 })).rejects.toThrow("topic must be one of");
    // @ts-expect-error: there is no such option.
    await expect(client.enqueue("orders", good, { after: 60 })).rejects.toThrow("after");
  });
});

describe("the direct client", () => {
  test("makes no more calls to DynamoDB and SQS than the operation itself", async () => {
    const callsOf = async (work: (world: ReturnType<typeof createWorld>) => Promise<unknown>) => {
      const world = createWorld();
      const calls: string[] = [];
      const note = ({ operation }: { operation: string }) => void calls.push(operation);
      world.pool.hooks.before = note;
      world.queues.hooks.before = note;
      await work(world);
      return calls;
    };
    for (const delay of [0, 3600]) {
      const job = { topic: "orders", body: "1", dueAt: START + delay * 1000 };
      const plain = await callsOf(({ ctx }) => enqueue(ctx, job));
      expect(plain.length).toBeGreaterThan(0);
      expect(await callsOf(({ ctx }) => directOn(ctx, console).enqueue("orders", 1, { delay }))).toEqual(
        plain,
      );
    }
  });

  test("writes the metrics of each request at its end", async () => {
    // With `POWERTOOLS_DEV`, Powertools writes to the global console, which this test replaces, and not to a console of its own.
    const settings = { DEV: "true", METRICS_DISABLED: "false" };
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(`POWERTOOLS_${name}`, value);
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
    });
    const { logger, report, flush } = createTelemetry("minutehand");
    const client = directOn({ ...createWorld().ctx, report }, logger, flush);
    await client.enqueue("orders", 1, { delay: 0 });
    const [[line] = []] = log.mock.calls;
    expect(JSON.parse(String(line))).toMatchObject({ topic: "orders", HandedOver: 1 });
  });

  test("has the API's rules and codes", async () => {
    const client = directOn(createWorld().ctx, console);
    await expect(client.get("x")).rejects.toMatchObject({ code: "bad-request", status: 400 });
    expect(await client.enqueueMany([{ topic: "orders", body: 1, delay: -1 }])).toMatchObject([
      { code: "bad-request" },
    ]);
  });
});
