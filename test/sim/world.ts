import type { Sizes } from "../../src/core/work-sizes.ts";
import type { Context } from "../../src/protocol/ports.ts";
import type { ProtocolEvent } from "../../src/protocol/reports.ts";
import type { Policy } from "../../src/settings/policy.ts";
import { allowanceOf, askedBy } from "./allowance.ts";
import { type Attention, attentionOf } from "./attention.ts";
import type { Counts } from "./budget.ts";
import { type Draws, drawsOf } from "./draws.ts";
import type { Plan } from "./faults.ts";
import { type Habit, type Pace, paceOf } from "./habits.ts";
import { type Machine, startMachine } from "./machine.ts";
import { contextOn, type Reach } from "./machine-context.ts";
import type { Call } from "./network.ts";
import type { Answer } from "./platform.ts";
import { type Headers, requestOf } from "./requests.ts";
import type { Dynamo } from "./services/dynamo.ts";
import type { EventSources } from "./services/event-sources.ts";
import type { Scheduler } from "./services/scheduler.ts";
import type { Sqs } from "./services/sqs.ts";
import type { Stretch } from "./stretch.ts";
import type { Timeline } from "./timeline.ts";
import type { Witness } from "./witness.ts";
import { dynamoOf, networkOf, schedulerOf, sourcesOf, sqsOf, type Wires } from "./world-services.ts";

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
  startPart: (event: string, chain: number, isAnswered: boolean) => void;
  readonly targets: Map<string, (name: string, input: string) => void>;
  readonly witness: Witness;
  /** The configuration of machines that start now. A deployment may change it. */
  policy: Policy;
  readonly machines: Set<Machine>;
  readonly counts: Counts;
  readonly doomed: Set<string>;
  /** Whether the epilogue has begun: users have finished and faults are over. */
  isOver: boolean;
  /** How many users have not finished, and how many topics a deployment has removed for a while. */
  busy: number;
  isLeftOut(name: string): boolean;
  /** Lets a user act at a time. The history lasts until the user has finished. */
  join(time: number, act: () => Promise<void>): void;
  start(name: string): { machine: Machine; ctx: Context };
  /** A caller sends a call now. Answers a callback for its answer, if one comes. */
  called(method: string, path: string, body: object, headers: Headers): (answer: Answer | undefined) => void;
  draws(name: string): Draws;
  watch(queue: string, act: () => void): void;
  poke(queue: string): void;
  trace(line: () => string): void;
};

const USUAL_PACE: Pace = { pullsOne: false, slow: undefined };

export type WorldSettings = {
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
};

// long: the list of what a world has
export function worldOf(settings: WorldSettings): World {
  const { seed, plan, habit, timeline, witness, policy, sizes, stretch, trace } = settings;
  const attention = attentionOf(timeline.now);
  const pace = paceOf(seed, plan.weather);
  const counts = { requests: 0, allowance: 0, invocations: 0, deliveries: 0, refusals: 0, lostRaces: 0 };
  const targets: World["targets"] = new Map();
  const wires: Wires = {
    ...{ ...settings, attention, counts, targets, watchers: new Map(), policies: new WeakMap() },
    sender: { isAnswered: true, knows: () => true },
    startPart: (...part) => world.startPart(...part),
  };
  const [dynamo, sqs, sources] = [dynamoOf(wires), sqsOf(wires), sourcesOf(wires)];
  const [scheduler, network] = [schedulerOf(wires), networkOf(wires)];
  const carriesLineage = settings.carriesLineage ?? false;

  const world: World = {
    ...{ seed, plan, habit, stretch, attention, timeline, dynamo, sqs, sources, scheduler, targets, witness },
    pace: () => (timeline.now() < plan.calmFrom ? pace : USUAL_PACE),
    lambda: settings.lambda ?? { isThrottled: () => false, ended: () => {} },
    startPart: () => {},
    policy,
    machines: new Set(),
    doomed: new Set(),
    counts,
    isOver: false,
    busy: 0,
    isLeftOut: (name) => plan.suppressed.has(name),
    join: (time, act) => joinAt(world, time, act),
    draws: (name) => drawsOf(seed, name),
    called: (...asked) => allowFor(world, ...asked),
    poke: (queue) => wires.watchers.get(queue)?.(),
    watch: (queue, act) => void wires.watchers.set(queue, act),
    trace,
    start(name) {
      const machine = bootMachine(world, name);
      wires.policies.set(machine, world.policy);
      const report: Reach["report"] = (event) => {
        trace(() => `${name}: ${JSON.stringify(event)}`);
        settings.onEvent?.(event);
      };
      const reach = { seed, network, dynamo, sqs, sources, scheduler, policy: world.policy, sizes, report };
      return { machine, ctx: contextOn(machine, { ...reach, carriesLineage }) };
    },
  };
  return world;
}

function joinAt(world: World, time: number, act: () => Promise<void>): void {
  world.busy += 1;
  world.timeline.at(time, () => {
    void act().then(() => {
      world.busy -= 1;
    });
  });
}

function allowFor(
  world: World,
  ...[method, path, body, headers]: Parameters<World["called"]>
): ReturnType<World["called"]> {
  world.counts.requests += 1;
  const isHeld = (topic: string): boolean => {
    const { maxPerSecond, window } = world.policy.topics[topic] ?? {};
    return maxPerSecond !== undefined || window !== undefined;
  };
  const isCounted = (topic: string): boolean => world.policy.topics[topic]?.maxFiledPerMinute !== undefined;
  const about = { topicOf: world.witness.topicOf, isHeld, isCounted };
  const isOnce = headers["idempotency-key"] !== undefined;
  world.counts.allowance += allowanceOf(askedBy(method, path.split("?")[0] ?? "", body, isOnce, about));
  const request = requestOf(method, path, body, headers);
  return request ? world.witness.asked(request) : () => {};
}

function bootMachine({ seed, plan, timeline, machines, trace }: World, name: string): Machine {
  const own = drawsOf(seed, `${name} clock`);
  const machine = startMachine(name, seed, own.whole(-plan.skew, plan.skew), timeline);
  machines.add(machine);
  machine.onDeath(() => {
    machines.delete(machine);
    trace(() => `${name} dies`);
  });
  return machine;
}
