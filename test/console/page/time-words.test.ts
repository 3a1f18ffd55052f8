import { afterEach, expect, test, vi } from "vitest";
import { readEdge, readJobTime, readTime } from "../../../console/page/time-words.ts";

const NOW = Date.parse("2026-11-26T10:00:00.000Z");
const read = (words: string) => readTime(words, NOW, "UTC");
afterEach(() => {
  vi.unstubAllEnvs();
});
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

test.each([
  ["3 December", "2026-12-03T00:00:00Z", "2026-12-04T00:00:00Z"],
  ["on 3 December", "2026-12-03T00:00:00Z", "2026-12-04T00:00:00Z"],
  ["2026-12-03", "2026-12-03T00:00:00Z", "2026-12-04T00:00:00Z"],
  ["today", "2026-11-26T00:00:00Z", "2026-11-27T00:00:00Z"],
  ["tomorrow", "2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z"],
  ["3 December 14:00", "2026-12-03T14:00:00Z", "2026-12-03T14:00:00Z"],
  ["tomorrow noon", "2026-11-27T12:00:00Z", "2026-11-27T12:00:00Z"],
  ["in 3 days", "2026-11-29T10:00:00Z", "2026-11-29T10:00:00Z"],
  ["2 hours ago", "2026-11-26T08:00:00Z", "2026-11-26T08:00:00Z"],
  ["now", "2026-11-26T10:00:00Z", "2026-11-26T10:00:00Z"],
  ["2026-12-03T09:00:00Z", "2026-12-03T09:00:00Z", "2026-12-03T09:00:00Z"],
  ["90s", "2026-11-26T10:01:30Z", "2026-11-26T10:01:30Z"],
])("a range from and until %j means the whole day if it names no time of day", (words, from, until) => {
  expect(readEdge(words, NOW, "UTC", "from")).toMatchObject(at(from));
  expect(readEdge(words, NOW, "UTC", "until")).toMatchObject(at(until));
});

test.each([
  ["Europe/Berlin", "29 March 2026", 23],
  ["Europe/Berlin", "25 October 2026", 25],
  ["America/Havana", "8 March 2026", 23],
  ["Asia/Kathmandu", "29 March 2026", 24],
])("in %s, %s is one whole day of %i hours", (timezone, words, hours) => {
  const [from, until] = (["from", "until"] as const).map((edge) => readEdge(words, NOW, timezone, edge));
  if (from === undefined || until === undefined || !("at" in from) || !("at" in until))
    return expect.fail("the words name no day");
  expect((until.at - from.at) / 3_600_000).toBe(hours);
});

test.each([
  // Before and after the clocks of New York are put back on 1 November.
  ["2026-10-30T12:00:00Z", "31 October 2026 9:00", "2026-10-31T13:00:00.000Z"],
  ["2026-10-30T12:00:00Z", "2 November 2026 9:00", "2026-11-02T14:00:00.000Z"],
  ["2026-10-30T12:00:00Z", "tomorrow 9:00", "2026-10-31T13:00:00.000Z"],
  ["2026-11-01T02:00:00Z", "tomorrow 9:00", "2026-11-01T14:00:00.000Z"],
  ["2026-11-01T04:00:00Z", "in 3 hours", "2026-11-01T07:00:00.000Z"],
  ["2026-10-30T12:00:00Z", "2 November 2026 9:00 UTC", "2026-11-02T09:00:00.000Z"],
  // The machine's clocks skip this hour.
  ["2026-03-28T12:00:00Z", "29 March 2026 2:30", "2026-03-29T06:30:00.000Z"],
])("at %s in New York, %s is %s, also on a machine in Berlin", (now, words, at) => {
  expect(readTime(words, Date.parse(now), "America/New_York")).toEqual({ at: Date.parse(at) });
  vi.stubEnv("TZ", "Europe/Berlin");
  expect(readTime(words, Date.parse(now), "America/New_York")).toEqual({ at: Date.parse(at) });
});
