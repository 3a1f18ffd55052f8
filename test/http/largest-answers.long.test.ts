import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { expect, test } from "vitest";
import {
  BATCH_BYTES,
  BATCH_JOBS,
  BODY_BYTES,
  BULK_JOBS,
  CALLBACK_URL_CHARS,
  ERROR_BYTES,
  EXPRESSION_CHARS,
  GROUP_CHARS,
  HEADERS_BYTES,
  IDEMPOTENCY_KEY_CHARS,
  KEY_CHARS,
  LAMBDA_PAYLOAD_BYTES,
  LIST_JOBS,
  RECEIVE_JOBS,
  TAG_BYTES,
} from "../../src/core/constants.ts";
import { serveEvents } from "../../src/http/lambda.ts";
import type { Route } from "../../src/http/route.ts";
import { routes } from "../../src/http/route-table.ts";
import { logVariables } from "../../src/settings/log-groups.ts";
import { createApi, type Json } from "../support/api.ts";
import { consume } from "../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND } from "../support/world.ts";

// The largest requests of each route, with the content that takes the most bytes in Lambda's JSON: a control character takes seven, a
// backslash four, and a lone backslash of a request two.

/** "Quotas for configuring and running an HTTP API", API Gateway: the request line and all header values together. */
const REQUEST_LINE_AND_HEADERS = 10_240;
const CONTROL = "\u0001";
const BACKSLASH = "\\";

const HOOKS = "h".repeat(50);
const WORK = "w".repeat(50);
const HOSTS = Array.from({ length: 20 }, (_, i) => `${i}.${"host".repeat(12)}.example.com`);

/** A JSON text of `bytes` bytes at most, made of one character. */
const filling = (char: string, bytes: number): string =>
  char.repeat(Math.floor((bytes - 2) / (JSON.stringify(char).length - 2)));
const plain = {
  body: filling(BACKSLASH, BODY_BYTES),
  tag: '"'.repeat(TAG_BYTES),
  group: BACKSLASH.repeat(GROUP_CHARS),
  headers: { x: filling(BACKSLASH, HEADERS_BYTES - '{"x":}'.length) },
  maxAttempts: 2,
  expiresAfter: "3660d",
};
const called = {
  ...plain,
  topic: HOOKS,
  callbackUrl: "https://example.com/".padEnd(CALLBACK_URL_CHARS, CONTROL),
};
const keyOf = (i: number): string => `${i}`.padEnd(KEY_CHARS, "k");
const token = { "idempotency-key": BACKSLASH.repeat(IDEMPOTENCY_KEY_CHARS) };

const played = new Set<string>();

type Asked = { query?: string; headers?: Record<string, string>; body?: unknown; text?: string };

function eventOf(
  method: string,
  rawPath: string,
  rawQueryString: string,
  headers: Record<string, string>,
  body: string | undefined,
): APIGatewayProxyEventV2 {
  return {
    rawPath,
    rawQueryString,
    // API Gateway's own headers and context take less than the longest headers of a caller.
    headers: { ...headers, other: BACKSLASH.repeat(REQUEST_LINE_AND_HEADERS) },
    requestContext: { http: { method } },
    stageVariables: logVariables({ region: "ap-southeast-1", groups: { [HOOKS]: "$".repeat(100) } }),
    isBase64Encoded: false,
    ...(body === undefined ? {} : { body }),
  } as unknown as APIGatewayProxyEventV2;
}

function createFunction() {
  const pull = { consumer: "pull", maxAttempts: 2 } as const;
  const webhook = { allowHosts: HOSTS, onlyHosts: HOSTS };
  const others = Object.fromEntries(
    HOSTS.map((_, i) => [`${i}`.padEnd(50, "o"), { consumer: "webhook", webhook }]),
  );
  const world = createWorld({
    topics: {
      ...(others as object),
      [HOOKS]: { consumer: "webhook", maxAttempts: 2, webhook: { url: "https://example.com/" } },
      [WORK]: pull,
    },
  });
  const { app, logged } = createApi(world);
  const handler = serveEvents(app, {});
  /** Plays a request as API Gateway and Lambda pass it on, and measures it and its answer. */
  const call = async (method: string, path: string, { query = "", headers = {}, body, text }: Asked = {}) => {
    const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
    expect(Buffer.byteLength(content ?? "")).toBeLessThanOrEqual(BATCH_BYTES);
    const line = `${method} ${path}?${query} HTTP/1.1${Object.values(headers).join("")}`;
    expect(line.length).toBeLessThan(REQUEST_LINE_AND_HEADERS);
    const event = eventOf(method, path, query, headers, content);
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(LAMBDA_PAYLOAD_BYTES);
    const answer = await handler(event);
    const bytes = Buffer.byteLength(JSON.stringify(answer));
    expect(bytes, routeOf(method, path)?.operationId).toBeLessThan(LAMBDA_PAYLOAD_BYTES);
    expect(answer.statusCode).not.toBe(500);
    for (const value of Object.values(answer.headers ?? {}))
      expect(String(value).length).toBeLessThan(REQUEST_LINE_AND_HEADERS / 4);
    played.add(routeOf(method, path)?.operationId ?? "none");
    return { status: answer.statusCode, json: JSON.parse(answer.body ?? "{}") as Json, bytes };
  };
  return { world, call, logged };
}

function routeOf(method: string, path: string): Route | undefined {
  const fits = ({ path: pattern }: Route): boolean =>
    new RegExp(`^${pattern.replace(/\{\w+\}/g, "[^/]+")}$`).test(path);
  const found = routes.filter((route) => route.method === method && fits(route));
  return found.sort((a, b) => a.path.split("{").length - b.path.split("{").length)[0];
}

type Function = ReturnType<typeof createFunction>;

/** Files jobs of the longest options, with keys, and lets each fail once with the longest error. */
async function fileLong({ world }: Function, count: number): Promise<string[]> {
  const { expiresAfter: _, ...options } = called;
  const ids: string[] = [];
  for (let i = 0; i < count; i++)
    ids.push((await world.file({ ...options, body: "1", key: keyOf(i), expiresAfter: 10 * HOUR })).id);
  for (let done = 0; done < count; )
    done += (
      await consume(world, HOOKS, { run: () => ({ end: "failed", error: CONTROL.repeat(ERROR_BYTES) }) })
    ).length;
  return ids;
}

type Entry = { status: number; job?: Json; error?: Json };
const resultsOf = ({ json }: { json: Json }): Entry[] => json.results as Entry[];

test("a job", async () => {
  const { call } = createFunction();
  const { json } = await call("POST", "/jobs", {
    body: { ...called, key: keyOf(0), delay: "1h" },
    headers: token,
  });
  const byId = `/jobs/${json.id}`;
  const byKey = `/topics/${HOOKS}/jobs/${keyOf(0)}`;
  const { topic: _, ...keyed } = called;
  expect((await call("GET", byId)).json.headers).toEqual(called.headers);
  expect(await call("PATCH", byId, { body: { body: plain.body, delay: 1e7 }, headers: token })).toMatchObject(
    { status: 200 },
  );
  expect(await call("PUT", byKey, { body: { ...keyed, delay: 1e7 } })).toMatchObject({
    status: 200,
  });
  expect(await call("GET", byKey)).toMatchObject({ status: 200 });
  expect(await call("DELETE", byId)).toMatchObject({ status: 200 });
  expect(await call("DELETE", byKey)).toMatchObject({ status: 200 });
});

test("a batch of the longest jobs, and a cancel of them, leave out long fields that can be read one by one", async () => {
  const made = createFunction();
  const { call, world } = made;
  const ids = await fileLong(made, BATCH_JOBS);
  const keep = { topic: HOOKS, body: 1, delay: 1, onDuplicate: "keep" };
  const jobs = ids.map((_, i) => ({ ...keep, key: keyOf(i) }));
  for (const answer of [
    await call("POST", "/jobs/batch", { body: { jobs } }),
    await call("POST", "/jobs/cancel", { body: { ids } }),
  ]) {
    expect(answer.status).toBe(200);
    const results = resultsOf(answer);
    expect(results.map(({ job }) => job?.id)).toEqual(ids);
    expect(results[0]?.job).toMatchObject({ headers: called.headers, callbackUrl: called.callbackUrl });
    expect(results.at(-1)?.job).not.toHaveProperty("headers");
    expect(results.at(-1)?.job).toMatchObject({ leftOut: ["callbackUrl", "headers", "lastError"] });
  }
  const { json } = await call("GET", `/jobs/${ids.at(-1)}`);
  expect(json).toMatchObject({ state: "cancelled", headers: called.headers });
  expect(world.pool.items().filter((item) => "state" in item && item.state !== "cancelled")).toEqual([]);
});

test("a batch in which most jobs are malformed files the others, and says how many errors it does not list", async () => {
  const { call } = createFunction();
  const names = Array.from({ length: 500 }, (_, i) => ` ${i.toString(36)}${CONTROL}`);
  const bad = {
    topic: HOOKS,
    delay: 1,
    body: 1,
    headers: Object.fromEntries(names.slice(0, 250).map((name) => [name, 1])),
  };
  const one = { topic: HOOKS, delay: 1, body: 1, headers: { [CONTROL.repeat(HEADERS_BYTES / 6 - 4)]: 1 } };
  const unknown = { topic: WORK, delay: 1, body: 1, [filling(CONTROL, 5_800)]: 1 };
  for (const malformed of [bad, one, unknown]) {
    const good = { topic: WORK, delay: "1h", body: 1 };
    const jobs = [good, ...Array.from({ length: BATCH_JOBS - 1 }, () => malformed)];
    const answer = await call("POST", "/jobs/batch", { body: { jobs } });
    const [first, ...others] = resultsOf(answer);
    expect(first).toMatchObject({ status: 201 });
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([400]));
    const told = others.map(
      ({ error }) => ((error?.errors ?? []) as []).length + Number(error?.moreErrors ?? 0),
    );
    expect(new Set(told).size).toBe(1);
    expect(Math.max(...others.map(({ error }) => ((error?.errors ?? []) as []).length))).toBeLessThanOrEqual(
      10,
    );
  }
});

test("a cancel of long text that is no id", async () => {
  const { call } = createFunction();
  const ids = Array.from({ length: BATCH_JOBS }, () => filling(CONTROL, BATCH_BYTES / BATCH_JOBS - 10));
  const results = resultsOf(await call("POST", "/jobs/cancel", { body: { ids } }));
  expect(results).toHaveLength(BATCH_JOBS);
  expect(results[0]).toMatchObject({ status: 400 });
});

test("lists and exports of the longest jobs, bulks and redrives of them", async () => {
  const made = createFunction();
  const { call, world } = made;
  const ids = await fileLong(made, BATCH_JOBS);
  const query = `from=2026-03-01T08:00:00Z&to=2026-03-01T10:00:00Z&limit=${LIST_JOBS}`;
  for (const [path, asked] of [
    ["/jobs", query],
    ["/jobs/export", `limit=${BULK_JOBS}`],
  ] as const) {
    const read: unknown[] = [];
    for (let cursor = ""; ; ) {
      const { json } = await call("GET", path, { query: `${asked}${cursor}` });
      read.push(...(json.jobs as []));
      if (json.cursor === undefined) break;
      cursor = `&cursor=${json.cursor}`;
    }
    expect(read).toHaveLength(ids.length);
  }
  const filters = `tag=${encodeURIComponent("\u2028".repeat(TAG_BYTES / 3))}&group=${encodeURIComponent(plain.group)}`;
  expect(await call("GET", "/jobs", { query: `${query}&${filters}` })).toMatchObject({ status: 200 });

  const which = { topic: HOOKS, tag: plain.tag, group: plain.group, from: "2026-03-01T08:00:00Z" };
  const bulk = { action: "move", ...which, delay: 1 };
  expect(await call("POST", "/jobs/bulk", { body: bulk, headers: token })).toMatchObject({
    json: { changed: BATCH_JOBS },
  });
  await world.pass(2 * SECOND);
  await world.tick();
  const error = CONTROL.repeat(ERROR_BYTES);
  const run = () => ({ end: "buried", error }) as const;
  for (let died = 0; died < BATCH_JOBS; ) died += (await consume(world, HOOKS, { run })).length;
  const page = await call("GET", `/topics/${HOOKS}/dead`, { query: `limit=${LIST_JOBS}` });
  expect((page.json.jobs as Json[])[0]).toMatchObject({ lastError: error, logUrl: expect.any(String) });
  const redrive = `/topics/${HOOKS}/redrive`;
  expect(await call("POST", redrive, { body: { ids, delay: "1h" } })).toMatchObject({
    json: { redriven: BATCH_JOBS },
  });
});

test("jobs that are pulled, and their settles with the longest errors", async () => {
  const { call } = createFunction();
  const { body, headers } = plain;
  for (let i = 0; i < 2 * RECEIVE_JOBS; i++)
    await call("POST", "/jobs", { body: { topic: WORK, body, headers, delay: 0, maxAttempts: 2 } });
  const receive = async () =>
    (await call("POST", `/topics/${WORK}/receive`, { body: { max: RECEIVE_JOBS } })).json.jobs as {
      receipt: string;
    }[];
  const jobs = await receive();
  expect(jobs).toHaveLength(RECEIVE_JOBS);
  const [first, second, third] = jobs.map(({ receipt }) => receipt);
  const error = filling(CONTROL, BATCH_BYTES - 2_000);
  const settle = (verb: string, sent: Json) => call("POST", `/topics/${WORK}/${verb}`, { body: sent });
  expect(await settle("extend", { receipt: first, seconds: 40_000 })).toMatchObject({ status: 200 });
  expect(await settle("finish", { receipt: first })).toMatchObject({ status: 200 });
  expect(await settle("retry", { receipt: second, error })).toMatchObject({ status: 200 });
  expect(await settle("bury", { receipt: third, error })).toMatchObject({ status: 200 });
});

test("schedules", async () => {
  const { call } = createFunction();
  const name = (i: number): string => `${i}`.padEnd(64, "s");
  const expression = "cron(0 9 * * ? *)".replace("9", Array.from({ length: 24 }, (_, i) => i).join(","));
  expect(expression.length).toBeLessThan(EXPRESSION_CHARS);
  const fields = { expression, ...called, body: filling(BACKSLASH, BODY_BYTES / 2), spread: "24h" };
  for (let i = 0; i < 100; i++)
    expect(await call("PUT", `/schedules/${name(i)}`, { body: fields })).toMatchObject({ status: 201 });
  expect((await call("GET", "/schedules")).json.schedules).toHaveLength(100);
  for (const verb of ["pause", "resume"])
    expect(await call("POST", `/schedules/${name(0)}/${verb}`)).toMatchObject({ status: 200 });
  expect(await call("POST", `/schedules/${name(0)}/run`, { headers: token })).toMatchObject({ status: 201 });
  expect(await call("GET", `/schedules/${name(0)}`)).toMatchObject({ status: 200 });
  expect(await call("DELETE", `/schedules/${name(0)}`)).toMatchObject({ status: 200 });
});

test("topics, forecasts and what the API tells of itself", async () => {
  const { call, world } = createFunction();
  for (let i = 0; i < 2_000; i++) await world.file({ topic: WORK, delay: i * MINUTE });
  const range = "from=2026-03-01T09:00:00Z&to=2026-04-01T09:00:00Z";
  expect(await call("GET", "/forecast", { query: range })).toMatchObject({ status: 200 });
  for (const verb of ["pause", "resume"])
    expect(await call("POST", `/topics/${WORK}/${verb}`)).toMatchObject({ status: 200 });
  for (const path of ["/topics", `/topics/${WORK}`, "/openapi.json", "/health"])
    expect(await call("GET", path)).toMatchObject({ status: 200 });
});

test("what is malformed in the line of the request is quoted in part", async () => {
  const { call } = createFunction();
  const long = encodeURIComponent('"'.repeat(3_000));
  for (const [method, path, query] of [
    ["GET", `/${long}`, ""],
    ["GET", `/jobs/${long}`, ""],
    ["GET", `/topics/${long}/jobs/${long.slice(0, 600)}`, ""],
    ["GET", "/jobs", `${long}=1`],
    ["GET", "/jobs", `a${long.slice(0, 4_000)}=1&a${long.slice(0, 4_000)}=2`],
    ["GET", "/jobs", `cursor=${long}`],
  ] as const) {
    const { status, json } = await call(method, path, { query });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(String(json.detail).length).toBeLessThanOrEqual(1024);
  }
});

/** Each value takes about `bytes` bytes in a request. */
const MALFORMED: readonly ((bytes: number) => unknown)[] = [
  (bytes) => filling(CONTROL, bytes),
  (bytes) => Array.from({ length: bytes / 2 - 2 }, () => 1),
  (bytes) => ({ [filling(CONTROL, bytes - 10)]: 1 }),
];
const FIELDS =
  "topic body delay dueAt callbackUrl headers expiresAfter maxAttempts tag group key onDuplicate maxDelay spread jobs ids max receipt seconds error ratePerSecond cursor action expression timezone start end flexibleWindow dryRun from to".split(
    " ",
  );
/** Fields whose schemas look at each entry, or whose texts are not bounded. */
const UNBOUNDED: Readonly<Record<string, Json>> = {
  redrive: { ids: Array.from({ length: BATCH_BYTES / 3 - 10 }, () => "") },
  cancelMany: { ids: Array.from({ length: BATCH_BYTES / 3 - 10 }, () => "") },
  enqueueMany: { jobs: Array.from({ length: BATCH_BYTES / 3 - 10 }, () => "") },
  enqueue: {
    ...called,
    delay: 1,
    headers: Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [i, 1])),
  },
  putSchedule: {
    expression: "cron(0 9 * * ? *)",
    timezone: filling(CONTROL, BATCH_BYTES - 1_000),
    topic: WORK,
    body: 1,
  },
  finish: { receipt: "a".repeat(BATCH_BYTES - 100) },
};
const segments: Readonly<Record<string, string>> = {
  topic: WORK,
  id: "01ARZ3NDEK00SV4RRFFQ69G5FA",
  key: "k",
  name: "s",
};

test.each(routes.filter(({ body }) => body).map((route) => [route.operationId, route] as const))(
  "the most malformed bodies: %s",
  async (name, { method, path }) => {
    const { call } = createFunction();
    const at = path.replace(/\{(\w+)\}/g, (_, parameter) => segments[parameter] ?? "");
    const share = Math.floor((BATCH_BYTES - 1_000) / FIELDS.length);
    const bodies = MALFORMED.map((make) => Object.fromEntries(FIELDS.map((field) => [field, make(share)])));
    for (const body of [...bodies, UNBOUNDED[name] ?? filling(CONTROL, BATCH_BYTES - 10)])
      expect((await call(method, at, { body })).status).toBeGreaterThanOrEqual(400);
  },
);

test("each route was played", () => {
  const missing = routes.map(({ operationId }) => operationId).filter((id) => !played.has(id));
  expect(missing).toEqual([]);
});
