import { describe, expect, test } from "vitest";
import { encodeReceipt } from "../../src/core/receipt.ts";
import { createApi, type Sent } from "../support/api.ts";

const job = { topic: "orders", body: 1, delay: 1 };

const ID = "01ARZ3NDEK00SV4RRFFQ69G5FA";
const madeUp = (parts: { token?: string; handle?: string }) =>
  encodeReceipt({ v: 1, id: ID, revision: 0, attempt: 1, token: "A".repeat(22), handle: "h", ...parts });
const receipt = madeUp({});

/** Method, path, status and code, and what is sent. */
type Row = [string, string, number, string, Sent?];
const badBulk = (fields: object): Row => [
  "POST",
  "/jobs/bulk",
  400,
  "bad-request",
  { body: { topic: "orders", ...fields } },
];

const OTHERS: Row[] = [
  ["GET", "/", 404, "not-found"],
  ["GET", "/job", 404, "not-found"],
  ["POST", "/jobs/", 404, "not-found"],
  ["GET", "//jobs", 404, "not-found"],
  ["GET", "/%zz", 404, "not-found"],
  ["GET", "/timetables/x", 404, "not-found"],
  ["POST", "/topics/work/stop", 404, "not-found"],
  ["POST", "/topics/nobody/pause", 404, "unknown-topic"],
  ["POST", "/topics/nobody/resume", 404, "unknown-topic"],
  ["POST", "/topics/work/pause", 400, "bad-request", { body: { until: 5 } }],
  ["POST", "/topics/work/resume", 400, "bad-request", { body: { ratePerSecond: 0 } }],
  ["POST", "/topics/work/resume", 400, "bad-request", { body: { ratePerSecond: 1001 } }],
  ["POST", "/topics/work/resume", 400, "bad-request", { body: { ratePerSecond: "10" } }],
  ["PUT", "/jobs", 405, "method-not-allowed"],
  ["OPTIONS", "/jobs", 405, "method-not-allowed"],
  ["GET", "/jobs/batch", 405, "method-not-allowed"],
  ["DELETE", "/jobs/cancel", 405, "method-not-allowed"],
  ["POST", `/jobs/${ID}`, 405, "method-not-allowed"],
  ["GET", "/topics/work/receive", 405, "method-not-allowed"],
  ["DELETE", "/health", 405, "method-not-allowed"],
  ["GET", "/jobs/1", 400, "bad-request"],
  ["GET", `/jobs/${ID.toLowerCase()}`, 400, "bad-request"],
  ["GET", `/jobs/${ID}0`, 400, "bad-request"],
  ["GET", `/jobs/8${ID.slice(1)}`, 400, "bad-request"],
  ["GET", `/jobs/${ID}%0A`, 400, "bad-request"],
  ["GET", "/jobs/%zz", 400, "bad-request"],
  ["GET", "/jobs/%", 400, "bad-request"],
  ["GET", "/jobs/%FF", 400, "bad-request"],
  ["GET", "/jobs/__proto__", 400, "bad-request"],
  ["DELETE", "/jobs/%00", 400, "bad-request"],
  ["PATCH", "/jobs/x", 400, "bad-request", { body: { delay: 1 } }],
  ["PATCH", `/jobs/${ID}`, 400, "bad-request", { body: {} }],
  ["PATCH", `/jobs/${ID}`, 400, "bad-request", { body: { delay: 1, dueAt: "2026-03-01T12:00:00Z" } }],
  ["PATCH", `/jobs/${ID}`, 400, "bad-request", { body: { tag: "a" } }],
  ["PATCH", `/jobs/${ID}`, 400, "bad-request", { body: { delay: -1 } }],
  ["PATCH", `/jobs/${ID}`, 400, "bad-request", { body: { dueAt: "2036-12-01T00:00:00Z" } }],
  ["PATCH", `/jobs/${ID}`, 413, "too-large", { body: { body: "x".repeat(204_800) } }],
  ["PATCH", `/jobs/${ID}`, 400, "bad-request"],
  ["GET", `/jobs/${ID}?a=1`, 400, "bad-request"],
  ["POST", "/jobs?dry=1", 400, "bad-request", { body: job }],
  ["GET", "/jobs?limit=0", 400, "bad-request"],
  ["GET", "/jobs?limit=1001", 400, "bad-request"],
  ["GET", "/jobs?limit=", 400, "bad-request"],
  ["GET", "/jobs?limit=1e2", 400, "bad-request"],
  ["GET", "/jobs?limit=-1", 400, "bad-request"],
  ["GET", "/jobs?limit=1&limit=2", 400, "bad-request"],
  ["GET", "/jobs?state=late", 400, "bad-request"],
  ["GET", "/jobs?topic=Orders", 400, "bad-request"],
  ["GET", "/jobs?from=yesterday", 400, "bad-request"],
  ["GET", "/jobs?from=1969-12-31T23:59:59Z", 400, "bad-request"],
  ["GET", "/jobs?from=2287-01-01T00:00:00Z", 400, "bad-request"],
  ["GET", "/jobs?to=2026-03-01T09:00:00Z", 400, "bad-request"],
  ["GET", "/jobs?from=2026-03-01T09:00:00Z&to=2026-04-01T09:00:01Z", 400, "bad-request"],
  ["GET", "/jobs?cursor=%zz", 400, "bad-request"],
  ["GET", "/jobs?__proto__=1", 400, "bad-request"],
  ["GET", "/jobs?tag=caf%E9", 400, "bad-request"],
  ["GET", "/jobs?tag=%ED%A0%80", 400, "bad-request"],
  ["GET", "/jobs?%FF=1", 400, "bad-request"],
  ["POST", "/jobs?reason=caf%E9", 400, "bad-request", { body: job }],
  ["GET", "/forecast?limit=1", 400, "bad-request"],
  ["GET", "/forecast?from=2026-03-01T09:00:00Z&to=2027-03-01T09:00:00Z", 400, "bad-request"],
  ["GET", "/topics?x", 400, "bad-request"],
  ["GET", "/topics/Work", 400, "bad-request"],
  ["GET", "/topics/work%00", 400, "bad-request"],
  ["GET", "/topics/nobody", 404, "unknown-topic"],
  ["PUT", "/topics/nobody/jobs/a", 404, "unknown-topic", { body: { body: 1, delay: 1 } }],
  ["GET", "/topics/nobody/jobs/a", 404, "unknown-topic"],
  ["PUT", "/topics/orders/jobs/a%2Fb", 400, "bad-request", { body: { body: 1, delay: 1 } }],
  ["PUT", "/topics/orders/jobs/a%23b", 400, "bad-request", { body: { body: 1, delay: 1 } }],
  ["PUT", `/topics/orders/jobs/${"k".repeat(257)}`, 400, "bad-request", { body: { body: 1, delay: 1 } }],
  ["PUT", "/topics/orders/jobs/a", 400, "bad-request", { body: job }],
  ["PUT", "/topics/orders/jobs/a", 400, "bad-request", { body: { body: 1, delay: 1, key: "a" } }],
  ["PUT", "/topics/orders/jobs/a", 400, "bad-request", { body: { body: 1 } }],
  [
    "PUT",
    "/topics/orders/jobs/a",
    400,
    "bad-request",
    { body: { body: 1, delay: 1, callbackUrl: "https://a.b" } },
  ],
  ["POST", "/jobs/batch", 400, "bad-request", { body: [] }],
  ["POST", "/jobs/batch", 400, "bad-request", { body: { jobs: {} } }],
  ["POST", "/jobs/batch", 400, "bad-request", { body: { jobs: [], more: 1 } }],
  ["POST", "/jobs/batch", 400, "bad-request", { body: {} }],
  ["POST", "/jobs/batch", 413, "too-large", { body: { jobs: ["x".repeat(3 * 1024 * 1024)] } }],
  ["POST", "/jobs/cancel", 400, "bad-request", { body: { ids: ID } }],
  ["POST", "/jobs/cancel", 400, "bad-request", { body: {} }],
  ["POST", "/jobs/bulk", 400, "bad-request"],
  badBulk({}),
  badBulk({ action: "delete" }),
  ["POST", "/jobs/bulk", 400, "bad-request", { body: { action: "cancel" } }],
  ["POST", "/jobs/bulk", 404, "unknown-topic", { body: { action: "cancel", topic: "nobody" } }],
  ["POST", "/jobs/bulk", 409, "untracked-topic", { body: { action: "cancel", topic: "events" } }],
  badBulk({ action: "cancel", delay: 1 }),
  badBulk({ action: "cancel", ratePerSecond: 1 }),
  badBulk({ action: "run", dueAt: "2026-03-02T09:00:00Z" }),
  badBulk({ action: "move" }),
  badBulk({ action: "move", dueAt: "2036-12-01T00:00:00Z" }),
  badBulk({ action: "run", ratePerSecond: 0 }),
  badBulk({ action: "cancel", dryRun: 1 }),
  badBulk({ action: "cancel", tag: "" }),
  badBulk({ action: "cancel", cursor: "AAAA.AAAA" }),
  badBulk({ action: "cancel", to: "2026-03-01T08:00:00Z" }),
  badBulk({ action: "cancel", to: "2027-03-02T08:00:01Z" }),
  badBulk({ action: "redrive", from: "2026-03-01T09:00:00Z" }),
  ["GET", "/jobs/bulk", 405, "method-not-allowed"],
  ["POST", "/topics/work/receive", 400, "bad-request", { body: { max: 11 } }],
  ["POST", "/topics/work/receive", 400, "bad-request", { body: { max: 0 } }],
  ["POST", "/topics/work/receive", 400, "bad-request", { body: { waitSeconds: 21 } }],
  ["POST", "/topics/work/receive", 400, "bad-request", { body: { waitSeconds: 0.5 } }],
  ["POST", "/topics/work/receive", 400, "bad-request", { body: { wait: 1 } }],
  ["POST", "/topics/work/receive", 400, "bad-request", { text: "x" }],
  ["POST", "/topics/nobody/receive", 404, "unknown-topic"],
  ["POST", "/topics/work/finish", 400, "bad-request", { body: { receipt: "garbage" } }],
  ["POST", "/topics/work/finish", 400, "bad-request", { body: { receipt: "" } }],
  ["POST", "/topics/work/finish", 400, "bad-request", { body: { receipt: 7 } }],
  ["POST", "/topics/work/finish", 400, "bad-request", { body: {} }],
  ["POST", "/topics/work/finish", 400, "bad-request"],
  [
    "POST",
    "/topics/work/finish",
    400,
    "bad-request",
    { body: { receipt: Buffer.from("null").toString("base64url") } },
  ],
  ["POST", "/topics/work/finish", 400, "bad-request", { body: { receipt: madeUp({ token: "\ud800" }) } }],
  ["POST", "/topics/work/finish", 400, "bad-request", { body: { receipt: madeUp({ token: "" }) } }],
  ["POST", "/topics/work/bury", 400, "bad-request", { body: { receipt: madeUp({ handle: "a b" }) } }],
  ["POST", "/topics/events/finish", 400, "bad-request", { body: { receipt: madeUp({ handle: "\0" }) } }],
  ["POST", "/topics/work/finish", 404, "job-not-found", { body: { receipt } }],
  ["POST", "/topics/nobody/finish", 404, "unknown-topic", { body: { receipt } }],
  ["POST", "/topics/work/extend", 400, "bad-request", { body: { receipt } }],
  ["POST", "/topics/work/extend", 400, "bad-request", { body: { receipt, seconds: 0 } }],
  ["POST", "/topics/work/extend", 400, "bad-request", { body: { receipt, seconds: 43_201 } }],
  ["POST", "/topics/work/retry", 400, "bad-request", { body: { receipt, delay: -1 } }],
  ["POST", "/topics/work/retry", 400, "bad-request", { body: { receipt, error: 1 } }],
  ["POST", "/topics/work/bury", 400, "bad-request", { body: { receipt, reason: "a" } }],
  ["GET", "/topics/work/dead?limit=x", 400, "bad-request"],
  ["GET", "/topics/work/dead?cursor=AAAA", 400, "bad-request"],
  ["GET", "/topics/nobody/dead", 404, "unknown-topic"],
  ["POST", "/topics/work/redrive", 400, "bad-request"],
  ["POST", "/topics/work/redrive", 400, "bad-request", { body: { ids: [], max: 1 } }],
  ["POST", "/topics/work/redrive", 400, "bad-request", { body: { ids: ["x"] } }],
  [
    "POST",
    "/topics/work/redrive",
    400,
    "bad-request",
    { body: { ids: Array.from({ length: 501 }, () => ID) } },
  ],
  ["POST", "/topics/work/redrive", 400, "bad-request", { body: { max: 501 } }],
  ["POST", "/topics/work/redrive", 400, "bad-request", { body: { ratePerSecond: 0 } }],
  ["POST", "/topics/work/redrive", 400, "bad-request", { body: { ratePerSecond: 5e-324 } }],
  ["POST", "/topics/work/redrive", 400, "bad-request", { body: { ratePerSecond: 1001 } }],
  ["POST", "/topics/work/redrive", 400, "bad-request", { body: { delay: "x" } }],
  ["POST", "/topics/work/redrive", 404, "job-not-found", { body: { ids: [ID] } }],
];

describe("a refused request leaves nothing behind:", () => {
  test.each(OTHERS)("%s %s is %i %s, sent %j", async (method, path, status, code, sent) => {
    const { call, world, logged } = createApi();
    const answered = await call(method, path, sent);
    expect(answered).toMatchObject({ status, json: { code } });
    expect(world.pool.items()).toEqual([]);
    expect(logged).toEqual([]);
  });
});

test("a refusal names each field that broke a rule", async () => {
  const { call } = createApi();
  const { json } = await call("POST", "/jobs", {
    body: { ...job, delay: -1, maxAttempts: 0, tag: 1, group: 2 },
  });
  const paths = (json.errors as { path: string }[]).map(({ path }) => path);
  expect(paths.sort()).toEqual(["delay", "group", "maxAttempts", "tag"]);
  expect(json.detail).toMatch(/; and 1 more$/);
});

test("a refusal names each unknown field, also of a job of a batch", async () => {
  const { call } = createApi();
  const { json } = await call("POST", "/jobs", {
    body: { ...job, delay: -1, dalay: 1, eta: 2, nonsense: 3 },
  });
  expect(json.errors).toEqual([
    { path: "delay", message: expect.stringMatching(/^must be/) },
    { path: "dalay", message: 'is unknown (did you mean "delay"?)' },
    { path: "eta", message: 'is unknown (did you mean "dueAt"?)' },
    { path: "nonsense", message: "is unknown" },
  ]);
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`x${i}`, 1]));
  const filed = await call("POST", "/jobs/batch", { body: { jobs: [{ ...job, countdown: 60 }], ...many } });
  expect(filed.json).toMatchObject({ errors: [{ path: "x0" }, ...Array(9).fill({})], moreErrors: 2 });
  const nested = await call("POST", "/jobs/bulk", {
    body: { action: "cancel", topic: "orders", filter: { nope: 1 } },
  });
  expect(nested.json.errors).toMatchObject([{ path: expect.stringMatching(/filter/) }]);
});

test("a refused name of a header is told as such, and the rule of their size only if they are too long", async () => {
  const { call } = createApi();
  const told = async (headers: unknown) =>
    (await call("POST", "/jobs", { body: { topic: "orders", body: 1, delay: 1, headers } })).json.detail;
  expect(await told({ "x y": "1" })).toBe(
    "headers.x y is not a name of letters, digits and !#$%&'*+.^_`|~-, with one character or more",
  );
  expect(await told([])).toMatch(/^headers must be an object of names and values/);
  expect(await told({ a: "x".repeat(5000) })).toMatch(/^headers must be an object of names and values/);
});

test("a rule that a value breaks in several ways is reported once", async () => {
  const { call } = createApi();
  const { json } = await call("POST", "/jobs", {
    body: { topic: "orders", body: 1, delay: 1, tag: "é".repeat(300) },
  });
  expect(json.errors).toMatchObject([
    { path: "tag", message: "must be 1 to 256 bytes of UTF-8 without control characters" },
  ]);
  expect(String(json.detail).match(/must be/g)).toHaveLength(1);
});

const order = { topic: "orders", body: 1 };
const hourly = { topic: "orders", body: 1, expression: "rate(1 hour)" };
const [march, april] = ["2026-03-02T00:00:00Z", "2026-04-01T00:00:00Z"];
const ONE_TIME = "exactly one of delay and dueAt must be given, got";
const ZONED = "2026-03-02T09:00:00+02:00[Europe/Paris]";

test.each<[string, string, object, string, string?]>([
  ["POST", "/jobs", order, `${ONE_TIME} none`],
  ["POST", "/jobs", { ...order, delay: 1, dueAt: march }, `${ONE_TIME} both`],
  ["PUT", "/topics/orders/jobs/k", { body: 1 }, `${ONE_TIME} none`],
  [
    "POST",
    "/jobs/bulk",
    { topic: "orders", action: "move" },
    "exactly one of delay, dueAt and shift must be given, got none",
  ],
  [
    "POST",
    "/jobs",
    { ...order, delay: 1, onDuplicate: "keep" },
    'onDuplicate must be absent without a key, got "keep"',
    "onDuplicate",
  ],
  [
    "POST",
    "/jobs",
    { ...order, delay: 1, key: "k", onDuplicate: "postpone" },
    "maxDelay must be given with onDuplicate postpone, and absent otherwise, got nothing",
    "maxDelay",
  ],
  [
    "POST",
    "/jobs",
    { ...order, delay: 1, maxDelay: 5 },
    "maxDelay must be given with onDuplicate postpone, and absent otherwise, got 5",
    "maxDelay",
  ],
  [
    "PUT",
    "/schedules/s",
    { ...hourly, start: april, end: march },
    `end must not be before start, got "${march}"`,
    "end",
  ],
  [
    "POST",
    "/jobs",
    { ...order, dueAt: ZONED },
    `dueAt must have the offset of its zone: Europe/Paris has +01:00 then, not +02:00, got "${ZONED}"`,
    "dueAt",
  ],
])("%s %s with %j says the rule and the value", async (method, path, body, detail, at = "") => {
  const { call } = createApi();
  const { status, json } = await call(method, path, { body });
  expect({ status, detail: json.detail }).toEqual({ status: 400, detail });
  expect(json.errors).toMatchObject([{ path: at }]);
});

test("a receipt that nobody answered is shown", async () => {
  const { call } = createApi();
  for (const action of ["finish", "retry", "bury"])
    expect(
      (await call("POST", `/topics/work/${action}`, { body: { receipt: "x".repeat(99) } })).json,
    ).toMatchObject({
      detail: `receipt must be a receipt that receive answered, got "${"x".repeat(60)}…" (99 characters)`,
    });
});

test("a + that a URL turned into a space is named", async () => {
  const { call } = createApi();
  for (const path of ["/jobs", "/forecast"])
    expect((await call("GET", `${path}?from=2026-03-02T09:00:00+01:00`)).json.detail).toMatch(
      /\[Europe\/Paris\]; in a URL, write \+ as %2B, got "2026-03-02T09:00:00 01:00"$/,
    );
  expect((await call("GET", "/jobs?from=2026-03-02+09:00")).json.detail).toMatch(
    /\[Europe\/Paris\], got "2026-03-02 09:00"$/,
  );
});

test("for a number of seconds that is too great the refusal asks if milliseconds were meant", async () => {
  const { call } = createApi();
  const cases = [
    ["/jobs", { ...job, delay: 1_800_000_000 }, "delay", "at most 3660 days"],
    ["/jobs", { ...job, spread: 1_800_000 }, "spread", "at most 1 day"],
    ["/jobs", { ...job, expiresAfter: 1_800_000_000 }, "expiresAfter", "at most 3660 days"],
    ["/jobs/bulk", { action: "move", topic: "orders", shift: -1_800_000_000 }, "shift", "at most 3660 days"],
  ] as const;
  for (const [path, body, field, most] of cases) {
    const { status, json } = await call("POST", path, { body });
    const text = new RegExp(`^${field} must be .*${most} \\(did you mean milliseconds\\?\\), got -?\\d+$`);
    expect({ status, detail: json.detail }).toEqual({ status: 400, detail: expect.stringMatching(text) });
  }
  for (const delay of ["3661d", -1])
    expect((await call("POST", "/jobs", { body: { ...job, delay } })).json.detail).not.toContain(
      "milliseconds",
    );
});

test("for a time in a body no URL is named", async () => {
  const { call } = createApi();
  const cases = [
    ["/jobs", { topic: "orders", body: 1, dueAt: "2026-03-02T09:00:00 01:00" }],
    ["/jobs/bulk", { action: "cancel", topic: "orders", from: "2026-03-02T09:00:00 01:00" }],
  ] as const;
  for (const [path, body] of cases)
    expect((await call("POST", path, { body })).json.detail).toMatch(
      /^\w+ must be a time .*\[Europe\/Paris\], got "2026-03-02T09:00:00 01:00"$/,
    );
});

test("a path without this method names its methods", async () => {
  const { call } = createApi();
  expect((await call("PUT", "/jobs")).headers.get("allow")).toBe("POST, GET");
  expect((await call("HEAD", "/jobs/batch")).status).toBe(405);
  expect((await call("HEAD", "/health")).status).toBe(200);
  expect((await call("HEAD", "/nowhere")).status).toBe(404);
});

test("a PATCH by key names the two calls that change the job of a key", async () => {
  const { call } = createApi();
  const refused = async (method: string, path: string) => (await call(method, path)).json.detail;
  expect(await refused("PATCH", "/topics/work/jobs/order-17")).toBe(
    "the method of /topics/{topic}/jobs/{key} must be one of PUT, GET, DELETE, got PATCH; " +
      "to change the job of a key, GET its id, and PATCH /jobs/{id}",
  );
  expect(await refused("POST", "/topics/work/jobs/order-17")).toMatch(/, got POST$/);
  expect(await refused("PATCH", "/jobs/batch")).toMatch(/, got PATCH$/);
});

test("a request with each field at its limit is accepted", async () => {
  const { call } = createApi();
  const body = {
    topic: "orders",
    body: "x".repeat(200 * 1024 - 2),
    delay: "3660d",
    key: "k".repeat(256),
    headers: { a: "x".repeat(4096 - 8) },
    tag: "é".repeat(128),
    group: "!".repeat(128),
    maxAttempts: 100,
    expiresAfter: "3660d",
  };
  const headers = { "idempotency-key": "~".repeat(256) };
  expect(await call("POST", "/jobs", { body, headers })).toMatchObject({ status: 201 });
});
