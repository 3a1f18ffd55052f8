import { lambdaClient } from "../aws/clients.ts";
import { lambdaSweepers } from "../aws/sweepers.ts";
import type { Sweepers } from "../protocol/ports.ts";
import { type Environment, requiredVariable } from "./context.ts";

/** How many further invocations a tick starts at most, if no concurrency is reserved for the tick. */
const MOST = 63;

/** Makes the port that starts further invocations of the function in which this code runs. Throws outside a function. */
export function createSweepers(environment: Environment = process.env): Sweepers {
  return lambdaSweepers({
    client: lambdaClient(),
    functionName: requiredVariable(environment, "AWS_LAMBDA_FUNCTION_NAME"),
    most: Number(environment.MINUTEHAND_SWEEPERS ?? MOST),
  });
}
