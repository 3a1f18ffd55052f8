import { parseMessage } from "../../src/core/message.ts";
import type { Policy } from "../../src/settings/policy.ts";
import type { Attention } from "./attention.ts";
import type { Counts } from "./budget.ts";
import { drawsOf } from "./draws.ts";
import type { Plan } from "./faults.ts";
import type { Machine } from "./machine.ts";
import { CALLERS } from "./machine-context.ts";
import type { Network } from "./network.ts";
import { type Capacity, tokenBuckets } from "./services/capacity.ts";
import { simulatedDynamo } from "./services/dynamo.ts";
import { simulatedEventSources } from "./services/event-sources.ts";
import { simulatedScheduler } from "./services/scheduler.ts";
import { simulatedSqs } from "./services/sqs.ts";
import { isStranger } from "./strangers.ts";
import { EVENTS_QUEUE, LAMBDA_TOPICS, UNWANTED } from "./topics.ts";
import type { World, WorldSettings } from "./world.ts";

export type Wires = WorldSettings & {
  readonly attention: Attention;
  readonly counts: Counts;
  readonly targets: World["targets"];
  readonly watchers: Map<string, () => void>;
  /** The configuration with which each machine started. */
  readonly policies: WeakMap<Machine, Policy>;
  sender: { isAnswered: boolean; knows: (topic: string) => boolean };
  readonly startPart: World["startPart"];
};

const MINUTE = 60_000;
const LOST_RACE = /^(ConditionalCheckFailed|TransactionCanceled)Exception$/;
/** The longest time that Lambda takes to start or stop polling after a change of a mapping. */
const LONGEST_LAG = MINUTE;

export function dynamoOf({ timeline, plan, witness, stretch, attention, trace }: Wires) {
  return simulatedDynamo({
    clock: timeline.now,
    createdAt: timeline.now() - 10 * MINUTE,
    pageItems: plan.pageItems,
    capacity: capacityUntil(plan, timeline.now),
    onWrite: (before, after) => {
      trace(() => `  pool: ${JSON.stringify(plain(before))} → ${JSON.stringify(plain(after))}`);
      if (isStranger(before)) return witness.defect(`changed what it cannot read: ${JSON.stringify(before)}`);
      witness.written(before, after);
      if (stretch.isOfWeeks) attention.written(before, after);
    },
  });
}

export function sqsOf(wires: Wires) {
  const { seed, timeline, plan, policy, witness, counts, trace } = wires;
  const order = drawsOf(seed, "order");
  return simulatedSqs({
    clock: timeline.now,
    topics: [...Object.keys(policy.topics), EVENTS_QUEUE],
    inFlight: () => plan.inFlight(timeline.now()),
    pick: (count) => (plan.shuffled ? order.whole(0, count - 1) : 0),
    onVisible: (queue, time) => wake(wires, queue, time),
    onSent: (queue, body, visibleAt) => {
      trace(() => `  queue ${queue} shows from ${new Date(visibleAt).toISOString().slice(11, 23)}: ${body}`);
      const jobs = parseMessage(body)?.jobs ?? [];
      const { isAnswered, knows } = wires.sender;
      if (queue.endsWith("_dlq")) for (const { id, revision } of jobs) witness.enveloped(queue, id, revision);
      else
        witness.handedOff({ topic: queue, carried: jobs, visibleAt, isAnswered, knowsTopic: knows(queue) });
    },
    onRefused: () => {
      counts.refusals += 1;
    },
    unwanted: UNWANTED,
  });
}

export function sourcesOf(wires: Wires) {
  const lags = drawsOf(wires.seed, "event sources");
  return simulatedEventSources({
    clock: wires.timeline.now,
    topics: LAMBDA_TOPICS,
    lag: () => lags.whole(0, LONGEST_LAG),
    onEnabled: (topic, time) => wake(wires, topic, time),
    onInvoke: (event, chain) => wires.startPart(event, chain, wires.sender.isAnswered),
  });
}

export function schedulerOf({ seed, timeline, plan, targets }: Wires) {
  return simulatedScheduler({
    clock: timeline.now,
    at: timeline.at,
    firingsOf: (target, name, time) =>
      plan.firingsOf(target, drawsOf(seed, `fires ${name} ${time}`), timeline.now()),
    fire: (target, name, input) => targets.get(target)?.(name, input),
  });
}

export function networkOf(wires: Wires): Network {
  const { seed, timeline, plan, policies, counts, trace } = wires;
  return {
    timeline,
    seed,
    beforeEffect: ({ machine }, isAnswered) => {
      wires.sender = { isAnswered, knows: (topic) => policies.get(machine)?.topics[topic] !== undefined };
    },
    fateOf: (call, draws) => plan.fateOf(call, draws, timeline.now()),
    onArrival(call, outcome) {
      trace(() => `${call.machine.name}#${call.index} ${call.operation}: ${outcome}`);
      wires.onCall(call, outcome);
      const isLost = outcome !== "answered" && LOST_RACE.test(outcome.name);
      if (isLost && CALLERS.test(call.machine.name)) counts.lostRaces += 1;
    },
  };
}

function wake({ watchers, timeline }: Wires, queue: string, time: number): void {
  const act = watchers.get(queue);
  if (act) timeline.at(time, act);
}

/** DynamoDB's capacity: scarce while faults last, if the plan says so, and unlimited after that. */
function capacityUntil({ capacity, calmFrom }: Plan, clock: () => number): Capacity | undefined {
  if (capacity === Number.POSITIVE_INFINITY) return undefined;
  const scarce = tokenBuckets(clock, capacity);
  return { admits: (...asked) => clock() >= calmFrom || scarce.admits(...asked) };
}

function plain(row: object | undefined): Record<string, unknown> | undefined {
  return (
    row && Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Object.values(value)[0]]))
  );
}
