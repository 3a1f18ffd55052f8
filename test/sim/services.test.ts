import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { LambdaClient } from "@aws-sdk/client-lambda";
import { GetScheduleCommand, type SchedulerClient } from "@aws-sdk/client-scheduler";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { lambdaEventSources } from "../../src/aws/event-sources.ts";
import { dynamoPool } from "../../src/aws/pool.ts";
import { schedulerPromotions } from "../../src/aws/promotions.ts";
import { sqsQueues } from "../../src/aws/queues.ts";
import { numbers } from "../contract/contract-items.ts";
import { eventSourcesContract } from "../contract/event-sources-contract.ts";
import { NOW, poolContract } from "../contract/pool-contract.ts";
import { promotionsContract } from "../contract/promotions-contract.ts";
import { queuesContract } from "../contract/queues-contract.ts";
import type { Fate } from "./faults/fate.ts";
import { startMachine } from "./machine.ts";
import { clientOn, type Network } from "./network.ts";
import { simulatedDynamo } from "./services/dynamo.ts";
import { simulatedEventSources } from "./services/event-sources.ts";
import { simulatedScheduler } from "./services/scheduler.ts";
import type { Service } from "./services/service.ts";
import { simulatedSqs } from "./services/sqs.ts";
import { timelineFrom } from "./timeline.ts";

const FATE: Fate = { request: 1, answer: 1, freeze: 0, entryFails: () => undefined };

/** A client of a service on a network without faults, whose virtual time passes as soon as a call waits. */
function directly<C extends DynamoDBClient | SQSClient | SchedulerClient | LambdaClient>(
  service: Service,
): C {
  const timeline = timelineFrom(NOW);
  const network: Network = {
    timeline,
    seed: 1,
    fateOf: () => FATE,
    beforeEffect: () => {},
    onArrival: () => {},
  };
  const client = clientOn<C>(network, startMachine("contract", 1, 0, timeline), "any", service);
  return {
    send(command: never, options: never) {
      const sent = (client as DynamoDBClient).send(command, options) as Promise<unknown>;
      void timeline.run(timeline.now() + 60_000, () => false);
      return sent;
    },
  } as unknown as C;
}

poolContract("of the simulator", async (clock) => {
  const dynamo = simulatedDynamo({ clock, createdAt: NOW, pageItems: 10_000, onWrite: () => {} });
  return {
    pool: dynamoPool({ client: directly<DynamoDBClient>(dynamo), table: "jobs", clock }),
    createdBetween: [NOW, NOW],
    close: async () => {},
  };
});

queuesContract("of the simulator", async () => {
  let now = NOW;
  const unused = numbers(0, 80).map((n) => `topic-${n}`);
  const sqs = simulatedSqs({
    clock: () => now,
    topics: [...unused],
    inFlight: () => 120_000,
    pick: () => 0,
    onVisible: () => {},
    onSent: () => {},
    onRefused: () => {},
    unwanted: "\u0000",
  });
  return {
    queues: sqsQueues({ client: directly<SQSClient>(sqs), urlPrefix: "" }),
    topic: async () => unused.pop() ?? "",
    groups: async (topic) => sqs.messages(topic).map(({ group }) => group),
    async pass(seconds) {
      now += seconds * 1000;
    },
    close: async () => {},
  };
});

promotionsContract("of the simulator", async () => {
  const fires = () => [];
  const scheduler = simulatedScheduler({ clock: () => NOW, at: () => {}, firingsOf: fires, fire: () => {} });
  const client = directly<SchedulerClient>(scheduler);
  const group = "promotions";
  return {
    promotions: schedulerPromotions({ client, target: { group, target: "promote", role: "scheduler" } }),
    now: () => NOW,
    async filed(id) {
      const found = client.send(new GetScheduleCommand({ GroupName: group, Name: id }));
      const { ScheduleExpression = "" } = await found.catch(() => ({ ScheduleExpression: undefined }));
      return ScheduleExpression === "" ? undefined : Date.parse(`${ScheduleExpression.slice(3, -1)}Z`);
    },
    close: async () => {},
  };
});

eventSourcesContract("of the simulator", async () => {
  let now = NOW;
  const topics = ["mail", "orders"];
  const lambda = simulatedEventSources({
    clock: () => now,
    topics,
    lag: () => 60_000,
    onEnabled: () => {},
    onInvoke: () => {},
  });
  return {
    sources: lambdaEventSources({
      client: directly<LambdaClient>(lambda),
      mappings: Object.fromEntries(topics.map((topic) => [topic, topic])),
    }),
    async polls(topic) {
      now += 60_000;
      return lambda.polls(topic);
    },
    close: async () => {},
  };
});
