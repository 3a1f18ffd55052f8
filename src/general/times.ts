const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WHOLE = /^(?:\d+(?:ms|[smhd]))+$/;
const PART = /(\d+)(ms|[smhd])/g;

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

const WRITTEN =
  /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const FIRST = Date.parse("0000-01-01T00:00:00.000Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Reads ISO 8601 with a zone, in the years 0 to 9999 of UTC. Rounds fractions of a ms up, so that no job is early. `undefined` for all other
 * text, and for a day that does not exist.
 */
export function parseInstant(text: string): number | undefined {
  if (!WRITTEN.test(text) || !isDay(text.slice(0, 10))) return undefined;
  // V8 misreads more than nine digits with leading zeros, by up to a second.
  const [, finer = ""] = /\.\d{3}(\d+)/.exec(text) ?? [];
  const ms = Date.parse(text.replace(/(\.\d{3})\d+/, "$1")) + (/[1-9]/.test(finer) ? 1 : 0);
  return ms >= FIRST && ms <= LAST ? ms : undefined;
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
