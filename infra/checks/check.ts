import { Token } from "aws-cdk-lib";
import type { Check } from "../../src/core/check.ts";
import { durationCheck } from "../../src/settings/form-checks.ts";
import { type AppDuration, insteadOfAppDuration, secondsOf } from "../app-duration.ts";

const DAY_S = 86_400;

export function days(at: string, value: AppDuration | undefined, min: number, max: number): Check {
  const allowed = insteadOfAppDuration(value);
  if (allowed !== undefined) return durationCheck(at, value, allowed);
  const actual = value === undefined ? undefined : secondsOf(value) / DAY_S;
  const holds = actual === undefined || (actual >= min && actual <= max);
  return { holds, rule: `${at} must be days`, actual, allowed: `${min} to ${max} days` };
}

export function shown(value: unknown): string {
  if (Token.isUnresolved(value)) return "a token that only the deployment resolves";
  return typeof value === "string" ? `"${value}"` : (JSON.stringify(value) ?? String(value));
}
