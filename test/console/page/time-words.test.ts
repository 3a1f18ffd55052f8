import { expect, test } from "vitest";
import { readJobTime, readTime } from "../../../console/page/time-words.ts";

const NOW = Date.parse("2026-11-26T10:00:00.000Z");
const read = (words: string) => readTime(words, NOW, "UTC");
const at = (iso: string) => ({ at: Date.parse(iso) });

test.each([
  ["in 30 minutes", "2026-11-26T10:30:00Z"],
  ["90s", "2026-11-26T10:01:30Z"],
  ["1h30m", "2026-11-26T11:30:00Z"],
  ["now", "2026-11-26T10:00:00Z"],
  ["tomorrow 9:00", "2026-11-27T09:00:00Z"],
  ["tomorrow at 9:00", "2026-11-27T09:00:00Z"],
  // This time of day is over, so the next one counts.
  ["9:00", "2026-11-27T09:00:00Z"],
  ["at 11:00", "2026-11-26T11:00:00Z"],
  ["2027-03-01T09:00:00Z", "2027-03-01T09:00:00Z"],
  ["2027-03-01T09:00:00+02:00", "2027-03-01T07:00:00Z"],
  ["2027-03-01T09:00Z", "2027-03-01T09:00:00Z"],
  ["2027-03-01 09:00:00.0001+0200", "2027-03-01T07:00:00.001Z"],
  ["2027-03-01T09:00+01:00[Europe/Paris]", "2027-03-01T08:00:00Z"],
  ["an hour ago", "2026-11-26T09:00:00Z"],
])("%s", (words, iso) => {
  expect(read(words)).toEqual(at(iso));
});

test.each([
  "",
  "2027-02-30T09:00:00Z",
  "2027-03-01T09:00+02:00[Europe/Paris]",
  "2027-03-01T09:00[Europe/Paris]",
  "soon",
  "not tomorrow",
  "tomorrow 9:00 or later",
  "order 17 tomorrow",
])("%j names no time", (words) => {
  expect(read(words)).toHaveProperty("error");
});

test("words that count from now give a delay, all others a due time", () => {
  const time = (words: string) => readJobTime(words, NOW, "UTC");
  expect(time("in 30 minutes")).toEqual({ delay: 1800 });
  expect(time("7d")).toEqual({ delay: 604_800 });
  expect(time("tomorrow 9:00")).toEqual({ dueAt: "2026-11-27T09:00:00.000Z" });
  expect(time("2027-03-01T09:00:00Z")).toEqual({ dueAt: "2027-03-01T09:00:00.000Z" });
  expect(time("soon")).toBeUndefined();
});
