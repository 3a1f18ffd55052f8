import { expect, test } from "vitest";
import { occurrencesOf, stripOf, wordsOf, wordsOrExpression } from "../../../console/page/schedule-words.ts";

const NOW = Date.parse("2026-11-26T10:00:00.000Z"); // a Thursday
const isos = (times: readonly number[]) => times.map((at) => new Date(at).toISOString());

test.each([
  ["cron(0 9 ? * MON-FRI *)", "At 09:00, Monday through Friday, Europe/Berlin"],
  // EventBridge counts the days of the week from Sunday, which is 1.
  ["cron(0 9 ? * 2 *)", "At 09:00, only on Monday, Europe/Berlin"],
  ["cron(0/15 * * * ? *)", "Every 15 minutes, Europe/Berlin"],
  ["cron(0 18 L * ? *)", "At 18:00, on the last day of the month, Europe/Berlin"],
  ["cron(0 8 ? * 6#3 *)", "At 08:00, on the third Friday of the month, Europe/Berlin"],
  ["rate(10 minutes)", "Every 10 minutes"],
  ["rate(1 hour)", "Every hour"],
  ["at(2027-03-01T09:00:00)", "Once, on 2027-03-01 at 09:00:00, Europe/Berlin"],
])("%s", (expression, words) => {
  expect(wordsOf(expression, "Europe/Berlin")).toBe(words);
});

test("the words and the occurrences agree about the days of the week", () => {
  const schedule = { expression: "cron(0 9 ? * 2 *)", timezone: "UTC", next: [] };
  expect(isos(occurrencesOf(schedule, NOW, Number.POSITIVE_INFINITY, 2))).toEqual([
    "2026-11-30T09:00:00.000Z", // a Monday
    "2026-12-07T09:00:00.000Z",
  ]);
});

test("a wrong expression is refused, unless it is stored already", () => {
  const wrong = { expression: "cron(0 9 * * * *)", timezone: "UTC" };
  expect(() => wordsOf(wrong.expression, wrong.timezone)).toThrow(RangeError);
  expect(wordsOrExpression(wrong)).toBe("cron(0 9 * * * *), UTC");
});

test("a rate counts from its known next occurrence", () => {
  const schedule = { expression: "rate(4 hours)", timezone: "UTC", next: ["2026-11-26T11:07:00.000Z"] };
  expect(isos(occurrencesOf(schedule, NOW, NOW + 24 * 3_600_000, 3))).toEqual([
    "2026-11-26T11:07:00.000Z",
    "2026-11-26T15:07:00.000Z",
    "2026-11-26T19:07:00.000Z",
  ]);
});

test("the strip counts the occurrences of seven days, today only those ahead", () => {
  const daily = {
    expression: "cron(0 9 ? * MON-FRI *)",
    timezone: "UTC",
    next: ["2026-11-27T09:00:00.000Z"],
  };
  expect(stripOf(daily, NOW, "UTC").map(({ count }) => count)).toEqual([0, 1, 0, 0, 1, 1, 1]);
  const often = { expression: "rate(1 minute)", timezone: "UTC", next: ["2026-11-26T10:01:00.000Z"] };
  expect(stripOf(often, NOW, "UTC")[1]).toMatchObject({ count: 300, isMore: true });
  const over = { expression: "at(2020-01-01T00:00:00)", timezone: "UTC", next: [] };
  expect(stripOf(over, NOW, "UTC").map(({ count }) => count)).toEqual([0, 0, 0, 0, 0, 0, 0]);
});
