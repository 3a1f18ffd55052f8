import fc from "fast-check";
import { Temporal } from "temporal-polyfill";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { type Backoff, backoffMs } from "../../src/core/backoff.ts";
import {
  BUCKET,
  DAY,
  LONGEST_DELAY,
  LONGEST_HIDE,
  MOST_ATTEMPTS,
  RELEASE_EARLY,
  SQS_MAX_DELAY,
} from "../../src/core/constants.ts";
import { lookAgainAt, onGrid } from "../../src/core/look-again.ts";
import { delaySecondsOf, hideSecondsOf } from "../../src/core/packs.ts";
import { iso, parseDuration, parseInstant } from "../../src/general/times.ts";
import { zoneNames } from "../../src/general/zone-names.ts";
import { instant } from "../../src/http/instants.ts";
import { attemptsOf } from "../../src/settings/policy.ts";
import { anyText, NOW, time } from "./kinds.ts";
import { property } from "./property.ts";

// Doubles of any size would mostly be close to 0.
const fraction = (most: number, steps: number): fc.Arbitrary<number> =>
  fc.nat(most * steps).map((parts) => parts / steps);

const MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: DAY };
const part = fc.tuple(fc.nat(100_000), fc.constantFrom("ms", "s", "m", "h", "d"));

describe("a duration", () => {
  property("is the sum of its parts", [fc.array(part, { minLength: 1, maxLength: 6 })], (parts) => {
    const sum = parts.reduce((ms, [count, unit]) => ms + count * MS[unit], 0);
    expect(parseDuration(parts.map(([count, unit]) => `${count}${unit}`).join(""))).toBe(sum);
  });

  property(
    "of a number is its seconds to the nearest ms",
    [fc.oneof(fraction(100_000, 10_000), fc.double({ min: 0, max: 1e9, noNaN: true }))],
    (seconds) => {
      const ms = parseDuration(seconds);
      expect(Number.isInteger(ms)).toBe(true);
      expect(Math.abs((ms ?? Number.NaN) - seconds * 1000)).toBeLessThanOrEqual(0.5);
    },
  );

  property("of whole seconds is the same as a number and as text", [fc.nat()], (seconds) => {
    expect(parseDuration(seconds)).toBe(parseDuration(`${seconds}s`));
  });

  const written = fc.oneof(
    fc.double(),
    fc.string({ maxLength: 8 }),
    fc.stringMatching(/^[0-9dhms. -]{1,40}$/),
    fc.stringMatching(/^(?:\d{1,30}(?:ms|[smhd])){1,3}$/),
  );
  property("is a whole number of ms that a double holds, or nothing", [written], (value) => {
    const ms = parseDuration(value);
    expect(ms === undefined || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true);
    if (typeof value === "string" && !/^(?:\d+(?:ms|[smhd]))+$/.test(value)) expect(ms).toBeUndefined();
  });

  const huge = fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 20n }), fc.constantFrom("ms", "s", "m", "h", "d"));
  property(
    "is exact to the last ms, or refused",
    [fc.array(huge, { minLength: 1, maxLength: 3 })],
    (parts) => {
      const sum = parts.reduce((ms, [count, unit]) => ms + count * BigInt(MS[unit]), 0n);
      const ms = parseDuration(parts.map(([count, unit]) => `${count}${unit}`).join(""));
      expect(ms).toBe(sum <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(sum) : undefined);
    },
  );
});

/** All backoffs that `infra/checks/validate.ts` allows. */
const wait = fc.oneof(fraction(100, 10_000), fraction(LONGEST_DELAY / 1000, 1));
const ladder = fc
  .integer({ min: 1, max: 100 })
  .chain((steps) => fc.record({ waits: fc.array(wait, { minLength: steps, maxLength: steps }) }));
const exponential = fc
  .record({
    initial: wait,
    factor: fraction(99, 100).map((above) => 1 + above),
    above: wait,
    jitter: fraction(1, 100),
  })
  .map(({ above, ...rest }) => ({ ...rest, max: Math.max(above, rest.initial) }));
const backoff: fc.Arbitrary<Backoff> = fc.oneof(ladder, exponential);
const attempt = fc.integer({ min: 1, max: MOST_ATTEMPTS });
const random = fc.nat(255).map((byte) => byte / 256);

describe("a backoff", () => {
  property(
    "waits whole ms, at least 0, and at most its longest wait",
    [backoff, attempt, random],
    (policy, n, drawn) => {
      const ms = backoffMs(policy, n, drawn);
      expect(Number.isSafeInteger(ms)).toBe(true);
      expect(ms).toBeGreaterThanOrEqual(0);
      const longest = "waits" in policy ? Math.max(...policy.waits) : policy.max;
      expect(ms).toBeLessThanOrEqual(Math.round(longest * 1000));
    },
  );

  property(
    "with a list of waits takes them in turn and repeats the last",
    [ladder, attempt, random],
    (policy, n, drawn) => {
      const step = policy.waits[n - 1] ?? policy.waits.at(-1) ?? Number.NaN;
      expect(backoffMs(policy, n, drawn)).toBe(Math.round(step * 1000));
    },
  );

  property(
    "without jitter never becomes shorter, up to its cap",
    [exponential, attempt, random],
    (policy, n, drawn) => {
      const steady = { ...policy, jitter: 0 };
      const [first, one, next, last] = [1, n, n + 1, 10_000].map((at) => backoffMs(steady, at, drawn));
      expect(first).toBe(Math.round(policy.initial * 1000));
      expect(next).toBeGreaterThanOrEqual(one ?? 0);
      if (policy.initial > 0.001 && policy.factor > 1.01) expect(last).toBe(Math.round(policy.max * 1000));
    },
  );

  property("grows by its factor below its cap", [exponential, attempt], (policy, n) => {
    const steady = { ...policy, max: Number.MAX_VALUE, jitter: 0 };
    const [one = 0, next = 0] = [n, n + 1].map((at) => backoffMs(steady, at, 0));
    fc.pre(one > 1e6 && next < Number.MAX_SAFE_INTEGER);
    expect(next / one / policy.factor).toBeCloseTo(1, 4);
  });

  property(
    "is shortened at most by its share of jitter",
    [exponential, attempt, random],
    (policy, n, drawn) => {
      const full = backoffMs({ ...policy, jitter: 0 }, n, drawn);
      const jittered = backoffMs(policy, n, drawn);
      expect(jittered).toBeLessThanOrEqual(full);
      expect(jittered).toBeGreaterThanOrEqual(Math.floor(full * (1 - policy.jitter)) - 1);
      expect(Math.abs(full - jittered - full * policy.jitter * drawn)).toBeLessThanOrEqual(1);
    },
  );

  property("allows as many attempts as a policy may have", [backoff], (policy) => {
    const attempts = attemptsOf(policy);
    expect(attempts).toBeGreaterThanOrEqual(1);
    expect(attempts).toBeLessThanOrEqual(MOST_ATTEMPTS);
    if ("waits" in policy && policy.waits.length < MOST_ATTEMPTS)
      expect(attempts).toBe(policy.waits.length + 1);
  });
});

const ID = "01KABCDEF0123x9z4q7";

describe("a second look", () => {
  const from = fc.integer({ min: NOW, max: NOW + 10 * DAY });
  const wait = fc.oneof(
    fc.integer({ min: 1, max: 90 * DAY }),
    fc.constantFrom(60_000, 240_000, 480_000, 3_600_000, 4 * 3_600_000, DAY),
  );

  property("comes after the wait, and at most a quarter of it or a minute later", [from, wait], (at, ms) => {
    const late = lookAgainAt(ID, at, ms) - at - ms;
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(Math.max(ms / 4 + 1, BUCKET));
  });

  property(
    "is at one of the job's own times, and the times for long waits are also times for short waits",
    [from, wait, fc.nat(12)],
    (at, ms, k) => {
      const onFinest = lookAgainAt(ID, NOW, 1);
      expect((lookAgainAt(ID, at, ms) - onFinest) % BUCKET).toBe(0);
      const coarse = onGrid(ID, at, BUCKET * 2 ** k);
      expect(onGrid(ID, coarse, BUCKET)).toBe(coarse);
    },
  );

  property(
    "never comes before the second look of an earlier reader",
    [from, wait, fc.nat(DAY)],
    (at, ms, later) => {
      expect(lookAgainAt(ID, at + later, ms)).toBeGreaterThanOrEqual(lookAgainAt(ID, at, ms));
    },
  );

  property(
    "is at one of two times for all readers within an eighth of the wait",
    [from, wait, fc.array(fraction(1, 1000), { minLength: 3 })],
    (at, ms, parts) => {
      const looks = parts.map((part) => lookAgainAt(ID, at + Math.floor((part * ms) / 8), ms));
      expect(new Set(looks).size).toBeLessThanOrEqual(2);
    },
  );
});

describe("a message", () => {
  const left = fc.integer({ min: -SQS_MAX_DELAY, max: SQS_MAX_DELAY });

  property(
    "with precision `second` is never visible early, and less than a second late",
    [time, left],
    (now, ms) => {
      const seconds = delaySecondsOf(now + ms, now, "second");
      expect(Number.isInteger(seconds) && seconds >= 0).toBe(true);
      expect(seconds * 1000).toBeGreaterThanOrEqual(ms);
      expect(seconds * 1000).toBeLessThan(Math.max(ms, 0) + 1000);
    },
  );

  property(
    "with precision `millisecond` is visible 0.2 to 1.2 s early, if there is time",
    [time, left],
    (now, ms) => {
      const seconds = delaySecondsOf(now + ms, now, "millisecond");
      expect(Number.isInteger(seconds) && seconds >= 0).toBe(true);
      const early = ms - seconds * 1000;
      expect(early).toBeLessThan(1000 + RELEASE_EARLY);
      if (seconds > 0) expect(early).toBeGreaterThanOrEqual(RELEASE_EARLY);
    },
  );

  const any = fc.constantFrom("second" as const, "millisecond" as const);
  property("has a delay that SQS accepts", [time, time, any], (dueAt, now, precision) => {
    const seconds = delaySecondsOf(dueAt, now, precision);
    expect(Number.isInteger(seconds) && seconds >= 0 && seconds <= 900).toBe(true);
  });

  const hidden = fc.integer({ min: -DAY, max: 2 * DAY });
  property("is hidden for whole seconds, and for as long as asked if SQS allows it", [hidden], (ms) => {
    const seconds = hideSecondsOf(ms);
    expect(Number.isInteger(seconds) && seconds >= 0 && seconds <= 43_200).toBe(true);
    expect(seconds * 1000).toBeGreaterThanOrEqual(Math.min(ms, LONGEST_HIDE));
    expect(seconds * 1000).toBeLessThan(Math.max(ms, 0) + 1000);
  });
});

/** Text of instants. Some is not an instant, because a day, an hour or an offset does not exist. */
const mostlyInstant = fc
  .tuple(
    ...[9999, 13, 32, 25, 61, 61, 999, 25, 61].map((most) => fc.nat(most)),
    fc.constantFrom("Z", "+", "-"),
    fc.constantFrom("T", "t", " "),
  )
  .map(([year, month, day, hour, minute, second, ms, offset, more, sign, t]) => {
    const pad = (value: unknown, digits = 2): string => String(value).padStart(digits, "0");
    const zone = sign === "Z" ? "Z" : `${sign}${pad(offset)}:${pad(more)}`;
    const clock = `${pad(hour)}:${pad(minute)}:${pad(second)}.${pad(ms, 3)}`;
    return `${pad(year, 4)}-${pad(month)}-${pad(day)}${t}${clock}${zone}`;
  });

/** As programming languages print times, with and without seconds and their fraction. */
const printedInstant = fc
  .tuple(
    fc.integer({ min: Date.parse("0001-01-02T00:00Z"), max: Date.parse("9999-12-30T00:00Z") }),
    fc.constantFrom("T", "t", " "),
    fc.integer({ min: 0, max: 9 }),
    fc.stringMatching(/^[.,]\d{1,9}$/),
    fc.constantFrom("Z", "z", "+00:00", "-00:00", "+0000", "+01", "-05:30", "+0545", "+23:59", "-2359"),
  )
  .map(([at, separator, shape, fraction, zone]) => {
    const [date = "", clock = ""] = iso(at).split("T");
    const digits = [5, 8, 8][shape % 3];
    return `${date}${separator}${clock.slice(0, digits)}${shape % 3 === 2 ? fraction : ""}${zone}`;
  });

function temporalInstant(text: string): number | undefined {
  if (/:60/.test(text)) return undefined;
  try {
    const { epochNanoseconds } = Temporal.Instant.from(text);
    return Number(-(-epochNanoseconds / 1_000_000n)) + (epochNanoseconds % 1_000_000n > 0n ? 1 : 0);
  } catch {
    return undefined;
  }
}

describe("an instant", () => {
  test.each([
    ["Java's Instant", "2030-01-02T08:00:00.123456789Z", "2030-01-02T08:00:00.124Z"],
    ["Java's OffsetDateTime without seconds", "2030-01-02T09:00+01:00", "2030-01-02T08:00:00.000Z"],
    ["Java's ZonedDateTime in UTC", "2030-01-02T08:00Z", "2030-01-02T08:00:00.000Z"],
    ["Python's isoformat", "2030-01-02T08:00:00.123456+00:00", "2030-01-02T08:00:00.124Z"],
    ["Python's str", "2030-01-02 08:00:00+00:00", "2030-01-02T08:00:00.000Z"],
    ["Python's strftime with %z", "2030-01-02T09:00:00+0100", "2030-01-02T08:00:00.000Z"],
    ["PHP's DATE_ATOM", "2030-01-02T09:00:00+01:00", "2030-01-02T08:00:00.000Z"],
    ["PHP's DATE_ISO8601", "2030-01-02T08:00:00+0000", "2030-01-02T08:00:00.000Z"],
    ["Go's RFC3339Nano", "2030-01-02T09:00:00.1+01:00", "2030-01-02T08:00:00.100Z"],
    ["C#'s O", "2030-01-02T08:00:00.1234567Z", "2030-01-02T08:00:00.124Z"],
    ["C#'s O of a DateTimeOffset", "2030-01-02T09:00:00.0000000+01:00", "2030-01-02T08:00:00.000Z"],
    ["C#'s u", "2030-01-02 08:00:00Z", "2030-01-02T08:00:00.000Z"],
    ["JavaScript", "2030-01-02T08:00:00.000Z", "2030-01-02T08:00:00.000Z"],
    ["PostgreSQL", "2030-01-02 09:00:00.5+01", "2030-01-02T08:00:00.500Z"],
    ["GNU date", "2030-01-02T09:00:00,123456789+01:00", "2030-01-02T08:00:00.124Z"],
    ["RFC 3339 in small letters", "2030-01-02t08:00:00z", "2030-01-02T08:00:00.000Z"],
    ["Java's ZonedDateTime", "2030-01-02T09:00+01:00[Europe/Paris]", "2030-01-02T08:00:00.000Z"],
    ["Java's ZonedDateTime of UTC", "2030-01-02T08:00Z[UTC]", "2030-01-02T08:00:00.000Z"],
    [
      "Java's ZonedDateTime of London in winter",
      "2030-01-02T08:00Z[Europe/London]",
      "2030-01-02T08:00:00.000Z",
    ],
    ["Java's ZonedDateTime of an offset", "2030-01-02T09:00+01:00[UTC+01:00]", "2030-01-02T08:00:00.000Z"],
    ["Temporal.ZonedDateTime", "2030-01-02T09:00:00+01:00[Europe/Paris]", "2030-01-02T08:00:00.000Z"],
    ["Temporal's offset as a zone", "2030-01-02T09:00:00+01:00[+01:00]", "2030-01-02T08:00:00.000Z"],
    ["a zone that must be known", "2030-01-02T09:00:00+01:00[!Europe/Paris]", "2030-01-02T08:00:00.000Z"],
    [
      "Temporal's calendar",
      "2030-01-02T09:00:00+01:00[Europe/Paris][u-ca=iso8601]",
      "2030-01-02T08:00:00.000Z",
    ],
    ["a calendar alone", "2030-01-02T08:00:00Z[!u-ca=iso8601]", "2030-01-02T08:00:00.000Z"],
    ["an older name of a zone", "2030-01-02T13:30:00+05:30[Asia/Calcutta]", "2030-01-02T08:00:00.000Z"],
    ["Z in any zone, by RFC 9557", "2030-01-02T08:00:00Z[Europe/Paris]", "2030-01-02T08:00:00.000Z"],
    ["the first hour that comes twice", "2030-10-27T02:30+02:00[Europe/Paris]", "2030-10-27T00:30:00.000Z"],
    ["the second hour", "2030-10-27T02:30+01:00[Europe/Paris]", "2030-10-27T01:30:00.000Z"],
  ])("of %s is read: %s", (_, text, expected) => {
    expect(iso(parseInstant(text) ?? Number.NaN)).toBe(expected);
    expect(z.parse(instant, text)).toBe(Date.parse(expected));
  });

  const FORM =
    /^must be a time with its offset from UTC, yyyy-mm-ddThh:mm:ss followed by Z or an offset, such as .*\+01:00\[Europe\/Paris\]$/;
  const EXISTS = /^must be a time that exists, in the years 0 to 9999 of UTC$/;
  test.each([
    ["C#'s s, without a zone", "2030-01-02T09:00:00", FORM],
    ["Python's isoformat without a zone", "2030-01-02T09:00:00.123456", FORM],
    ["a day alone", "2030-01-02", FORM],
    ["a zone without an offset", "2030-01-02T09:00[Europe/Paris]", FORM],
    ["Ruby's to_s", "2030-01-02 09:00:00 +0100", FORM],
    ["Go's String", "2030-01-02 09:00:00 +0100 CET", FORM],
    ["an unknown suffix", "2030-01-02T09:00:00+01:00[x-own=1]", FORM],
    ["two zones", "2030-01-02T09:00:00+01:00[Europe/Paris][Europe/Paris]", FORM],
    ["an endless name", `2030-01-02T09:00:00+01:00[${"a".repeat(100)}]`, FORM],
    [
      "an offset that the zone does not have then",
      "2030-07-02T09:00+01:00[Europe/Paris]",
      /^must have the offset of its zone: Europe\/Paris has \+02:00 then, not \+01:00$/,
    ],
    [
      "an offset in a clock's gap",
      "2030-03-31T02:30+01:00[Europe/Paris]",
      /^must have the offset of its zone: Europe\/Paris has \+02:00 then, not \+01:00$/,
    ],
    [
      "another offset as the zone",
      "2030-01-02T09:00-0130[+01:00]",
      /^must have the offset of its zone: \+01:00 has \+01:00 then, not -01:30$/,
    ],
    [
      "a zone that is not known",
      "2030-01-02T09:00+01:00[Europe/Pariss]",
      /^must have an IANA name or an offset as its zone, got "Europe\/Pariss"$/,
    ],
    [
      "an abbreviation",
      "2030-01-02T09:00Z[XYZT]",
      /^must have an IANA name or an offset as its zone, got "XYZT"$/,
    ],
    [
      "another calendar",
      "2030-01-02T09:00+01:00[Europe/Paris][u-ca=hebrew]",
      /^must be in the calendar iso8601, got "hebrew"$/,
    ],
    ["a + that a URL turned into a space", "2030-01-02T09:00:00 01:00", FORM],
    ["an HTTP date", "Wed, 02 Jan 2030 09:00:00 GMT", FORM],
    ["the basic format", "20300102T090000Z", FORM],
    ["an extended year", "+012030-01-02T09:00:00Z", FORM],
    ["a number", "1893574800000", FORM],
    ["a leap second", "2030-06-30T23:59:60Z", FORM],
    ["the hour 24", "2030-01-02T24:00:00Z", FORM],
    ["an offset of a day", "2030-01-02T09:00:00+24:00", FORM],
    ["the 29th of February", "2030-02-29T09:00:00Z", EXISTS],
    ["a time after the year 9999", "9999-12-31T23:59:59.9991Z", EXISTS],
  ])("is refused with the exact form: %s", (_, text, rule) => {
    expect(parseInstant(text)).toBeUndefined();
    expect(z.safeParse(instant, text).error?.issues[0]?.message).toMatch(rule);
  });

  const second = fc.integer({
    min: Date.parse("0001-01-02T00:00Z") / 1000,
    max: Date.parse("9999-12-30T00:00Z") / 1000,
  });
  const minutes = fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 });
  const two = (value: number): string => String(value).padStart(2, "0");
  const offsetText = (value: number): string =>
    `${value < 0 ? "-" : "+"}${two(Math.floor(Math.abs(value) / 60))}:${two(Math.abs(value) % 60)}`;

  property(
    "is never read early, and less than a ms late",
    [second, minutes, fc.stringMatching(/^\d{0,12}$/)],
    (at, offset, fraction) => {
      const local = new Date((at + offset * 60) * 1000).toISOString().slice(0, 19);
      const text = `${local}${fraction && `.${fraction}`}${offsetText(offset)}`;
      const picoseconds = BigInt(fraction.padEnd(12, "0"));
      const ms = BigInt(at) * 1000n + (picoseconds + 999_999_999n) / 1_000_000_000n;
      expect(BigInt(z.parse(instant, text))).toBe(ms);
    },
  );

  property("lies in the years 0 to 9999 of UTC, or is none", [minutes, fc.boolean()], (offset, isFirst) => {
    const local = isFirst ? "0000-01-01T00:00:00.000" : "9999-12-31T23:59:59.999";
    const isInside = isFirst ? offset <= 0 : offset >= 0;
    expect(z.safeParse(instant, `${local}${offsetText(offset)}`).success).toBe(isInside);
    expect(z.safeParse(instant, "9999-12-31T23:59:59.9991Z").success).toBe(false);
  });

  // Temporal also reads the basic format, hours alone, a leap second, extended years and names of zones, and it rounds down.
  property("is read as the library Temporal reads it", [fc.oneof(printedInstant, mostlyInstant)], (text) => {
    expect(parseInstant(text)).toBe(temporalInstant(text));
  });

  const zone = fc.constantFrom(...zoneNames()).filter((name) => name !== "Factory");
  property("of a zone is read as the library Temporal prints it", [time, zone], (at, name) => {
    const zoned = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(name);
    expect(parseInstant(zoned.toString())).toBe(at);
    expect(parseInstant(zoned.toString({ smallestUnit: "minute", calendarName: "critical" }))).toBe(
      at - (at % 60_000),
    );
  });

  const offset = fc.constantFrom("+00:00", "+01:00", "-05:00", "+05:30", "-03:30", "+14:00");
  property(
    "of a zone is read if Temporal does not refuse its offset",
    [time, offset, zone],
    (at, to, name) => {
      const text = `${iso(at).slice(0, -1)}${to}[${name}]`;
      const isRight = (() => {
        try {
          return Temporal.ZonedDateTime.from(text, { offset: "reject" }).epochMilliseconds;
        } catch {
          return undefined;
        }
      })();
      expect(parseInstant(text)).toBe(isRight);
    },
  );

  property("is read for HTTP as for all others", [fc.oneof(anyText, mostlyInstant)], (text) => {
    const read = z.safeParse(instant, text);
    expect(parseInstant(text)).toBe(read.success ? read.data : undefined);
  });

  property("comes back as it was answered", [time], (at) => {
    expect(z.parse(instant, iso(at))).toBe(at);
  });
});
