import { LambdaClient } from "@aws-sdk/client-lambda";
import { settings, withoutLogger } from "./clients.ts";

/** Functions load this client only when a topic is paused or resumed, or a tick has a backlog. */
export function lambdaClient(): LambdaClient {
  return withoutLogger(new LambdaClient(settings()));
}

/**
 * For invocations that wait for the function. A running function sends nothing, so that only an `AbortSignal` bounds the time of a call. It
 * makes no second try, because the function may have run.
 */
export function waitingClient(): LambdaClient {
  return withoutLogger(new LambdaClient({ ...settings(0), maxAttempts: 1 }));
}
