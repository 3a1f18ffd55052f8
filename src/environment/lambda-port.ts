import type { lambdaClient } from "../aws/lambda-client.ts";
import { onFirstUse } from "../general/on-first-use.ts";

/** Loads Lambda's client at the first call: it is large, and few invocations need it. */
export function lambdaPort<Port>(
  make: (client: ReturnType<typeof lambdaClient>) => Promise<Port>,
): () => Promise<Port> {
  return onFirstUse(async () => make((await import("../aws/lambda-client.ts")).lambdaClient()));
}
