import { Duration as CdkDuration } from "aws-cdk-lib";
import { type Duration, insteadOfDuration, secondsIn } from "../src/general/times.ts";

/** A duration: a number of seconds or text such as `"30m"`, as in the client and the test kit, or a `Duration` of the CDK. */
export type AppDuration = Duration | CdkDuration;

/** Answers what is allowed in place of a value that is no duration. `undefined`: it is one, or there is none. */
export function insteadOfAppDuration(value: unknown): string | undefined {
  return value === undefined || isOfCdk(value) ? undefined : insteadOfDuration(value);
}

/** May have a fraction. NaN for what is no duration. */
export function secondsOf(duration: AppDuration): number {
  return isOfCdk(duration) ? duration.toSeconds({ integral: false }) : secondsIn(duration);
}

export function cdkDurationOf(duration: AppDuration): CdkDuration {
  return isOfCdk(duration) ? duration : CdkDuration.millis(secondsIn(duration) * 1000);
}

/** An app may have a second copy of the CDK, so `instanceof` does not tell. */
export function isOfCdk(value: unknown): value is CdkDuration {
  return typeof (value as Partial<CdkDuration> | null)?.toSeconds === "function";
}
