import { zoneRule } from "./zone-offset.ts";

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WHOLE = /^(?:\d+(?:ms|[smhd]))+$/;
const PART = /(\d+)(ms|[smhd])/g;

type Part<Unit extends string> = `${bigint}${Unit}` | "";
/** Whole numbers with their units, the greatest unit first, such as `"90s"`, `"30m"`, `"1h30m"`, `"7d"` or `"250ms"`. */
export type DurationText = Exclude<`${Part<"d">}${Part<"h">}${Part<"m">}${Part<"s">}${Part<"ms">}`, "">;
/** A duration: a number of seconds, at most a year of them, or text such as `"90s"`, `"30m"`, `"1h30m"` or `"7d"`. */
export type Duration = number | DurationText;

const DURATION_FORM = 'a number of seconds (0 or more), or a text such as "90s", "30m", "1h30m" or "7d"';

/** The most seconds that a program may give as a number: a leap year. A larger number is most likely one of milliseconds. */
const MOST_SECONDS = 366 * 86_400;

/** Answers what is allowed in place of a number that is most likely one of milliseconds. `undefined` for all other values, of any type. */
export function insteadOfMilliseconds(value: unknown): string | undefined {
  if (!(Number.isFinite(value) && Math.abs(value as number) > MOST_SECONDS)) return undefined;
  return `at most ${MOST_SECONDS} as a number, which is seconds (did you mean milliseconds?), or a text with its unit, such as "400d"`;
}

/** Answers what is allowed in place of a value that a program may not give as a duration. `undefined`: it may. */
export function insteadOfDuration(value: unknown): string | undefined {
  const isDuration =
    (typeof value === "number" || typeof value === "string") && parseDuration(value) !== undefined;
  return insteadOfMilliseconds(value) ?? (isDuration ? undefined : DURATION_FORM);
}

/** Reads a duration in seconds. NaN for what is no duration. */
export function secondsIn(duration: Duration): number {
  return (parseDuration(duration) ?? Number.NaN) / 1000;
}

/** Reads a duration in ms: a number of seconds (at least 0), or text such as `"90s"`, `"1h30m"`, `"7d"` or `"250ms"`. */
export function parseDuration(value: number | string): number | undefined {
  if (typeof value === "number") {
    const ms = Math.round(value * 1000);
    return Number.isSafeInteger(ms) && value >= 0 ? ms : undefined;
  }
  if (!WHOLE.test(value)) return undefined;
  let ms = 0;
  for (const [, count, unit] of value.matchAll(PART)) ms += Number(count) * (UNITS[unit ?? ""] ?? Number.NaN);
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** Reads a duration in ms as `parseDuration` does, with a sign if it goes back: `-1800` or `"-30m"`. */
export function parseShift(value: number | string): number | undefined {
  if (typeof value === "number") return value < 0 ? negated(parseDuration(-value)) : parseDuration(value);
  return value.startsWith("-") ? negated(parseDuration(value.slice(1))) : parseDuration(value);
}

const negated = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : -ms);

/**
 * ISO 8601 as programming languages print it: without seconds or with any fraction of a second, with `Z` or a numeric offset. Java and
 * JavaScript append the zone and the calendar in brackets (RFC 9557).
 */
export const INSTANT_PATTERN =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?(?:[Zz]|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)(?:\[!?([\w./+:-]{1,80})\])?(?:\[!?u-ca=([\w-]{1,80})\])?$/;
const FIRST = Date.parse("0000-01-01T00:00:00.000Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

const FORM =
  "must be a time with its offset from UTC, yyyy-mm-ddThh:mm:ss followed by Z or an offset, such as 2026-03-01T09:30:00Z, 2026-03-01T10:30:00+01:00 or 2026-03-01T10:30:00+01:00[Europe/Paris]";
const EXISTS = "must be a time that exists, in the years 0 to 9999 of UTC";

/**
 * Reads ISO 8601 with an offset, in the years 0 to 9999 of UTC. Rounds fractions of a ms up, so that no job is early. `undefined` for all other
 * text, for a day that does not exist, and for an offset that the zone in brackets does not have then.
 */
export function parseInstant(text: string): number | undefined {
  const read = readInstant(text);
  return typeof read === "number" ? read : undefined;
}

/** Answers the rule that text breaks if `parseInstant` does not read it. */
export function instantRule(text: string): string {
  const read = readInstant(text);
  return typeof read === "string" ? read : FORM;
}

/** Answers the instant, or the rule that the text breaks. */
function readInstant(text: string): number | string {
  const [whole, date = "", minute, second = "00", fraction = "", hours, minutes = "00", zone, calendar] =
    INSTANT_PATTERN.exec(text) ?? [];
  if (whole === undefined) return FORM;
  if (!isDay(date)) return EXISTS;
  const offset = hours === undefined ? "Z" : `${hours}:${minutes}`;
  // Date.parse would drop the digits after the third, and V8 misreads more than nine digits with leading zeros by up to a second.
  const ms = fraction.slice(0, 3).padEnd(3, "0");
  const later = /[1-9]/.test(fraction.slice(3)) ? 1 : 0;
  const instant = Date.parse(`${date}T${minute}:${second}.${ms}${offset}`) + later;
  if (instant < FIRST || instant > LAST) return EXISTS;
  if (calendar !== undefined && calendar !== "iso8601")
    return `must be in the calendar iso8601, got ${JSON.stringify(calendar)}`;
  return (zone === undefined ? undefined : zoneRule(zone, offset, instant)) ?? instant;
}

/** Date.parse reads the 30th of February as the 2nd of March. */
function isDay(date: string): boolean {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(date);
}

/** Writes ISO 8601 in UTC with milliseconds. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
