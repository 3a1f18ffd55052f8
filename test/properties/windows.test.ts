import fc from "fast-check";
import { describe, expect } from "vitest";
import { nextOpening } from "../../src/cron/window.ts";
import { property } from "./property.ts";

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

/** Changes of local clocks: by an hour, by half an hour, at midnight, by a day, and a zone without any change. */
const CHANGES: readonly (readonly [zone: string, at: string])[] = [
  ["America/New_York", "2026-03-08T07:00Z"],
  ["America/New_York", "2026-11-01T06:00Z"],
  ["Europe/Berlin", "2027-03-28T01:00Z"],
  ["Europe/Berlin", "2027-10-31T01:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30Z"],
  ["America/Santiago", "2026-09-06T04:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00Z"],
  ["Asia/Kolkata", "2026-06-01T00:00Z"],
];

const place = fc.constantFrom(...CHANGES);
const around = fc.oneof(
  fc.integer({ min: -2 * DAY, max: 2 * DAY }),
  fc.integer({ min: -150, max: 150 }).map((minutes) => minutes * MINUTE),
);
const minute = fc.oneof(fc.integer({ min: 0, max: 1439 }), fc.integer({ min: 0, max: 240 }));
const ends = fc.tuple(minute, minute).filter(([opens, closes]) => opens !== closes);

const clocks = new Map(
  CHANGES.map(([timeZone]) => [
    timeZone,
    new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
  ]),
);
const written = (minutes: number): string =>
  [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":");

describe("a window's next opening", () => {
  property(
    "is the first time from then on at which the local time lies in the window",
    [place, around, ends],
    ([zone, change], offset, [opens, closes]) => {
      const isOpen = (time: number): boolean => {
        const shown = clocks.get(zone)?.format(time) ?? "";
        const [from, to] = [written(opens), written(closes)];
        return from < to ? from <= shown && shown < to : from <= shown || shown < to;
      };
      const time = Date.parse(change) + offset;
      let expected = time;
      while (!isOpen(expected)) expected += MINUTE - (expected % MINUTE);
      const window = `${written(opens)}-${written(closes)} ${zone}`;
      expect(nextOpening(window, time)).toBe(expected);
      expect(nextOpening(window, expected)).toBe(expected);
    },
  );
});
