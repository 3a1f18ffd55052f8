import type { SQSClient } from "@aws-sdk/client-sqs";
import { withoutLineage } from "../../src/aws/clients.ts";
import { lambdaEventSources } from "../../src/aws/event-sources.ts";
import { dynamoPool } from "../../src/aws/pool.ts";
import { schedulerPromotions } from "../../src/aws/promotions.ts";
import { sqsQueues } from "../../src/aws/queues.ts";
import { schedulerSchedules } from "../../src/aws/schedules.ts";
import { lambdaSweepers } from "../../src/aws/sweepers.ts";
import type { Context } from "../../src/protocol/ports.ts";
import { drawsOf } from "./draws.ts";
import type { Machine } from "./machine.ts";
import { clientOn, type Network } from "./network.ts";
import { LAMBDA_TOPICS } from "./topics.ts";
import type { World } from "./world.ts";

/** The names of machines that use EventBridge Scheduler, and whose lost races count as those of callers. */
export const CALLERS = /^(api|producer|event)-/;
const TICKS = /^tick-/;
/** How many further invocations a tick may start. Each seed draws one. */
const MOST_SWEEPERS = [0, 1, 2, 63];

export type Reach = Pick<World, "seed" | "dynamo" | "sqs" | "sources" | "scheduler"> &
  Pick<Context, "policy" | "sizes" | "report"> & { network: Network; carriesLineage: boolean };

export function contextOn(machine: Machine, reach: Reach): Context {
  const { network, sqs, policy, sizes, report } = reach;
  const { clock, random, name } = machine;
  const sqsClient = clientOn<SQSClient>(network, machine, "sqs", sqs);
  return {
    pool: dynamoPool({
      client: clientOn(network, machine, "dynamodb", reach.dynamo),
      table: "jobs",
      clock,
      wait: machine.timers.wait,
      random,
      statements: sizes.statements,
    }),
    queues: sqsQueues({
      client: reach.carriesLineage ? sqsClient : withoutLineage(sqsClient),
      urlPrefix: "",
    }),
    eventSources: lambdaEventSources({
      client: clientOn(network, machine, "lambda", reach.sources),
      mappings: Object.fromEntries(LAMBDA_TOPICS.map((topic) => [topic, topic])),
    }),
    ...(TICKS.test(name) && { sweepers: sweepersOn(machine, reach) }),
    ...(CALLERS.test(name) && schedulingOn(machine, reach)),
    ...{ clock, random, policy, sizes, report },
  };
}

function sweepersOn(machine: Machine, { seed, network, sources }: Reach) {
  return lambdaSweepers({
    client: clientOn(network, machine, "lambda", sources),
    functionName: "tick",
    most: drawsOf(seed, "sweepers").pick(MOST_SWEEPERS),
    wait: machine.timers.wait,
  });
}

function schedulingOn(machine: Machine, { network, scheduler }: Reach) {
  return {
    promotions: schedulerPromotions({
      client: clientOn(network, machine, "scheduler", scheduler),
      target: { group: "promotions", target: "promote", role: "scheduler" },
    }),
    schedules: schedulerSchedules({
      client: clientOn(network, machine, "scheduler", scheduler),
      target: { group: "schedules", target: "occurrence", role: "scheduler" },
    }),
  };
}
