import { expect, test } from "vitest";
import {
  comesTwice,
  durationText,
  instantOf,
  relativeText,
  spanText,
  startOfDay,
  timeText,
} from "../../../console/page/times.ts";

const NOW = Date.parse("2026-11-26T10:00:00.000Z");

test.each([
  [0, "now"],
  [999, "now"],
  [4900, "in 4 s"],
  [119_000, "in 1 min"],
  [-3_600_000, "1 h ago"],
  [(4 * 60 + 42) * 60_000 + 59_000, "in 4 h 42 min"],
  [-100 * 3_600_000, "4 d 4 h ago"],
  [8 * 86_400_000, "in 8 d"],
])("%d ms away: %s", (away, text) => {
  expect(relativeText(NOW + away, NOW)).toBe(text);
});

test.each([
  [0, "0 ms"],
  [183.4, "183 ms"],
  [3000, "3 s"],
  [4200, "4.2 s"],
  [59_999, "1 min"],
  [5_400_000, "1 h 30 min"],
  [86_400_000, "1 d"],
  [90_061_000, "1 d 1 h"],
])("%d ms: %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test("a time has its zone, and its date on another day", () => {
  expect(timeText(NOW, NOW, "UTC")).toBe("10:00:00 UTC");
  expect(timeText(NOW + 86_400_000, NOW, "UTC")).toBe("27 Nov, 10:00:00 UTC");
  expect(timeText(NOW + 100 * 86_400_000, NOW, "UTC")).toBe("6 Mar 2027, 10:00:00 UTC");
});

test("a span has its zone once, its date on another day, and seconds if it is short", () => {
  expect(spanText(NOW, NOW + 900_000, NOW, "UTC")).toBe("10:00–10:15 UTC");
  expect(spanText(NOW, NOW + 15_000, NOW, "UTC")).toMatch(/^10:00:00\s–\s10:00:15 UTC$/);
  const tomorrow = NOW + 86_400_000;
  expect(spanText(tomorrow, tomorrow + 900_000, NOW, "UTC")).toBe("27 Nov, 10:00–10:15 UTC");
});

test("days begin at midnight", () => {
  expect(new Date(startOfDay(NOW, "UTC", 1)).toISOString()).toBe("2026-11-27T00:00:00.000Z");
});

test.each([
  ["Europe/Berlin", "2026-10-25T12:00:00Z", 0, "2026-10-24T22:00:00.000Z"],
  // The day has 25 hours.
  ["Europe/Berlin", "2026-10-25T12:00:00Z", 1, "2026-10-25T23:00:00.000Z"],
  ["Asia/Kolkata", "2026-11-26T20:00:00Z", 0, "2026-11-26T18:30:00.000Z"],
  ["Pacific/Kiritimati", "2026-11-26T09:59:59Z", 1, "2026-11-26T10:00:00.000Z"],
  // At midnight, Chile's clocks are put forward to one o'clock.
  ["America/Santiago", "2026-09-06T12:00:00Z", 0, "2026-09-06T04:00:00.000Z"],
])("in %s, the day of %s and %d days begins at %s", (zone, now, days, begin) => {
  expect(new Date(startOfDay(Date.parse(now), zone, days)).toISOString()).toBe(begin);
});

test("a time that the clocks skip is the end of the gap, and a time that they show twice is the first", () => {
  const berlin = (wall: string) => new Date(instantOf(Date.parse(wall), "Europe/Berlin"));
  expect(berlin("2027-03-28T02:30:00Z").toISOString()).toBe("2027-03-28T01:00:00.000Z");
  const twice = berlin("2026-10-25T02:30:00Z");
  expect(twice.toISOString()).toBe("2026-10-25T00:30:00.000Z");
  expect(comesTwice(twice.getTime(), "Europe/Berlin")).toBe(true);
  expect(comesTwice(twice.getTime() + 3_600_000, "Europe/Berlin")).toBe(false);
  expect(comesTwice(twice.getTime(), "UTC")).toBe(false);
});
