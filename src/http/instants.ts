import * as z from "zod/mini";
import { parseInstant } from "../general/times.ts";

const RULE = "must be an ISO 8601 time with a zone, such as 2026-03-01T09:30:00.000Z";

/** The last whole minute of 13 digits: the pool sorts times as text, and a list continues at the end of a minute. */
export const LAST_BOUND = 9_999_999_960_000;

const written = z.iso.datetime({ offset: true, error: RULE });

/** Any instant of the years 0 to 9999, in ms since the epoch. */
export const instant = z.pipe(
  written,
  z.transform((text: string, context) => {
    const ms = parseInstant(text);
    if (ms !== undefined) return ms;
    context.issues.push({ code: "custom", message: "must lie in the years 0 to 9999 of UTC", input: text });
    return z.NEVER;
  }),
);

/** A bound of a range of time, 1970 to 2286, in ms since the epoch. */
export const bound = z.pipe(
  written,
  z.transform((text: string, context) => {
    const ms = parseInstant(text);
    if (ms !== undefined && ms >= 0 && ms <= LAST_BOUND) return ms;
    context.issues.push({ code: "custom", message: "must lie between 1970 and 2286", input: text });
    return z.NEVER;
  }),
);
