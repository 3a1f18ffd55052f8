import { type Duration, Token } from "aws-cdk-lib";
import type { Check } from "../../src/core/check.ts";

export function days(at: string, value: Duration | undefined, min: number, max: number): Check {
  const actual = value?.toDays({ integral: false });
  const holds = actual === undefined || (actual >= min && actual <= max);
  return { holds, rule: `${at} must be days`, actual, allowed: `${min} to ${max} days` };
}

export function shown(value: unknown): string {
  if (Token.isUnresolved(value)) return "a token that only the deployment resolves";
  return typeof value === "string" ? `"${value}"` : (JSON.stringify(value) ?? String(value));
}
