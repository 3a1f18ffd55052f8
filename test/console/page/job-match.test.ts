import { expect, test } from "vitest";
import { excerptOf, matchOf, searchOf } from "../../../console/page/job-match.ts";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";

const at = "2026-11-26T10:00:00.000Z";
function jobWith(fields: Partial<JobSummary>): JobSummary {
  const id = "01M8BD7WEG00AQB55CQQHVN949";
  const job = { id, topic: "order-timeout", state: "scheduled", dueAt: at, createdAt: at } as const;
  return { ...job, revision: 0, attempt: 0, maxAttempts: 3, ...fields };
}

const placesOf = (text: string, fields: Partial<JobSummary>, body?: unknown) =>
  matchOf(jobWith(fields), searchOf(text), body)?.places;

test.each([
  ["order-17", "the whole key"],
  ["order-1", "its beginning"],
  ["order-1*", "its beginning, with a star"],
  ["order 17", "its words"],
  ["17 order", "its words in another order"],
  ["ORDER_17", "its words in capital letters"],
  ["Berlin 17", "words of its key and its tag"],
])("%s finds the job order-17: %s", (text) => {
  expect(placesOf(text, { key: "order-17", tag: "shop:berlin" })).toBeDefined();
});

test.each([
  ["order 18", "one of the words is not there"],
  ["order 7", "a number is found where a number begins"],
  ["timeout", "the name of the topic does not suffice"],
  ["der 17", "a short word is found where a word begins"],
])("%s does not find it: %s", (text) => {
  expect(placesOf(text, { key: "order-17" })).toBeUndefined();
});

test("a match says where the words stand", () => {
  const fields = {
    key: "order-17",
    tag: "berlin",
    group: "ann@shop.example",
    lastError: "HTTP 503: card_declined",
  };
  expect(placesOf("berlin 17", fields)).toEqual(["key", "tag"]);
  expect(placesOf("ann@shop.example", fields)).toEqual(["group"]);
  expect(placesOf("declined", fields)).toEqual(["error"]);
  expect(placesOf("timeout 503", fields)).toEqual(["error"]);
  expect(placesOf("daily report", { schedule: "dailyReport" })).toEqual(["schedule"]);
  expect(placesOf("customer 4711", fields, { customerId: 4711 })).toEqual(["body"]);
  expect(placesOf("order 4711", fields, { customerId: 4711 })).toEqual(["key", "body"]);
});

test("a job is found by its id, or by the beginning of it", () => {
  expect(placesOf("01m8bd7weg00aqb55cqqhvn949", {})).toEqual([]);
  expect(placesOf("01M8BD7W", {})).toEqual([]);
  expect(placesOf("01M8B", {})).toBeUndefined();
});

test("the better match has the lower rank", () => {
  const rankOf = (fields: Partial<JobSummary>, body?: unknown) =>
    matchOf(jobWith(fields), searchOf("order-17"), body)?.rank;
  const ranks = [
    rankOf({ key: "order-17" }),
    rankOf({ key: "order-170" }),
    rankOf({ key: "my-order-17" }),
    rankOf({ key: "my-order-170" }),
    rankOf({ key: "my-order", tag: "17" }),
    rankOf({ lastError: "no order 17" }),
    rankOf({}, { order: 17 }),
  ];
  expect(ranks).toEqual(ranks.toSorted((a = 99, b = 99) => a - b));
  expect(new Set(ranks).size).toBe(ranks.length);
});

test.each(["(", "\\", "[", "|", "…", "/", "?"])("the sign %s is looked for as it is", (text) => {
  expect(placesOf(text, { key: "order-17", lastError: `it said ${text} here` })).toEqual(["error"]);
});

test("a long text is shown where its word stands", () => {
  const text = `${"a".repeat(1000)} Customer ${"b".repeat(1000)}`;
  expect(excerptOf(text, searchOf("customer"))).toMatch(/^…a+ Customer b+…$/);
  expect(excerptOf("short", searchOf("customer"))).toBe("short");
  expect(excerptOf(text, searchOf("none"))).toMatch(/^a+…$/);
});
