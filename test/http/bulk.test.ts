import { describe, expect, test } from "vitest";
import { tie } from "../../src/http/cursors.ts";
import { type Api, createApi, type Json } from "../support/api.ts";
import { HOUR, MINUTE, SECOND, START } from "../support/world.ts";

const RANGE = { from: "2026-03-01T09:00:00.000Z", to: "2026-03-01T11:00:00.000Z" };
const cancel = { action: "cancel", topic: "orders", ...RANGE };
const move = { action: "move", topic: "orders", delay: "90m", ...RANGE };

const bulk = (api: Api, body: Json) => api.call("POST", "/jobs/bulk", { body });

/** Many jobs, so that one call does not do them all. */
async function crowd(count = 600): Promise<Api> {
  const api = createApi();
  for (let i = 0; i < count; i++) await api.world.file({ delay: HOUR + i * SECOND });
  return api;
}

describe("a bulk", () => {
  test("answers its counts, and the range that it has covered", async () => {
    const api = createApi();
    const spring = await api.file({ tag: "spring", group: "shop-1" });
    await api.file({ tag: "autumn" });
    const { status, json } = await bulk(api, { ...cancel, tag: "spring", group: "shop-1" });
    expect(status).toBe(200);
    expect(json).toEqual({
      action: "cancel",
      dryRun: false,
      examined: 2,
      matched: 1,
      changed: 1,
      skipped: {},
      errors: [],
      ...RANGE,
      reached: RANGE.to,
    });
    expect((await api.call("GET", `/jobs/${spring.id}`)).json.state).toBe("cancelled");
  });

  test("covers by default a day from an hour ago, for run a day from now, and for redrive the past 366 days", async () => {
    const api = createApi();
    const dry = { topic: "orders", dryRun: true };
    const ranges = [
      ["cancel", "2026-03-01T08:00:00.000Z", "2026-03-02T08:00:00.000Z"],
      ["run", "2026-03-01T09:00:00.000Z", "2026-03-02T09:00:00.000Z"],
      ["redrive", "2025-02-28T09:00:00.000Z", "2026-03-01T09:00:00.000Z"],
      ["dismiss", "2025-02-28T09:00:00.000Z", "2026-03-01T09:00:00.000Z"],
    ];
    for (const [action, from, to] of ranges)
      expect((await bulk(api, { ...dry, action })).json).toMatchObject({ from, to, reached: to, matched: 0 });
    const past = { ...dry, action: "run", from: "2026-03-01T08:00:00Z", to: "2026-03-01T08:30:00Z" };
    expect((await bulk(api, past)).json).toMatchObject({ from: "2026-03-01T08:00:00.000Z", examined: 0 });
  });

  test("examines the jobs again that it has moved to later in its range, and neither matches nor moves them", async () => {
    const api = await crowd();
    const later = { action: "move", topic: "orders", shift: "30m", ...RANGE };
    const sum = { examined: 0, matched: 0, changed: 0 };
    let cursor: unknown;
    do {
      const { json } = await bulk(api, cursor === undefined ? later : { ...later, cursor });
      for (const name of ["examined", "matched", "changed"] as const) sum[name] += Number(json[name]);
      cursor = json.cursor;
    } while (cursor !== undefined);
    expect(sum).toEqual({ examined: 1200, matched: 600, changed: 600 });
  });

  test("moves jobs with its cursor to the same time as in its first call, though time has passed", async () => {
    const api = await crowd();
    const first = await bulk(api, move);
    expect(first.json).toMatchObject({ changed: 500, cursor: expect.any(String) });
    await api.world.pass(SECOND, { ticks: false });
    const { json } = await bulk(api, { ...move, cursor: first.json.cursor });
    expect(json).toMatchObject({ changed: 100, reached: RANGE.to });
    expect(json).not.toHaveProperty("cursor");
    const listed = await api.call(
      "GET",
      "/jobs?from=2026-03-01T10:30:00Z&to=2026-03-01T10:30:00.001Z&limit=1000",
    );
    expect(listed.json.jobs).toHaveLength(600);
  });

  test("shifts each job by as much, and a repeat of a part shifts none again", async () => {
    const api = await crowd();
    const due = async () => {
      const { json } = await api.call(
        "GET",
        "/jobs?from=2026-03-01T09:00:00Z&to=2026-03-02T09:00:00Z&limit=1000",
      );
      return (json.jobs as Json[]).map(({ dueAt }: Json) => String(dueAt));
    };
    const before: string[] = await due();
    // The bulk meets jobs that it has shifted.
    const shift = { action: "move", topic: "orders", ...RANGE, shift: "20m" };
    const first = await bulk(api, shift);
    expect(first.json).toMatchObject({ changed: 500, cursor: expect.any(String) });
    const second = { ...shift, cursor: first.json.cursor };
    for (let i = 0; i < 2; i++)
      expect((await bulk(api, second)).json).toMatchObject({ changed: 100, matched: 100 });
    expect(await due()).toEqual(before.map((time) => new Date(Date.parse(time) + 20 * MINUTE).toISOString()));
  });

  test("with the same Idempotency-Key shifts its first part once", async () => {
    const api = createApi();
    const { id } = await api.world.file({ delay: HOUR });
    const body = { action: "move", topic: "orders", shift: -1800 };
    for (let i = 0; i < 2; i++) {
      const { json } = await api.call("POST", "/jobs/bulk", { body, headers: { "idempotency-key": "k" } });
      expect(json).toMatchObject({ changed: 1, matched: 1 });
      expect(await api.world.home(id)).toMatchObject({ dueAt: START + HOUR / 2, revision: 1 });
      await api.world.pass(SECOND, { ticks: false });
    }
  });

  test("that shifts jobs into the past makes them due now, and late since their new times", async () => {
    const api = createApi();
    const { id } = await api.world.file({ delay: HOUR });
    await bulk(api, { action: "move", topic: "orders", shift: "-90m" });
    expect(await api.world.home(id)).toMatchObject({
      dueAt: START,
      wantedAt: START - HOUR / 2,
      askedLate: true,
    });
  });

  test("skips a job that a shift would move beyond ten years", async () => {
    const api = createApi();
    const { id } = await api.world.file({ delay: 2 * HOUR });
    const shift = { action: "move", topic: "orders", shift: "3660d" };
    for (const dryRun of [true, false]) {
      const { json } = await bulk(api, { ...shift, dryRun });
      expect(json).toMatchObject({ matched: 1, changed: 0, skipped: { "bad-request": 1 } });
    }
    expect(await api.world.home(id)).toMatchObject({ revision: 0 });
  });

  test.each<[Json, string]>([
    [{ shift: 0 }, 'shift must be seconds or a string such as "2h" or "-30m", not 0'],
    [{ shift: "later" }, "shift must be seconds or a string"],
    [{ shift: "4000d" }, "at most 3660 days"],
    [{ shift: "1h", delay: "1h" }, "exactly one of delay, dueAt and shift must be given, got several"],
    [{}, "exactly one of delay, dueAt and shift must be given, got none"],
    [{ shift: "1h", ratePerSecond: 1 }, "ratePerSecond must be absent with shift"],
  ])("that moves is refused with %j", async (more, rule) => {
    const { status, json } = await bulk(createApi(), { action: "move", topic: "orders", ...more });
    expect(status).toBe(400);
    expect(JSON.stringify(json.detail).replaceAll("\\", "")).toContain(rule);
  });

  test.each([
    ["cancel", {}],
    ["move", { delay: "90m" }],
    ["run", {}],
  ])(
    "that is repeated with its Idempotency-Key has the range of its first call, and leaves jobs that were filed since: %s",
    async (action, more) => {
      const api = createApi();
      const headers = { "idempotency-key": "k" };
      const call = () =>
        api.call("POST", "/jobs/bulk", { body: { action, topic: "orders", ...more }, headers });
      for (let i = 0; i < 3; i++) await api.world.file({ delay: 10 * SECOND });
      const first = await call();
      expect(first.json).toMatchObject({ changed: 3 });
      await api.world.pass(20 * SECOND, { ticks: false });
      const { id } = await api.world.file({ delay: HOUR });
      await api.world.pass(20 * SECOND, { ticks: false });
      const { from, to, changed } = (await call()).json;
      expect({ from, to, changed }).toEqual({ from: first.json.from, to: first.json.to, changed: 3 });
      expect(await api.world.home(id)).toMatchObject({ state: "scheduled", revision: 0 });
      await api.world.pass(25 * HOUR, { ticks: false });
      // A day later the key has expired, even if DynamoDB's TTL has not deleted its item yet.
      await api.world.file({ delay: 10 * SECOND });
      expect((await call()).json).toMatchObject({ changed: 1 });
    },
  );

  test("with the Idempotency-Key of another bulk of its topic is refused, and changes nothing", async () => {
    const api = createApi();
    const headers = { "idempotency-key": "k" };
    const call = (body: Json) => api.call("POST", "/jobs/bulk", { body, headers });
    const { id } = await api.world.file({ delay: HOUR });
    await api.world.file({ topic: "work", delay: HOUR });
    expect(await call({ ...cancel, tag: "spring" })).toMatchObject({ status: 200, json: { changed: 0 } });
    expect(await call(cancel)).toMatchObject({ status: 422, json: { code: "idempotency-mismatch" } });
    expect(await api.world.home(id)).toMatchObject({ state: "scheduled" });
    // A dry run changes nothing, and each topic has keys of its own.
    expect(await call({ ...cancel, dryRun: true })).toMatchObject({ json: { matched: 1 } });
    expect(await call({ ...cancel, topic: "work" })).toMatchObject({ json: { changed: 1 } });
    await api.world.pass(25 * HOUR, { ticks: false });
    expect(await call(cancel)).toMatchObject({ status: 200 });
  });

  test("has a cursor that is valid for the same request only, in any notation", async () => {
    const api = await crowd(510);
    const { cursor } = (await bulk(api, { ...move, dryRun: true })).json;
    const others: Json[] = [
      { ...move, dryRun: false },
      { ...move, dryRun: true, delay: "91m" },
      { ...move, dryRun: true, ratePerSecond: 5 },
      { ...move, dryRun: true, tag: "spring" },
      { ...move, dryRun: true, group: "a" },
      { ...move, dryRun: true, to: "2026-03-01T10:00:00Z" },
      { ...move, dryRun: true, topic: "work" },
      { ...cancel, dryRun: true },
    ];
    for (const other of others)
      expect(await bulk(api, { ...other, cursor })).toMatchObject({
        status: 400,
        json: { code: "bad-request" },
      });
    const same = { cursor, dryRun: true, ...move, delay: 5400, from: "2026-03-01T10:00:00+01:00" };
    expect(await bulk(api, same)).toMatchObject({ status: 200, json: { matched: 10 } });
  });

  test.each(["", "Z", "AAAA", Buffer.from("abcdefgh 1 2 3 4 0000000000001").toString("base64url")])(
    "refuses the cursor %s, though it is tied to the request",
    async (text) => {
      const api = createApi();
      const fields = { ...cancel, from: Date.parse(RANGE.from), to: Date.parse(RANGE.to), dryRun: false };
      const mark = Object.entries(fields).map(([name, value]) => `${name} ${value}`);
      const answered = await bulk(api, { ...cancel, cursor: tie(text, ...mark.sort()) });
      expect(answered.json).toMatchObject({
        status: 400,
        detail: expect.stringContaining("of an earlier answer"),
      });
    },
  );

  test("refuses a cursor that no bulk has answered, with an impossible range or start", async () => {
    const api = createApi();
    const at = (time: string): number => Date.parse(time);
    const [now, from, to] = [api.world.now(), at(RANGE.from), at(RANGE.to)];
    const far = 9_999_999_999_999;
    const mark = Object.entries({ ...cancel, from, to, dryRun: true }).map(
      ([name, value]) => `${name} ${value}`,
    );
    const withCursor = async (...numbers: number[]): Promise<number> => {
      const text = Buffer.from(`abcdefgh ${numbers.join(" ")} ${from}`).toString("base64url");
      const cursor = tie(text, ...mark.toSorted());
      return (await bulk(api, { ...cancel, dryRun: true, cursor })).status;
    };
    expect(await withCursor(now, from, to, now)).toBe(200);
    expect(await withCursor(now, from, far, now)).toBe(400);
    expect(await withCursor(now, from, from - 1, now)).toBe(400);
    expect(await withCursor(now, from, to, far)).toBe(400);
  });

  test("lists the jobs that it could not change with their problems, but without the message of AWS", async () => {
    const api = createApi();
    const { id } = await api.file();
    const change = api.world.pool.changeMany;
    api.world.pool.changeMany = (changes) => change(changes, 0);
    const { json } = await bulk(api, cancel);
    expect(json).toMatchObject({
      matched: 1,
      changed: 0,
      skipped: { unavailable: 1 },
      errors: [{ id, problem: { status: 503, code: "unavailable" } }],
    });
    expect(JSON.stringify(json)).not.toContain("must be issued");
    expect(api.logged.join()).toContain("jobs of a bulk were not served: a changeMany must be issued");
  });

  test("names the allowed actions", async () => {
    const { json } = await bulk(createApi(), { ...cancel, action: "delete" });
    expect(json.detail).toBe('action must be one of cancel, run, redrive, dismiss, move, got "delete"');
  });
});
