import type { SQSClient } from "@aws-sdk/client-sqs";
import { withoutLineage } from "../../aws/clients.ts";
import { lambdaEventSources } from "../../aws/event-sources.ts";
import { dynamoPool } from "../../aws/pool.ts";
import { schedulerPromotions } from "../../aws/promotions.ts";
import { sqsQueues } from "../../aws/queues.ts";
import { schedulerSchedules } from "../../aws/schedules.ts";
import { lambdaSweepers } from "../../aws/sweepers.ts";
import { parseMessage } from "../../core/message.ts";
import type { Policy } from "../../core/policy.ts";
import type { Sizes } from "../../core/work-sizes.ts";
import type { Context } from "../../protocol/ports.ts";
import type { ProtocolEvent } from "../../protocol/reports.ts";
import { allowanceOf, askedBy } from "./allowance.ts";
import { type Attention, attentionOf } from "./attention.ts";
import type { Counts } from "./budget.ts";
import { type Draws, drawsOf } from "./draws.ts";
import type { Plan } from "./faults.ts";
import { type Habit, type Pace, paceOf } from "./habits.ts";
import { type Machine, startMachine } from "./machine.ts";
import { type Call, clientOn, type Network } from "./network.ts";
import { type Capacity, tokenBuckets } from "./services/capacity.ts";
import { type Dynamo, simulatedDynamo } from "./services/dynamo.ts";
import { type EventSources, simulatedEventSources } from "./services/event-sources.ts";
import { type Scheduler, simulatedScheduler } from "./services/scheduler.ts";
import { type Sqs, simulatedSqs } from "./services/sqs.ts";
import { isStranger } from "./strangers.ts";
import type { Stretch } from "./stretch.ts";
import type { Timeline } from "./timeline.ts";
import { LAMBDA_TOPICS } from "./topics.ts";
import type { Witness } from "./witness.ts";

/** SQS refuses a message for good if a body in it contains this word. */
export const UNWANTED = "unwanted";

export type World = {
  readonly seed: number;
  readonly plan: Plan;
  readonly habit: Habit;
  readonly stretch: Stretch;
  pace(): Pace;
  readonly attention: Attention;
  readonly timeline: Timeline;
  readonly dynamo: Dynamo;
  readonly sqs: Sqs;
  readonly sources: EventSources;
  readonly scheduler: Scheduler;
  /** Lambda: whether it throttles a function, and a callback for the end of each invocation. */
  readonly lambda: {
    isThrottled(name: string): boolean;
    ended(name: string, how: "returned" | "failed" | "crashed" | "throttled"): void;
  };
  /** Starts an invocation of the tick for some shards. `isAnswered`: whether the tick will know that the invocation has started. */
  startPart: (event: string, chain: number, isAnswered: boolean) => void;
  readonly targets: Map<string, (name: string, input: string) => void>;
  readonly witness: Witness;
  /** The configuration of machines that start now. A deployment may change it. */
  policy: Policy;
  readonly machines: Set<Machine>;
  readonly counts: Counts;
  /** Jobs that their handlers bury. */
  readonly doomed: Set<string>;
  /** Whether the epilogue has begun: users have finished and faults are over. */
  isOver: boolean;
  /** How many users have not finished, and how many topics a deployment has removed for a while. */
  busy: number;
  isLeftOut(name: string): boolean;
  /** Lets a user act at a time. The history lasts until the user has finished. */
  join(time: number, act: () => Promise<void>): void;
  start(name: string): { machine: Machine; ctx: Context };
  called(method: string, path: string, body: object, isOnce: boolean): void;
  draws(name: string): Draws;
  /** Sets what to call when a message of the queue may be visible. */
  watch(queue: string, act: () => void): void;
  poke(queue: string): void;
  trace(line: () => string): void;
};

export const EVENTS_QUEUE = "_events";

const MINUTE = 60_000;
const USUAL_PACE: Pace = { pullsOne: false, slow: undefined };
/** The names of machines that use EventBridge Scheduler, and whose lost races count as those of callers. */
const CALLERS = /^(api|producer|event)-/;
const TICKS = /^tick-/;
/** How many further invocations a tick may start. Each seed draws one. */
const MOST_SWEEPERS = [0, 1, 2, 63];
const LOST_RACE = /^(ConditionalCheckFailed|TransactionCanceled)Exception$/;
/** The longest time that Lambda takes to start or stop polling after a change of a mapping. */
const LONGEST_LAG = MINUTE;

export function worldOf(settings: {
  seed: number;
  plan: Plan;
  habit: Habit;
  timeline: Timeline;
  witness: Witness;
  policy: Policy;
  sizes: Sizes;
  stretch: Stretch;
  /** Whether messages that the code itself sends carry Lambda's lineage, as messages of a handler's own clients do. */
  carriesLineage?: boolean;
  trace: (line: () => string) => void;
  onCall: (call: Call, outcome: "answered" | Error) => void;
  onEvent?: (event: ProtocolEvent) => void;
  lambda?: World["lambda"];
}): World {
  const { seed, plan, habit, timeline, witness, policy, sizes, stretch, trace } = settings;
  const attention = attentionOf(timeline.now);
  const pace = paceOf(seed, plan.weather);
  const watchers = new Map<string, () => void>();
  const order = drawsOf(seed, "order");
  const dynamo = simulatedDynamo({
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
  const policies = new WeakMap<Machine, Policy>();
  let sender = { isAnswered: true, knows: (_: string): boolean => true };
  const sqs = simulatedSqs({
    clock: timeline.now,
    topics: [...Object.keys(policy.topics), EVENTS_QUEUE],
    inFlight: () => plan.inFlight(timeline.now()),
    pick: (count) => (plan.shuffled ? order.whole(0, count - 1) : 0),
    onVisible: (queue, time) => {
      const act = watchers.get(queue);
      if (act) timeline.at(time, act);
    },
    onSent: (queue, body, visibleAt) => {
      trace(() => `  queue ${queue} shows from ${new Date(visibleAt).toISOString().slice(11, 23)}: ${body}`);
      const jobs = parseMessage(body)?.jobs ?? [];
      if (queue.endsWith("_dlq")) for (const { id, revision } of jobs) witness.enveloped(queue, id, revision);
      else {
        const { isAnswered, knows } = sender;
        witness.handedOff({ topic: queue, carried: jobs, visibleAt, isAnswered, knowsTopic: knows(queue) });
      }
    },
    onRefused: () => {
      world.counts.refusals += 1;
    },
    unwanted: UNWANTED,
  });
  const lags = drawsOf(seed, "event sources");
  const sources = simulatedEventSources({
    clock: timeline.now,
    topics: LAMBDA_TOPICS,
    lag: () => lags.whole(0, LONGEST_LAG),
    onEnabled: (topic, time) => {
      const act = watchers.get(topic);
      if (act) timeline.at(time, act);
    },
    onInvoke: (event, chain) => world.startPart(event, chain, sender.isAnswered),
  });
  const targets: World["targets"] = new Map();
  const scheduler = simulatedScheduler({
    clock: timeline.now,
    at: timeline.at,
    firingsOf: (target, name, time) =>
      plan.firingsOf(target, drawsOf(seed, `fires ${name} ${time}`), timeline.now()),
    fire: (target, name, input) => targets.get(target)?.(name, input),
  });
  const network: Network = {
    timeline,
    seed,
    beforeEffect: ({ machine }, isAnswered) => {
      sender = { isAnswered, knows: (topic) => policies.get(machine)?.topics[topic] !== undefined };
    },
    fateOf: (call, draws) => plan.fateOf(call, draws, timeline.now()),
    onArrival(call, outcome) {
      trace(() => `${call.machine.name}#${call.index} ${call.operation}: ${outcome}`);
      settings.onCall(call, outcome);
      const isLost = outcome !== "answered" && LOST_RACE.test(outcome.name);
      if (isLost && CALLERS.test(call.machine.name)) world.counts.lostRaces += 1;
    },
  };
  const report = (machine: Machine, event: ProtocolEvent): void => {
    trace(() => `${machine.name}: ${JSON.stringify(event)}`);
    settings.onEvent?.(event);
  };

  const world: World = {
    seed,
    plan,
    habit,
    stretch,
    pace: () => (timeline.now() < plan.calmFrom ? pace : USUAL_PACE),
    attention,
    timeline,
    dynamo,
    sqs,
    sources,
    scheduler,
    lambda: settings.lambda ?? { isThrottled: () => false, ended: () => {} },
    startPart: () => {},
    targets,
    witness,
    policy,
    machines: new Set(),
    doomed: new Set(),
    counts: { requests: 0, allowance: 0, invocations: 0, deliveries: 0, refusals: 0, lostRaces: 0 },
    isOver: false,
    busy: 0,
    isLeftOut: (name) => plan.suppressed.has(name),
    join(time, act) {
      world.busy += 1;
      timeline.at(time, () => {
        void act().then(() => {
          world.busy -= 1;
        });
      });
    },
    draws: (name) => drawsOf(seed, name),
    called(method, path, body, isOnce) {
      world.counts.requests += 1;
      const isHeld = (topic: string): boolean => {
        const { maxPerSecond, window } = world.policy.topics[topic] ?? {};
        return maxPerSecond !== undefined || window !== undefined;
      };
      const about = { topicOf: witness.topicOf, isHeld };
      world.counts.allowance += allowanceOf(askedBy(method, path, body, isOnce, about));
    },
    poke: (queue) => watchers.get(queue)?.(),
    watch: (queue, act) => void watchers.set(queue, act),
    trace,
    start(name) {
      const own = drawsOf(seed, `${name} clock`);
      const machine = startMachine(name, seed, own.whole(-plan.skew, plan.skew), timeline);
      world.machines.add(machine);
      policies.set(machine, world.policy);
      machine.onDeath(() => {
        world.machines.delete(machine);
        trace(() => `${name} dies`);
      });
      const { clock, random } = machine;
      const sqsClient = clientOn<SQSClient>(network, machine, "sqs", sqs);
      const ctx: Context = {
        pool: dynamoPool({
          client: clientOn(network, machine, "dynamodb", dynamo),
          table: "jobs",
          clock,
          wait: machine.timers.wait,
          random,
          statements: sizes.statements,
        }),
        queues: sqsQueues({
          client: settings.carriesLineage ? sqsClient : withoutLineage(sqsClient),
          urlPrefix: "",
        }),
        eventSources: lambdaEventSources({
          client: clientOn(network, machine, "lambda", sources),
          mappings: Object.fromEntries(LAMBDA_TOPICS.map((topic) => [topic, topic])),
        }),
        ...(TICKS.test(name) && {
          sweepers: lambdaSweepers({
            client: clientOn(network, machine, "lambda", sources),
            functionName: "tick",
            most: drawsOf(seed, "sweepers").pick(MOST_SWEEPERS),
            wait: machine.timers.wait,
          }),
        }),
        ...(CALLERS.test(name) && {
          promotions: schedulerPromotions({
            client: clientOn(network, machine, "scheduler", scheduler),
            target: { group: "promotions", target: "promote", role: "scheduler" },
          }),
          schedules: schedulerSchedules({
            client: clientOn(network, machine, "scheduler", scheduler),
            target: { group: "schedules", target: "occurrence", role: "scheduler" },
          }),
        }),
        clock,
        random,
        policy: world.policy,
        sizes,
        report: (event) => report(machine, event),
      };
      return { machine, ctx };
    },
  };
  return world;
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
