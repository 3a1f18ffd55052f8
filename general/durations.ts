const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WHOLE = /^(?:\d+(?:ms|[smhd]))+$/;
const PART = /(\d+)(ms|[smhd])/g;

/**
 * Converts a duration to ms: a number of seconds (at least 0, rounded to the ms), or text such as `"90s"`, `"1h30m"`, `"7d"` or
 * `"250ms"`. `undefined` for all other values.
 */
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
