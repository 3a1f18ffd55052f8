import { InvokeCommand, type LambdaClient } from "@aws-sdk/client-lambda";
import { tickPartText } from "../core/tick-part.ts";
import type { Sweepers } from "../protocol/ports.ts";
import { unavailable } from "./unknown.ts";

/** The tick's own function, by name or ARN. `most`: how many one tick starts. */
export function lambdaSweepers(settings: {
  client: LambdaClient;
  functionName: string;
  most: number;
  wait: Sweepers["wait"];
}): Sweepers {
  const { client, functionName, most, wait } = settings;
  return {
    most,
    wait,
    async start(part) {
      const command = new InvokeCommand({
        FunctionName: functionName,
        InvocationType: "Event",
        Payload: tickPartText(part),
      });
      try {
        await client.send(command);
      } catch (thrown) {
        throw unavailable(`Lambda did not start ${functionName}`, thrown);
      }
    },
  };
}
