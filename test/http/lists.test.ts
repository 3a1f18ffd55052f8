import { describe, expect, test } from "vitest";
import { tie } from "../../src/http/cursors.ts";
import { type Api, createApi, type Json } from "../support/api.ts";
import { createWorld, MINUTE } from "../support/world.ts";

const idsOf = (json: Json) => (json.jobs as { id: string }[]).map(({ id }) => id);

async function pagesOf(api: Api, path: string): Promise<string[][]> {
  const found: string[][] = [];
  for (let cursor: unknown = ""; cursor !== undefined; ) {
    const { json } = await api.call("GET", cursor === "" ? path : `${path}&cursor=${cursor}`);
    found.push(idsOf(json));
    cursor = json.cursor;
    await api.world.pass(1000, { ticks: false });
  }
  return found;
}

describe("the list", () => {
  test("holds the next hour's jobs in due order, without bodies", async () => {
    const api = createApi();
    const late = await api.file({ delay: "50m" });
    const early = await api.file({ delay: "10m" });
    await api.file({ delay: "1h" });
    const { json } = await api.call("GET", "/jobs");
    expect(idsOf(json)).toEqual([early.id, late.id]);
    expect(json).not.toHaveProperty("cursor");
    expect(json.jobs).not.toContainEqual(expect.objectContaining({ body: expect.anything() }));
  });

  test("continues where its last page ended, in the range of the first page, though time passes", async () => {
    const api = createApi();
    const ids: unknown[] = [];
    for (let i = 0; i < 5; i++) ids.push((await api.file({ delay: 10 * 60 })).id);
    expect((await pagesOf(api, "/jobs?limit=2")).flat().sort()).toEqual(ids.sort());
    const range = "from=2026-03-01T09:00:00Z&to=2026-03-10T10:00:00%2B01:00";
    expect((await pagesOf(api, `/jobs?limit=3&${range}`)).flat().sort()).toEqual(ids.sort());
  });

  test("is filtered by topic and state", async () => {
    const { call, file } = createApi();
    const work = await file({ topic: "work", delay: 600 });
    const orders = await file({ delay: 600 });
    await call("DELETE", `/jobs/${orders.id}`);
    expect(idsOf((await call("GET", "/jobs?topic=work")).json)).toEqual([work.id]);
    expect(idsOf((await call("GET", "/jobs?state=cancelled")).json)).toEqual([orders.id]);
    expect(idsOf((await call("GET", "/jobs?state=running")).json)).toEqual([]);
  });

  test("is filtered by tag and group, and its cursor is valid for no other filter", async () => {
    const { call, file } = createApi();
    const spring = { tag: "spring", delay: 600 };
    const ids = [
      (await file({ ...spring, group: "shop-1" })).id,
      (await file({ ...spring, group: "shop-1" })).id,
      (await file({ ...spring, group: "shop-2" })).id,
    ];
    await file({ tag: "autumn", group: "shop-1", delay: 600 });
    expect(idsOf((await call("GET", "/jobs?tag=spring")).json).sort()).toEqual(ids.sort());
    const path = "/jobs?tag=spring&group=shop-1&limit=1";
    const { json } = await call("GET", path);
    expect(idsOf(json)).toHaveLength(1);
    const rest = await call("GET", `${path}&cursor=${json.cursor}`);
    expect(idsOf(rest.json)).toHaveLength(1);
    for (const other of ["tag=spring", "tag=spring&group=shop-2", "group=shop-1"])
      expect((await call("GET", `/jobs?${other}&cursor=${json.cursor}`)).status).toBe(400);
  });

  test.each([
    ["", "Z"],
    ["a cursor of the dead", Buffer.from("1772357400000#01ARZ3NDEK00SV4RRFFQ69G5FA").toString("base64url")],
    ["another range", Buffer.from("1 2 0000000000001").toString("base64url")],
    ["before its range", Buffer.from("5 9 0000000000001").toString("base64url")],
    ["too long a range", Buffer.from("0 9999999999999 0000000000001").toString("base64url")],
    [
      "a job that cannot be",
      Buffer.from("1 2 0000000000001#ZZZZZZZZZZZZZZZZZZZZZZZZZZ#~").toString("base64url"),
    ],
    ["a longer text", Buffer.from("1 2 0000000000001 3").toString("base64url")],
    ["odd bytes", "%FF%00"],
  ])("refuses a cursor of %s %s", async (_, cursor) => {
    const { call } = createApi();
    const range = "from=2026-03-01T09:00:00Z&to=2026-03-01T10:00:00Z";
    const answered = await call(
      "GET",
      `/jobs?${range}&cursor=${tie(cursor, undefined, undefined, undefined, undefined)}`,
    );
    expect(answered).toMatchObject({ status: 400, json: { code: "bad-request" } });
  });
});

describe("a cursor that no answer had", () => {
  const answers = async (text: string): Promise<unknown> => {
    const { call } = createApi();
    const queried = ["/jobs?", "/forecast?", "/topics/orders/dead?", "/schedules?"].map(
      async (path) => (await call("GET", `${path}cursor=${encodeURIComponent(text)}`)).json.detail,
    );
    const body = { topic: "orders", action: "cancel", cursor: text };
    const bulk = async () => (await call("POST", "/jobs/bulk", { body })).json.detail;
    return [...new Set([...(await Promise.all(queried)), await bulk()])];
  };

  test.each([
    ["", '"'],
    ["AAAA", 'AAAA"'],
    ["AAAA.short", 'AAAA.short"'],
    [".AAAAAAAA", '.AAAAAAAA"'],
    ["AAAA.AAAAAAAA.1", 'AAAA.AAAAAAAA.1"'],
    ["x".repeat(100), `${"x".repeat(60)}…" (100 characters)`],
  ])("%j is refused as such, and not as the cursor of another request", async (text, shown) => {
    expect(await answers(text)).toEqual([
      `cursor must be the cursor of an earlier answer, or be left out for the first page, got "${shown}`,
    ]);
  });

  test("of the right form is refused as that of another request", async () => {
    expect(await answers("AAAA.AAAAAAAA")).toEqual([
      "cursor must be sent with the same topic, filters and values as the request that answered it",
    ]);
  });
});

describe("the forecast", () => {
  test("counts what falls due in each minute", async () => {
    const { call, file } = createApi();
    for (const delay of [90, 100, 200]) await file({ delay });
    await file({ topic: "work", delay: 90 });
    expect((await call("GET", "/forecast?topic=orders")).json).toEqual({
      minutes: [
        { minute: "2026-03-01T09:01:00.000Z", count: 2 },
        { minute: "2026-03-01T09:03:00.000Z", count: 1 },
      ],
      at: "2026-03-01T09:00:00.000Z",
      reached: "2026-03-01T10:00:00.000Z",
    });
  });

  test("says by how much a range is too long, to a hundredth of a day, rounded up", async () => {
    const { call } = createApi();
    const asked = await call("GET", "/forecast?from=2026-03-01T09:00:00Z&to=2026-04-01T09:00:01Z");
    expect(asked.json.detail).toBe("from and to must be at most 31 days apart, got 31.01 days");
  });

  test("answers where to continue in a long range", async () => {
    const { call } = createApi();
    const path = "/forecast?from=2026-03-01T09:00:00Z&to=2026-03-31T09:00:00Z";
    const { json } = await call("GET", path);
    const reached = "2026-03-01T17:20:00.000Z";
    expect(json).toEqual({
      minutes: [],
      at: "2026-03-01T09:00:00.000Z",
      reached,
      next: reached,
      cursor: expect.any(String),
    });
    const further = await call("GET", `${path}&cursor=${json.cursor}`);
    expect(further.json).toMatchObject({ reached: "2026-03-02T01:40:00.000Z" });
    for (const other of [`${path}&step=60`, `${path}&topic=orders`, "/jobs?"])
      expect(await call("GET", `${other}&cursor=${json.cursor}`)).toMatchObject({ status: 400 });
  });

  test("counts by topic, state and step of time", async () => {
    const { call, file } = createApi();
    for (const delay of [90, 100]) await file({ delay });
    await file({ topic: "work", delay: 90 });
    const { json } = await call("GET", "/forecast?step=10");
    const due = (from: string, topic: string) => ({ from, topic, state: "scheduled", count: 1 });
    expect(json.counts).toHaveLength(3);
    expect(json.counts).toEqual(
      expect.arrayContaining([
        due("2026-03-01T09:01:30.000Z", "orders"),
        due("2026-03-01T09:01:30.000Z", "work"),
        due("2026-03-01T09:01:40.000Z", "orders"),
      ]),
    );
    for (const step of ["0", "86401", "x"])
      expect(await call("GET", `/forecast?step=${step}`)).toMatchObject({ status: 400 });
  });
});

describe("topics", () => {
  test("are answered with policy, depths and sweep lag", async () => {
    const world = createWorld();
    const { call, file } = createApi(world);
    await world.tick();
    await world.pass(MINUTE, { ticks: false });
    await file({ delay: 0 });
    await file({ delay: 100 });
    const { json } = await call("GET", "/topics/orders");
    expect(json).toMatchObject({
      topic: "orders",
      policy: { consumer: "lambda", tracking: "full", maxAttempts: 3, backoff: { waits: [15, 180] } },
      depths: { ready: 1, delayed: 1, inFlight: 0, dead: 0 },
      sweepLag: 60,
    });
    const all = await call("GET", "/topics");
    expect(all.json.topics).toHaveLength(4);
    expect(all.json.topics).toContainEqual(json);
  });

  test("have a sweep lag even if no sweep has ever run", async () => {
    const { json } = await createApi().call("GET", "/topics/orders");
    expect(json.sweepLag).toBe(780);
  });

  test("that are not configured are unknown, whatever their names are", async () => {
    const { call } = createApi();
    for (const topic of ["nobody", "constructor", "tostring"]) {
      expect(await call("GET", `/topics/${topic}`)).toMatchObject({
        status: 404,
        json: { code: "unknown-topic" },
      });
      expect(await call("GET", `/jobs?topic=${topic}`)).toMatchObject({ status: 404 });
      expect(await call("GET", `/forecast?topic=${topic}`)).toMatchObject({ status: 404 });
    }
  });
});

test("health says the version", async () => {
  const { call } = createApi();
  expect((await call("GET", "/health")).json).toEqual({ status: "ok", version: "1.2.3" });
});
