import type { Machine } from "../../../test/sim/machine.ts";
import type { Call, Network } from "../../../test/sim/network.ts";
import type { Dynamo } from "../../../test/sim/services/dynamo.ts";
import { simulatedScheduler } from "../../../test/sim/services/scheduler.ts";
import type { Service } from "../../../test/sim/services/service.ts";
import { simulatedSqs } from "../../../test/sim/services/sqs.ts";
import type { Timeline } from "../../../test/sim/timeline.ts";
import { ASSUMED } from "./assumed.ts";
import { meteredDynamo, meteredSqs } from "./meters.ts";
import type { Usage } from "./usage.ts";

const SECOND = 1000;
const HOUR = 3_600_000;

export type Services = {
  readonly dynamo: Dynamo;
  readonly sqs: Service;
  readonly scheduler: Service;
  readonly hasVisible: (queue: string) => boolean;
  readonly whenVisible: (queue: string, act: () => void) => void;
};

/** `fire`: called with the id of each job whose schedule fires. */
export function startServices(
  timeline: Timeline,
  topics: readonly string[],
  usage: Usage,
  fire: (id: string) => void,
): Services {
  const watchers = new Map<string, () => void>();
  const plainSqs = simulatedSqs({
    clock: timeline.now,
    topics: [...topics, "_events"],
    inFlight: () => 120_000,
    pick: () => 0,
    onVisible: (queue, time) => {
      const act = watchers.get(queue);
      if (act) timeline.at(time, act);
    },
    onSent: () => {},
    onRefused: () => {},
    unwanted: "\u0000",
  });
  return {
    dynamo: meteredDynamo(timeline.now, timeline.now() - HOUR, usage),
    sqs: meteredSqs(plainSqs, usage),
    scheduler: simulatedScheduler({
      clock: timeline.now,
      at: timeline.at,
      firingsOf: () => [SECOND],
      fire: (_target, _name, input) => {
        usage.scheduledInvocations += 1;
        fire(JSON.parse(input).id);
      },
    }),
    hasVisible: (queue) => plainSqs.messages(queue).some(({ visibleAt }) => visibleAt <= timeline.now()),
    whenVisible: (queue, act) => void watchers.set(queue, act),
  };
}

/** The CPUs of machines. Each request of a machine waits for the work of the requests before. */
export type Cpus = {
  readonly limit: (machine: Machine, cores: number) => void;
  /** Gives a machine so much work, in ms of a whole core. Answers after how many ms it is done. */
  readonly work: (machine: Machine, ms: number) => number;
};

export function startCpus(timeline: Timeline): Cpus {
  const busyUntil = new WeakMap<Machine, number>();
  const shares = new WeakMap<Machine, number>();
  return {
    limit: (machine, cores) => void shares.set(machine, cores),
    work(machine, ms) {
      const until = Math.max(busyUntil.get(machine) ?? 0, timeline.now()) + ms / (shares.get(machine) ?? 1);
      busyUntil.set(machine, until);
      return until - timeline.now();
    },
  };
}

/** A network on which each request takes CPU time of its machine, and each answer the assumed time of its service. */
export function networkOf(timeline: Timeline, { work }: Cpus, { hasVisible }: Services): Network {
  /** How long a long poll waits, ms, if no message is there. `undefined`: a message is there, or the call is no long poll. */
  const longPoll = ({ operation, input }: Call): number | undefined => {
    if (operation !== "ReceiveMessage") return undefined;
    const { QueueUrl, WaitTimeSeconds = 0 } = input as { QueueUrl: string; WaitTimeSeconds?: number };
    return hasVisible(QueueUrl) || WaitTimeSeconds === 0 ? undefined : WaitTimeSeconds * SECOND;
  };
  return {
    timeline,
    seed: 0,
    fateOf: (call) => ({
      request: work(call.machine, ASSUMED.cpuMsPerRequest),
      answer: longPoll(call) ?? ASSUMED.answerMs[call.service] ?? 0,
      freeze: 0,
      entryFails: () => undefined,
    }),
    beforeEffect: () => {},
    onArrival: () => {},
  };
}
