import { describe, expect, test } from "vitest";
import { createApi, type Sent } from "../support/api.ts";

type Case = [what: string, status: number, code: string, detail: RegExp | string, sent: Sent];

const job = { topic: "orders", body: 1, delay: 1 };
const { delay: _, ...timeless } = job;
const bad = (what: string, detail: RegExp | string, fields: object): Case => [
  what,
  400,
  "bad-request",
  detail,
  { body: { ...job, ...fields } },
];

const POSTPONE_RULE = "maxDelay must be given with onDuplicate postpone, and absent otherwise";

const FILINGS: Case[] = [
  ["an empty body", 400, "bad-request", "is empty", {}],
  ["white space", 400, "bad-request", "is empty", { text: " \n" }],
  ["no JSON", 400, "bad-request", "must be JSON", { text: "{" }],
  ["a form", 400, "bad-request", "must be JSON", { text: "topic=orders&body=1" }],
  [
    "bytes that are no UTF-8",
    400,
    "bad-request",
    "UTF-8",
    { text: new Uint8Array([0x22, 0xff, 0xfe, 0x22]) },
  ],
  ["half a character", 400, "bad-request", "UTF-8", { text: new Uint8Array([0x22, 0xc3, 0x22]) }],
  ["null", 400, "bad-request", "must be an object, got null", { text: "null" }],
  [
    "an array",
    400,
    "bad-request",
    'must be an object, or for several jobs {"jobs": […]} to /jobs/batch, got an array of 1',
    { body: [job] },
  ],
  ["text", 400, "bad-request", 'must be an object, got "x"', { body: "x" }],
  ["deep nesting", 400, "bad-request", "nested", { text: "[".repeat(200) + "]".repeat(200) }],
  ["very deep nesting", 400, "bad-request", "nested", { text: "[".repeat(1_000_000) }],
  [
    "a number no double holds",
    400,
    "bad-request",
    "double",
    { text: '{"topic":"orders","delay":1,"body":9007199254740993}' },
  ],
  ["a huge number", 400, "bad-request", "double", { text: '{"topic":"orders","delay":1,"body":1e400}' }],
  ["a tiny number", 400, "bad-request", "double", { text: '{"topic":"orders","delay":1,"body":1e-400}' }],
  [
    "many digits",
    400,
    "bad-request",
    "double",
    { text: '{"topic":"orders","delay":1,"body":0.10000000000000000001}' },
  ],
  ["a request of more than 3 MB", 413, "too-large", "3 MB", { text: " ".repeat(3_000_001) }],
  [
    "a body of 200 KiB and more",
    413,
    "too-large",
    "200 KiB",
    { body: { ...job, body: "x".repeat(200 * 1024 - 1) } },
  ],
  [
    "a body of many bytes in few characters",
    413,
    "too-large",
    "200 KiB",
    { body: { ...job, body: "é".repeat(102_400) } },
  ],
  [
    "a body that grows by escapes",
    413,
    "too-large",
    "200 KiB",
    { text: `{"topic":"orders","delay":1,"body":"${"\uffff".repeat(40_000)}"}` },
  ],
  ["no body of the job", 400, "bad-request", "body must be given", { body: { topic: "orders", delay: 1 } }],
  ["no topic", 400, "bad-request", "topic must be", { body: { body: 1, delay: 1 } }],
  ["neither delay nor dueAt", 400, "bad-request", "exactly one of delay and dueAt", { body: timeless }],
  ["an unknown topic", 404, "unknown-topic", "got nobody", { body: { ...job, topic: "nobody" } }],
  [
    "a topic named constructor",
    404,
    "unknown-topic",
    "got constructor",
    { body: { ...job, topic: "constructor" } },
  ],
  [
    "a field __proto__",
    400,
    "bad-request",
    'unknown "__proto__"',
    { text: '{"topic":"orders","body":1,"delay":1,"__proto__":{}}' },
  ],
  [
    "a header __proto__",
    400,
    "bad-request",
    "__proto__",
    { text: '{"topic":"orders","body":1,"delay":1,"headers":{"__proto__":"a"}}' },
  ],
  [
    "an Idempotency-Key too long",
    400,
    "bad-request",
    "idempotency-key must be 1 to 256",
    { body: job, headers: { "idempotency-key": "x".repeat(257) } },
  ],
  [
    "an Idempotency-Key that is not ASCII",
    400,
    "bad-request",
    "printable ASCII",
    { body: job, headers: { "idempotency-key": "\u00e9" } },
  ],
  [
    "an Idempotency-Key that is empty",
    400,
    "bad-request",
    "printable ASCII",
    { body: job, headers: { "idempotency-key": "" } },
  ],
  bad(
    "a number as dueAt",
    "dueAt must be a text such as 2026-03-01T09:30:00Z (in JavaScript, new Date(…) becomes one), got 1772366400000",
    { delay: undefined, dueAt: 1_772_366_400_000 },
  ),
  bad("both delay and dueAt", "exactly one of delay and dueAt", { dueAt: "2026-03-01T12:00:00Z" }),
  bad(
    "unknown fields",
    'the request has unknown "more", "Topic" (did you mean "topic"?); allowed are topic, body, delay',
    { more: 1, Topic: 2 },
  ),
  bad(
    "misspelt fields",
    'unknown "dalay" (did you mean "delay"?), "max_attempts" (did you mean "maxAttempts"?); allowed',
    { dalay: 1, max_attempts: 2 },
  ),
  bad(
    "fields of Celery",
    'unknown "countdown" (did you mean "delay"?), "eta" (did you mean "dueAt"?); allowed',
    { countdown: 60, eta: "2026-03-01T12:00:00Z" },
  ),
  bad("a long unknown field", "(400,000 characters); allowed are topic", { ["dela".repeat(100_000)]: 1 }),
  bad("a topic of capitals", 'topic must be 1 to 50 characters of a-z, 0-9 and -, got "Orders"', {
    topic: "Orders",
  }),
  bad("a topic with NUL", "topic must be", { topic: "orders\0" }),
  bad("a topic with a line end", "topic must be", { topic: "orders\n" }),
  bad("a topic of 51", "topic must be", { topic: "x".repeat(51) }),
  bad("a topic that is a number", "topic must be", { topic: 7 }),
  bad("a topic __proto__", "topic must be", { topic: "__proto__" }),
  bad("a negative delay", "delay must be seconds (0 or more)", { delay: -1 }),
  bad("a small negative delay", "delay must be", { delay: -0.0001 }),
  bad("a huge delay", "delay must be", { delay: 1e15 }),
  bad("a delay of 11 years", 'at most 3660 days, got "4015d"', { delay: "4015d" }),
  bad("a delay in words", "delay must be", { delay: "soon" }),
  bad("a delay of years", "delay must be", { delay: "1y" }),
  bad("a fraction in words", "delay must be", { delay: "1.5h" }),
  bad("a delay of too many digits", "delay must be", { delay: `${"9".repeat(400)}d` }),
  bad("an empty delay", "delay must be", { delay: "" }),
  bad("a delay null", "delay must be", { delay: null }),
  bad("a delay that is an object", "delay must be", { delay: {} }),
  bad("a key with a slash", "key must be", { key: "a/b" }),
  bad(
    "a key that a path cannot hold",
    'key must be 1 to 256 characters of A-Z, a-z, 0-9 and ._~:@=+,- and neither "." nor ".."',
    { key: ".." },
  ),
  bad("an empty key", "key must be", { key: "" }),
  bad("a key of 257", "key must be", { key: "k".repeat(257) }),
  bad("a key with a line end", "key must be", { key: "a\n" }),
  bad("a key with an umlaut", "key must be", { key: "ä" }),
  bad("an unknown onDuplicate", "onDuplicate must be one of reject, keep, replace, postpone", {
    key: "a",
    onDuplicate: "drop",
  }),
  bad("onDuplicate without a key", "onDuplicate must be absent without a key", { onDuplicate: "keep" }),
  bad("postpone without maxDelay", POSTPONE_RULE, { key: "a", onDuplicate: "postpone" }),
  bad("maxDelay without postpone", POSTPONE_RULE, { key: "a", onDuplicate: "replace", maxDelay: 60 }),
  bad("a maxDelay of 0", "maxDelay must be a duration longer than 0, got 0", {
    key: "a",
    onDuplicate: "postpone",
    maxDelay: 0,
  }),
  bad("a spread of more than a day", 'spread must be a duration of at most 1 day, got "25h"', {
    spread: "25h",
  }),
  bad("a callbackUrl without a webhook", "webhook", { callbackUrl: "https://example.org/" }),
  bad("no attempts", "maxAttempts must be a whole number from 1 to 100, got 0", { maxAttempts: 0 }),
  bad("101 attempts", "maxAttempts", { maxAttempts: 101 }),
  bad("half an attempt", "maxAttempts", { maxAttempts: 1.5 }),
  bad("attempts in text", "maxAttempts", { maxAttempts: "3" }),
  bad("an expiresAfter of 0", "expiresAfter must be a duration longer than 0", { expiresAfter: 0 }),
  bad("an expiresAfter of less than a millisecond", "expiresAfter must be", { expiresAfter: 0.0001 }),
  bad("a negative expiresAfter", "expiresAfter must be", { expiresAfter: -1 }),
  bad("an empty tag", "tag must be", { tag: "" }),
  bad("a tag of 257 bytes", "tag must be 1 to 256 bytes", { tag: `x${"é".repeat(128)}` }),
  bad("half a surrogate in a tag", "tag must be", { tag: "\ud800" }),
  bad("NUL in a tag", "tag must be", { tag: "\0" }),
  bad("a group with a space", "group must be", { group: "a b" }),
  bad("a group of 129", "group must be", { group: "g".repeat(129) }),
  bad("headers of 4 KiB and more", "at most 4096 bytes", { headers: { a: "x".repeat(4096) } }),
  bad("headers in an array", "headers", { headers: ["a"] }),
  bad("a header that is a number", "headers.a must be text", { headers: { a: 1 } }),
  bad("a header that injects another", "headers.a must be text without control characters", {
    headers: { a: "b\r\nc: d" },
  }),
  bad("a header without a name", "headers", { headers: { "": "a" } }),
  bad("a header whose name has a space", "headers", { headers: { "a b": "c" } }),
];

const IMPOSSIBLE_TIMES = [
  "2026-02-30T00:00:00Z",
  "2027-02-29T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-04-31T00:00:00Z",
  "2026-03-01T24:00:00Z",
  "2026-03-01T23:60:00Z",
  "2026-03-01T23:59:60Z",
  "2026-03-01T12:00:00",
  "2026-03-01",
  "2026-03-01 12:00:00",
  "2026-03-01T12:00:00 01:00",
  "2026-03-01T12:00:00+24:00",
  "2026-03-01T12:00:00z\0",
  "+010000-01-01T00:00:00Z",
  "9999-12-31T23:59:59Z",
  "Sun, 01 Mar 2026 12:00:00 GMT",
  "1772366400000",
  "now",
  "",
];

describe("a job that is refused leaves nothing behind:", () => {
  test.each(FILINGS)("%s", async (_, status, code, detail, sent) => {
    const { call, world } = createApi();
    const answered = await call("POST", "/jobs", sent);
    expect(answered).toMatchObject({ status, json: { code } });
    expect(answered.json.detail).toMatch(detail);
    expect(world.pool.items()).toEqual([]);
    expect(world.events).toEqual([]);
  });

  test.each(IMPOSSIBLE_TIMES)("due at %j", async (dueAt) => {
    const { call, world } = createApi();
    const answered = await call("POST", "/jobs", { body: { ...timeless, dueAt } });
    expect(answered).toMatchObject({ status: 400, json: { code: "bad-request" } });
    expect(answered.json.detail).toMatch("dueAt must be");
    expect(world.pool.items()).toEqual([]);
  });
});
