import fc from "fast-check";
import { describe, expect } from "vitest";
import { parseExpression, type Recurrence } from "../../src/cron/expression.ts";
import { property } from "./property.ts";

const FROM = Date.UTC(1990, 0, 1);
const TO = Date.UTC(2100, 0, 1);
const instant = fc.integer({ min: FROM, max: TO });

const value = (lowest: number, highest: number): fc.Arbitrary<string> =>
  fc.integer({ min: lowest, max: highest }).map(String);
const range = (lowest: number, highest: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.integer({ min: lowest, max: highest }), fc.integer({ min: lowest, max: highest }))
    .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
const part = (lowest: number, highest: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constant("*"),
    value(lowest, highest),
    range(lowest, highest),
    fc
      .tuple(
        fc.oneof(fc.constant("*"), value(lowest, highest), range(lowest, highest)),
        value(1, highest - lowest + 1),
      )
      .map((both) => both.join("/")),
  );
const field = (lowest: number, highest: number): fc.Arbitrary<string> =>
  fc.array(part(lowest, highest), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(","));

const dayOfMonth = fc.oneof(
  field(1, 31),
  fc.constantFrom("L", "LW"),
  value(1, 31).map((day) => `${day}W`),
);
const dayOfWeek = fc.oneof(
  value(1, 7),
  range(1, 7),
  fc.constantFrom("*", "L", "MON-FRI", "SUN,WED", "SATL"),
  value(1, 7).map((day) => `${day}L`),
  fc.tuple(value(1, 7), value(1, 5)).map((both) => both.join("#")),
);
const days = fc.oneof(fc.tuple(dayOfMonth, fc.constant("?")), fc.tuple(fc.constant("?"), dayOfWeek));
const cron = fc
  .tuple(field(0, 59), field(0, 23), days, field(1, 12), fc.oneof(fc.constant("*"), field(1970, 2199)))
  .map(
    ([minutes, hours, [dom, dow], months, years]) =>
      `cron(${minutes} ${hours} ${dom} ${months} ${dow} ${years})`,
  );
const rate = fc
  .tuple(
    fc.integer({ min: 1, max: 100_000 }),
    fc.constantFrom("minute", "minutes", "hour", "hours", "day", "days"),
  )
  .map((both) => `rate(${both.join(" ")})`);
const expression = fc.oneof({ weight: 4, arbitrary: cron }, { weight: 1, arbitrary: rate });

const timezone = fc.constantFrom(
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Africa/Casablanca",
  "Antarctica/Troll",
  "Asia/Kathmandu",
);

const ever = (recurrence: Recurrence, after: number): number =>
  recurrence.next(after) ?? Number.POSITIVE_INFINITY;

describe("a recurrence", () => {
  property(
    "has its next time strictly after an instant, on a whole minute",
    [cron, timezone, instant],
    (text, zone, after) => {
      const next = parseExpression(text, { timezone: zone }).next(after);
      expect(next === undefined || (next > after && next % 60_000 === 0)).toBe(true);
    },
  );

  property(
    "has no earlier next time for a later instant, and skips no time between them",
    [expression, timezone, instant, fc.integer({ min: 0, max: 40 * 86_400_000 })],
    (text, zone, after, more) => {
      const recurrence = parseExpression(text, { timezone: zone, anchor: FROM });
      const next = ever(recurrence, after);
      const later = ever(recurrence, after + more);
      expect(later).toBeGreaterThanOrEqual(next);
      if (next > after + more) expect(later).toBe(next);
    },
  );

  property(
    "stays between start and end, and has the same times there as without them",
    [expression, timezone, instant, instant, instant],
    (text, zone, start, end, after) => {
      const free = parseExpression(text, { timezone: zone, anchor: FROM });
      const bound = parseExpression(text, { timezone: zone, anchor: FROM, start, end });
      const next = bound.next(after);
      const unbound = free.next(Math.max(after, start - 1));
      expect(next).toBe(unbound !== undefined && unbound <= end ? unbound : undefined);
    },
  );

  property("has the same times in UTC as without a time zone", [cron, instant], (text, after) => {
    expect(parseExpression(text, { timezone: "UTC" }).next(after)).toBe(parseExpression(text).next(after));
  });

  property(
    "is parsed from any text, or refused with an error that names the text",
    [fc.string({ maxLength: 40 })],
    (text) => {
      for (const written of [text, `cron(${text})`, `rate(${text})`, `at(${text})`]) {
        try {
          parseExpression(written);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          expect((error as RangeError).message).toMatch(/^expression must .*, got /s);
        }
      }
    },
  );
});
