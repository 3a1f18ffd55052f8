import type { Route } from "../../src/http/route.ts";

const ID = "01ARZ3NDEK00SV4RRFFQ69G5FA";

/** Odd values, each of which is sent in every field. */
const VALUES: unknown[] = [
  null,
  true,
  "",
  0,
  -1,
  0.5,
  1e308,
  5e-324,
  -0,
  Number.MAX_SAFE_INTEGER,
  "\0",
  "\ud800",
  "\uffff\ufffe",
  "\u202e\u200b",
  "\u{1f469}\u200d\u{1f4bb}",
  "a\r\nb: c",
  "../../meta",
  "meta",
  "' OR 1=1 --",
  '"}],"x":[{"',
  "%{jndi:x}",
  "__proto__",
  "constructor",
  "x".repeat(100_000),
  "9".repeat(1000),
  [],
  [[[[]]]],
  {},
  { constructor: { prototype: 1 } },
  JSON.parse('{"__proto__":{"topic":"orders"}}'),
  { $ref: "#" },
];

const FIELDS =
  "topic body delay dueAt callbackUrl headers expiresAfter maxAttempts tag group key onDuplicate maxDelay spread jobs ids max waitSeconds receipt seconds error ratePerSecond cursor action __proto__ toString".split(
    " ",
  );

const SEGMENTS = [
  "%00",
  "%",
  "%zz",
  "%ff",
  "%ed%a0%80",
  "%2e%2e",
  "%252e",
  "..",
  "%2F",
  "a%0d%0ab",
  "__proto__",
  "constructor",
  "%F0%9F%98%80",
  "k".repeat(5000),
  ID,
  "orders",
  "work",
];

const QUERIES = [
  "?",
  "?=",
  "?&&",
  "?%",
  "?a",
  "?limit=%00",
  "?from=%ff&to",
  "?cursor=..",
  "?topic=__proto__",
  "?state[]=x",
];

const TEXTS = [
  "{",
  "[]",
  "1",
  '"',
  "\ufeff{}",
  "{}{}",
  '{"a":1,}',
  "NaN",
  "-",
  '{"":""}',
  "\0",
  "[".repeat(5000),
  '{"body":01}',
];

function pathOf(path: string, segment: string): string {
  return path.replace(/\{\w+\}/g, segment);
}

/** Valid fields for a call, so that a request with one odd field beside them is not refused for missing fields. */
const GOOD: Record<string, object> = {
  enqueue: { topic: "orders", body: 1, delay: 1 },
  putJobByKey: { body: 1, delay: 1 },
  reschedule: { delay: 1 },
  enqueueMany: { jobs: [] },
  cancelMany: { ids: [] },
  bulk: { action: "cancel", topic: "orders", from: "2026-03-01T09:00:00Z", to: "2026-03-01T09:01:00Z" },
};

export type HostileRequest = { path: string; text?: string; headers?: Record<string, string> };

/** Requests to one route that no well-meaning client sends; some are legal all the same. */
export function* hostileRequests(route: Route): Generator<HostileRequest> {
  const usual = pathOf(route.path.replace("{id}", ID).replace("{topic}", "work"), "a");
  for (const segment of SEGMENTS) {
    yield { path: pathOf(route.path, segment), text: "{}" };
    yield { path: pathOf(route.path.replace("{topic}", "work"), segment), text: "{}" };
  }
  for (const query of QUERIES) yield { path: usual + query, text: "{}" };
  for (const text of TEXTS) yield { path: usual, text };
  for (const name of ["\u00ff", "x".repeat(9000), "#", "a#0"])
    yield { path: usual, text: "{}", headers: { "idempotency-key": name } };
  if (!route.body) return;
  const good = JSON.stringify(GOOD[route.operationId] ?? {}).slice(1, -1);
  for (const field of FIELDS) {
    for (const value of VALUES) {
      const spoilt = `{${good}${good && ","}${JSON.stringify(field)}:${JSON.stringify(value)}}`;
      yield { path: usual, text: spoilt };
      // The same value inside a well-formed batch.
      if (route.operationId === "enqueueMany") {
        const job = JSON.stringify({ topic: "orders", body: 1, delay: 1, [field]: value });
        yield { path: usual, text: `{"jobs":[${JSON.stringify(value)},${job}]}` };
      }
      if (route.operationId === "cancelMany")
        yield { path: usual, text: `{"ids":[${JSON.stringify(value)}]}` };
    }
  }
}
