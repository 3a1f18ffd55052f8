import { LambdaClient } from "@aws-sdk/client-lambda";
import { settings, withoutLogger } from "./clients.ts";

/** Functions load this client only when a topic is paused or resumed, or a tick has a backlog. */
export function lambdaClient(): LambdaClient {
  return withoutLogger(new LambdaClient(settings()));
}
