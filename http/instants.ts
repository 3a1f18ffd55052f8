import * as z from "zod/mini";

const RULE = "must be an instant of ISO 8601 with its zone, such as 2026-03-01T09:30:00.000Z";

/** The last whole minute of 13 digits of milliseconds, which the pool sorts by: a list goes on at a minute's end. */
export const LAST_BOUND = 9_999_999_960_000;

const written = z.iso.datetime({ offset: true, error: RULE });

/**
 * An instant in ms since the epoch. What is finer than a ms counts as one more, or it would be early. Date.parse
 * does not see it: of more than nine digits with zeros in front V8 makes up to a second.
 */
function toMs(text: string): number {
  const [, finer = ""] = /\.\d{3}(\d+)/.exec(text) ?? [];
  return Date.parse(text.replace(/(\.\d{3})\d+/, "$1")) + (/[1-9]/.test(finer) ? 1 : 0);
}

/** Any instant from the year 0 to 9999, in ms since the epoch. */
export const instant = z.pipe(written, z.transform(toMs));

/** A bound of a time range, 1970 to 2286, in ms since the epoch. */
export const bound = z.pipe(
  written,
  z.transform((text: string, context) => {
    const ms = toMs(text);
    if (ms >= 0 && ms <= LAST_BOUND) return ms;
    context.issues.push({ code: "custom", message: "must lie between 1970 and 2286", input: text });
    return z.NEVER;
  }),
);

/** As answers write it: UTC with milliseconds. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
