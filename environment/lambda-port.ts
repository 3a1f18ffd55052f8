import type { lambdaClient } from "../aws/lambda-client.ts";
import { onFirstUse } from "../general/on-first-use.ts";

/**
 * Makes a function that answers a port on Lambda's API. Its first call loads Lambda's client, and `make` makes the port. The client is
 * large, and few invocations need it: few topics are ever paused, and few ticks have a backlog.
 */
export function lambdaPort<Port>(
  make: (client: ReturnType<typeof lambdaClient>) => Promise<Port>,
): () => Promise<Port> {
  return onFirstUse(async () => make((await import("../aws/lambda-client.ts")).lambdaClient()));
}
