import { LONGEST_DELAY } from "./constants.ts";
import { UNTRACKED_JOBS } from "./errors.ts";

export type Check = {
  readonly holds: boolean;
  readonly rule: string;
  readonly actual: unknown;
  readonly allowed: string;
};

/** The bound holds for a delay too, in seconds. */
export const LONGEST_WAIT_S = LONGEST_DELAY / 1000;

/** Answers one line for each broken rule. `shown` converts a value to text. */
export function brokenIn(checks: readonly Check[], shown: (value: unknown) => string): string[] {
  const broken = checks.filter(({ holds }) => !holds);
  return broken.map(({ rule, actual, allowed }) => `${rule}, is ${shown(actual)}; allowed: ${allowed}`);
}

export function wholeNumber(at: string, actual: number | undefined, min: number, max: number): Check {
  const holds = actual === undefined || isWholeIn(actual, min, max);
  const form = Number.isSafeInteger(actual) ? undefined : "a whole number";
  return {
    holds,
    rule: `${at} must be ${form ?? bound(actual, min, max)}`,
    actual,
    allowed: `${min} to ${max}`,
  };
}

export function wholeNumberOrFalse(
  at: string,
  actual: number | false | undefined,
  min: number,
  max: number,
): Check {
  const check = wholeNumber(at, actual === false ? undefined : actual, min, max);
  return { ...check, actual, allowed: `${check.allowed}, or false` };
}

/** `form`: what the value must be. */
export function number(
  at: string,
  actual: unknown,
  min: number,
  max: number,
  form: "a number" | "a duration" = "a number",
): Check {
  // A caller in plain JavaScript may pass null or text, which compare as numbers. A token of the CDK is a number, but no safe one.
  const isNumber = typeof actual === "number" && Math.abs(actual) <= Number.MAX_SAFE_INTEGER;
  return {
    holds: isNumber && actual >= min && actual <= max,
    rule: `${at} must be ${isNumber ? bound(actual, min, max, form === "a duration" ? " s" : "") : form}`,
    actual,
    allowed: `${min} to ${max}${form === "a duration" ? " seconds" : ""}`,
  };
}

export function wholeSeconds(at: string, actual: number | undefined, min: number, max: number): Check {
  const holds = actual === undefined || isWholeIn(actual, min, max);
  const form = Number.isSafeInteger(actual) ? undefined : "whole seconds";
  const rule = `${at} must be ${form ?? bound(actual, min, max, " s")}`;
  return { holds, rule, actual, allowed: `${min} to ${max} seconds` };
}

/** The bound that a number breaks. */
function bound(actual: number | undefined, min: number, max: number, unit = ""): string {
  return Number(actual) < min ? `at least ${min}${unit}` : `at most ${max}${unit}`;
}

function isWholeIn(actual: number, min: number, max: number): boolean {
  return Number.isInteger(actual) && actual >= min && actual <= max;
}

/**
 * Throws a `RangeError` for a value that is not a whole number of a range. Such a value is a bug of the caller, not an outcome of
 * the call.
 */
export function assertWhole(name: string, value: number, least: number, most: number): void {
  if (!isWholeIn(value, least, most))
    throw new RangeError(`${name} must be a whole number from ${least} to ${most}, not ${value}`);
}

export function oneOf(at: string, actual: string | undefined, allowed: readonly string[]): Check {
  const holds = actual === undefined || allowed.includes(actual);
  return { holds, rule: `${at} must be one of the allowed values`, actual, allowed: allowed.join(" or ") };
}

export function onlyFor(whom: string, fits: boolean, at: string, value: unknown): Check {
  return {
    holds: fits || value === undefined,
    rule: `${at} is allowed for ${whom} only`,
    actual: value,
    allowed: "nothing here",
  };
}

export function trackedOnly(at: string, value: unknown, tracking: string | undefined): Check {
  const holds = value === undefined || tracking !== "none";
  return {
    holds,
    rule: `${at} needs a tracked topic: ${UNTRACKED_JOBS}`,
    actual: tracking,
    allowed: 'tracking "full"',
  };
}
