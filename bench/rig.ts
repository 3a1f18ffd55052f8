import type { OnCapacity } from "../aws/capacity.ts";
import { dynamoClient, sqsClient } from "../aws/clients.ts";
import { dynamoPool } from "../aws/pool.ts";
import { type OnRequest, sqsQueues } from "../aws/queues.ts";
import type { Policy } from "../core/policy.ts";
import { createContext, type Environment } from "../environment/context.ts";
import { type EmbeddedStack, startEmbeddedStack } from "../local/embedded-stack.ts";
import type { Context } from "../protocol/ports.ts";
import { type Emulators, type PlainClients, plainClients } from "./plain-clients.ts";
import { observeStarts, type Starts } from "./starts.ts";

/** What every figure is measured with. */
export type Rig = {
  readonly stack: EmbeddedStack;
  /** As a producer inside AWS has it. */
  readonly ctx: Context;
  readonly emulators: Emulators;
  readonly plain: PlainClients;
  readonly starts: Starts;
  /** A count, or a tenth of it for a quick run. */
  readonly count: (whole: number) => number;
  readonly rounds: number;
  /** One line on stderr. */
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

/** The SDK's and Powertools' variables are read from the process; ours are answered. */
function producerEnvironment({ endpoints, platform, functions }: EmbeddedStack): Environment {
  const { region, credentials } = platform;
  Object.assign(process.env, {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    // Metrics are lines on stdout, where the table belongs.
    POWERTOOLS_METRICS_DISABLED: "true",
  });
  const environment = functions.find((spec) => spec.environment.MINUTEHAND_TABLE)?.environment;
  if (!environment) throw new Error("the stack has no function of Minutehand's own");
  return environment;
}

/**
 * A context as `createContext` makes it, over a table, topics and a clock of a figure's own, that tells what
 * its requests cost.
 */
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
  return {
    ...ctx,
    clock,
    policy: { ...ctx.policy, topics },
    pool: dynamoPool({ client: dynamoClient(), table, clock, ...(onCapacity && { onCapacity }) }),
    queues: sqsQueues({
      client: sqsClient(),
      urlPrefix: stack.queueUrlPrefix,
      ...(onRequest && { onRequest }),
    }),
    report: () => {},
  };
}
