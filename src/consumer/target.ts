import { lambdaInvoke } from "../aws/invoke.ts";
import { waitingClient } from "../aws/lambda-client.ts";
import { createContext, type Environment, requiredVariable } from "../environment/context.ts";
import { TIMERS } from "../environment/process.ts";
import { longestCall, longestTargetRun } from "../settings/target-times.ts";
import { type ConsumerFunction, consumeWith } from "./consume.ts";
import { targetRun } from "./target/run.ts";

/** The consumer of a topic whose jobs another function runs. */
export function targetConsumer(environment: Environment = process.env): ConsumerFunction {
  const ctx = createContext(environment);
  const timeout = Number(requiredVariable(environment, "MINUTEHAND_TARGET_TIMEOUT")) * 1000;
  const invoke = lambdaInvoke(waitingClient(), requiredVariable(environment, "MINUTEHAND_TARGET"));
  const run = targetRun(ctx, { invoke, longest: longestCall(timeout) }, TIMERS.wait);
  return consumeWith(ctx, run, TIMERS, ctx.telemetry.flush, longestTargetRun(timeout));
}
