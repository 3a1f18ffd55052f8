import * as z from "zod/mini";
import { INSTANT_PATTERN, instantRule, parseInstant } from "../general/times.ts";

/** The last whole minute of 13 digits: the pool sorts times as text, and a list continues at the end of a minute. */
export const LAST_BOUND = 9_999_999_960_000;

const BOUND_RULE = "must lie between 1970 and 2286";

/** The rule for who gives a number, as the clocks of most languages answer it. */
const NUMBER_RULE = "must be a text such as 2026-03-01T09:30:00Z (in JavaScript, new Date(…) becomes one)";

/** Any instant of the years 0 to 9999, in ms since the epoch. */
export const instant = instantWithin(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, "");

/** A bound of a range of time, 1970 to 2286, in ms since the epoch. */
export const bound = instantWithin(0, LAST_BOUND, BOUND_RULE);

/** Such a bound in a query string. */
export const queriedBound = instantWithin(0, LAST_BOUND, BOUND_RULE, hintOf);

/** `rule`: the error text for an instant that is not between `least` and `most`. `hint`: the end of the error text for other text. */
function instantWithin(least: number, most: number, rule: string, hint: (text: string) => string = () => "") {
  return z.pipe(
    z
      .string({ error: ({ input }) => (typeof input === "number" ? NUMBER_RULE : instantRule("")) })
      .check(z.meta({ format: "date-time", pattern: INSTANT_PATTERN.source })),
    z.transform((text: string, context) => {
      const ms = parseInstant(text);
      if (ms !== undefined && ms >= least && ms <= most) return ms;
      context.issues.push({
        code: "custom",
        message: ms === undefined ? `${instantRule(text)}${hint(text)}` : rule,
        input: text,
      });
      return z.NEVER;
    }),
  );
}

/** In a query string, `+` means a space. */
function hintOf(text: string): string {
  const offset = / \d\d(?::?\d\d)?$/.exec(text);
  return offset && text.slice(0, offset.index).includes(":") ? "; in a URL, write + as %2B" : "";
}
