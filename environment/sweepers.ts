import type { Sweepers } from "../protocol/ports.ts";
import { type Environment, requiredVariable } from "./context.ts";

/** How many further invocations a tick starts at most, if no concurrency is reserved for the tick. */
export const MOST_SWEEPERS = 63;

/** Makes the port that starts further invocations of the function in which this code runs. Throws outside a function. */
export function createSweepers(environment: Environment = process.env): Sweepers {
  const functionName = requiredVariable(environment, "AWS_LAMBDA_FUNCTION_NAME");
  const most = Number(environment.MINUTEHAND_SWEEPERS ?? MOST_SWEEPERS);
  let sweepers: Promise<Sweepers> | undefined;
  return {
    most,
    async start(part) {
      sweepers ??= load(functionName, most);
      await (await sweepers).start(part);
    },
  };
}

/** Loads Lambda's client on first use. The client is large, and few ticks have a backlog. */
async function load(functionName: string, most: number): Promise<Sweepers> {
  const [{ lambdaClient }, { lambdaSweepers }] = await Promise.all([
    import("../aws/lambda-client.ts"),
    import("../aws/sweepers.ts"),
  ]);
  return lambdaSweepers({ client: lambdaClient(), functionName, most });
}
