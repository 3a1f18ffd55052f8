import { MOST_SWEEPERS } from "../core/constants.ts";
import type { Sweepers } from "../protocol/ports.ts";
import { type Environment, requiredVariable } from "./context.ts";
import { lambdaPort } from "./lambda-port.ts";
import { TIMERS } from "./process.ts";

/** Throws outside a function. */
export function createSweepers(environment: Environment = process.env): Sweepers {
  const functionName = requiredVariable(environment, "AWS_LAMBDA_FUNCTION_NAME");
  const most = Number(environment.MINUTEHAND_SWEEPERS ?? MOST_SWEEPERS);
  const { wait } = TIMERS;
  const sweepers = lambdaPort(async (client) => {
    const { lambdaSweepers } = await import("../aws/sweepers.ts");
    return lambdaSweepers({ client, functionName, most, wait });
  });
  return {
    most,
    wait,
    async start(part) {
      await (await sweepers()).start(part);
    },
  };
}
