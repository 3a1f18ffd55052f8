import type { Client } from "../../../src/client/client.ts";
import { promote } from "../../../src/protocol/hand-over/promote.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import { startMachine } from "../../../test/sim/machine.ts";
import { type Timeline, timelineFrom } from "../../../test/sim/timeline.ts";
import { ASSUMED } from "./assumed.ts";
import type { Deployed } from "./deployed.ts";
import { type Account, contextOn, functionOf, startApi, startConsumer } from "./functions.ts";
import { type Stored, storageOf } from "./meters.ts";
import { writtenMetrics } from "./metrics.ts";
import { networkOf, startCpus, startServices } from "./services.ts";
import { NOTHING, type Usage } from "./usage.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** ms since the epoch. */
const START = Date.UTC(2026, 2, 1, 9);
/** For how long the deployed tick begins new work: ms. */
const TICK_WORKS_FOR = 160 * SECOND;

/** A deployed queue without faults, on virtual time. All that AWS would charge for is counted. */
export type BilledQueue = {
  readonly timeline: Timeline;
  /** The context of a program inside AWS: a producer, or a worker. The time of its own process is not charged. */
  readonly program: Context;
  /** The client over HTTP. Each of its calls invokes a function of the API. */
  readonly client: Client;
  readonly bill: () => Usage;
  /** The storage of all items from now until their TTL. */
  readonly storage: () => Stored;
  readonly started: () => number;
};

/** Starts the queue: its tick each minute, a consumer for each Lambda topic, and its API. The handlers of jobs take no time. */
export function startBilledQueue(policy: Policy, deployed: Deployed): BilledQueue {
  const timeline = timelineFrom(START);
  const usage: Usage = { ...NOTHING };
  const metrics = writtenMetrics();
  const cpus = startCpus(timeline);
  const services = startServices(timeline, Object.keys(policy.topics), usage, (id) => void promoted(id));
  const network = networkOf(timeline, cpus, services);
  const account: Account = { timeline, policy, deployed, services, cpus, network, usage, metrics };
  let started = 0;

  const client = startApi(account);
  const promoted = functionOf<string, void>(account, "promote", (ctx) => (id) => promote(ctx, id));
  startTicks(account);
  for (const [topic, { consumer }] of Object.entries(policy.topics))
    if (consumer !== "pull") startConsumer(account, topic, () => void started++);
  return {
    timeline,
    program: contextOn(account, startMachine("producer", 0, 0, timeline), () => {}),
    client,
    bill: billsOf(account, deployed),
    storage: () => storageOf(services.dynamo, timeline.now()),
    started: () => started,
  };
}

function startTicks(account: Account): void {
  const { timeline } = account;
  const ticked = functionOf<number, void>(account, "tick", (ctx) => (until) => tick(ctx, until));
  const nextTick = (): void => {
    void ticked(timeline.now() + TICK_WORKS_FOR);
    timeline.at(timeline.now() + MINUTE, nextTick);
  };
  timeline.at(START, nextTick);
}

function billsOf({ timeline, policy, usage, metrics }: Account, deployed: Deployed): () => Usage {
  const topics = Object.values(policy.topics);
  const lambdaTopics = topics.filter(({ consumer }) => consumer !== "pull").length;
  const alarms = deployed.alarms + (topics.length - 1) * deployed.topicAlarms;
  let billedFrom = START;
  return () => {
    const seconds = (timeline.now() - billedFrom) / SECOND;
    billedFrom = timeline.now();
    const polls = (lambdaTopics * deployed.pollers * seconds) / ASSUMED.pollSeconds;
    const { all, ofTopics } = metrics.count();
    const spent = {
      ...usage,
      sqsRequests: usage.sqsRequests + polls,
      // While a workload goes on, each of its metrics has a value in each hour.
      metricHours: (all * seconds * SECOND) / HOUR,
      topicMetricHours: (ofTopics * seconds * SECOND) / HOUR,
      alarmHours: (alarms * seconds * SECOND) / HOUR,
    };
    Object.assign(usage, NOTHING);
    return spent;
  };
}
