import { type EmbeddedStack, startEmbeddedStack } from "../../local/embedded-stack.ts";
import { dynamoClient, sqsClient } from "../../src/aws/clients.ts";
import { dynamoPool } from "../../src/aws/pool.ts";
import { type OnRequest, sqsQueues } from "../../src/aws/queues.ts";
import { createContext, type Environment } from "../../src/environment/context.ts";
import type { Context } from "../../src/protocol/ports.ts";
import type { Policy } from "../../src/settings/policy.ts";
import { meterCapacity, type OnCapacity } from "./capacity.ts";
import { type Emulators, type PlainClients, plainClients } from "./plain-clients.ts";
import { observeStarts, type Starts } from "./starts.ts";

export type Rig = {
  readonly stack: EmbeddedStack;
  /** The context of a producer inside AWS. */
  readonly ctx: Context;
  readonly emulators: Emulators;
  readonly plain: PlainClients;
  readonly starts: Starts;
  /** Answers a count, or a tenth of it in a quick run. */
  readonly count: (whole: number) => number;
  readonly rounds: number;
  readonly progress: (line: string) => void;
};

/** Starts the stack with empty emulators in memory. Functions log as they do on AWS, at INFO. */
export async function startRig(quick: boolean, progress: (line: string) => void): Promise<Rig> {
  const starts = observeStarts();
  const stack = await startEmbeddedStack({
    port: 0,
    dataDir: "",
    memory: true,
    environment: { POWERTOOLS_LOG_LEVEL: "INFO" },
    log: starts.read,
    progress,
  });
  const { endpoints, platform } = stack;
  const emulators = { endpoints, region: platform.region, credentials: platform.credentials };
  return {
    stack,
    ctx: createContext(producerEnvironment(stack)),
    emulators,
    plain: plainClients(emulators),
    starts,
    count: (whole) => (quick ? Math.ceil(whole / 10) : whole),
    rounds: quick ? 1 : 3,
    progress,
  };
}

/** Sets the variables of the SDK and Powertools in this process. Answers the variables of Minutehand. */
function producerEnvironment({ endpoints, platform, functions }: EmbeddedStack): Environment {
  const { region, credentials } = platform;
  Object.assign(process.env, {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    // Metrics would be lines on stdout, between those of the table.
    POWERTOOLS_METRICS_DISABLED: "true",
  });
  const environment = functions.find((spec) => spec.environment.MINUTEHAND_TABLE)?.environment;
  if (!environment) throw new Error("the stack has no function of Minutehand's own");
  return environment;
}

export function contextOf(
  { ctx, stack }: Rig,
  own: {
    table: string;
    topics: Policy["topics"];
    clock: () => number;
    onCapacity?: OnCapacity;
    onRequest?: OnRequest;
  },
): Context {
  const { table, topics, clock, onCapacity, onRequest } = own;
  const client = onCapacity ? meterCapacity(dynamoClient(), onCapacity) : dynamoClient();
  return {
    ...ctx,
    clock,
    policy: { ...ctx.policy, topics },
    pool: dynamoPool({ client, table, clock }),
    queues: sqsQueues({
      client: sqsClient(),
      urlPrefix: stack.queueUrlPrefix,
      ...(onRequest && { onRequest }),
    }),
    report: () => {},
  };
}
