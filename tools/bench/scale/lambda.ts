import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { settings as clientSettings } from "../../../src/aws/clients.ts";
import { dynamoPool } from "../../../src/aws/pool.ts";
import { sqsQueues } from "../../../src/aws/queues.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import { seededBytes } from "../../../src/testing/random.ts";
import { type Draws, drawsOf } from "../../../test/sim/draws.ts";
import type { Row } from "../../../test/sim/services/expressions.ts";
import { NO_TROUBLE, type Service } from "../../../test/sim/services/service.ts";
import type { Timeline } from "../../../test/sim/timeline.ts";
import { ASSUMED, AWS, type Scale, TICK } from "./limits.ts";
import { jobsIn, requestsFor } from "./services.ts";

/** What the CPU does for a call, for a job that a sweep sends, and for a job that an audit finds done: ms of a whole core. */
export type CpuCosts = { readonly call: number; readonly swept: number; readonly audited: number };

type Work = (ctx: Context, until: number) => Promise<void>;

export type Lambda = {
  /** Starts an invocation, in an environment that is free or else in a new one. */
  invoke(work: Work): void;
  /** How long each invocation that has ended took: ms. `killed`: how many took longer than the function may. */
  readonly durations: number[];
  readonly killed: () => number;
  readonly errors: unknown[];
};

/** How many requests of a client are in flight at once. */
const SOCKETS = clientSettings().requestHandler.httpAgent.maxSockets;

export type Services = { readonly dynamodb: Service; readonly sqs: Service };

type Settings = {
  readonly timeline: Timeline;
  readonly services: Services;
  readonly costs: CpuCosts;
  readonly scale: Scale;
  readonly policy: Policy;
};

type Environment = { readonly ctx: Context; kill(): void };

export function modelledLambda(settings: Settings): Lambda {
  const { timeline } = settings;
  const free: Environment[] = [];
  const durations: number[] = [];
  const errors: unknown[] = [];
  let started = 0;
  let killed = 0;
  return {
    durations,
    errors,
    killed: () => killed,
    invoke(work) {
      const begun = timeline.now();
      const reused = free.pop();
      const environment = reused ?? startEnvironment(settings, ++started);
      let hasEnded = false;
      const end = (): boolean => {
        if (hasEnded) return false;
        hasEnded = true;
        durations.push(timeline.now() - begun);
        return true;
      };
      timeline.at(begun + (reused ? 0 : ASSUMED.coldStart), () => {
        timeline.at(timeline.now() + TICK.timeout, () => {
          if (!end()) return;
          killed += 1;
          environment.kill();
        });
        work(environment.ctx, timeline.now() + TICK.timeout - TICK.margin)
          .catch((error) => errors.push(error))
          .finally(() => end() && free.push(environment));
      });
    },
  };
}

function startEnvironment(settings: Settings, number: number): Environment {
  const { timeline, scale, policy } = settings;
  const core = startCore(timeline);
  const draws = drawsOf(0, `environment ${number}`);
  const clock = timeline.now;
  const random = seededBytes(number);
  const sizes = {
    ...SIZES,
    page: Math.ceil(SIZES.page / scale.jobs),
    mark: Math.ceil(SIZES.mark / scale.jobs),
    // An eighth of it is for the pages of each shard (`entriesAtOnce`), which have as many bytes as in production.
    tickBytes: SIZES.tickBytes * (1 / 8 + 7 / 8 / scale.jobs),
  };
  const pool = dynamoPool({
    client: clientOf<DynamoDBClient>("dynamodb", settings, core, draws),
    table: "jobs",
    clock,
    wait: (ms) => core.until(timeline.now() + ms),
    random,
  });
  const sqs = clientOf<SQSClient>("sqs", settings, core, draws);
  const queues = sqsQueues({ client: sqs, urlPrefix: "https://sqs/jobs-" });
  return {
    ctx: { pool, queues, clock, random, policy, sizes, report: () => {} },
    kill: core.kill,
  };
}

/** The core of an environment. Nothing of a killed environment resolves. */
type Core = {
  until(time: number): Promise<void>;
  /** Resolves when the core has done so much work, after all work that it was given before. */
  compute(ms: number): Promise<void>;
  kill(): void;
};

function startCore(timeline: Timeline): Core {
  let isAlive = true;
  let busyUntil = 0;
  const until = (time: number): Promise<void> =>
    new Promise((resolve) => timeline.at(time, () => isAlive && resolve()));
  return {
    until,
    compute(ms) {
      busyUntil = Math.max(busyUntil, timeline.now()) + (ms * AWS.memoryOfOneCore) / TICK.memory;
      return until(busyUntil);
    },
    kill() {
      isAlive = false;
    },
  };
}

function clientOf<C>(
  name: keyof Services,
  { timeline, services, costs, scale }: Settings,
  { until, compute }: Core,
  draws: Draws,
): C {
  const sockets = openSockets();
  const call = async (operation: string, input: object): Promise<unknown> => {
    await sockets.take();
    const calls = operation === "SendMessageBatch" ? requestsFor(entriesIn(input), scale) : 1;
    await compute(costs.call * calls);
    const slowness = draws.chance(0.01) ? ASSUMED.slowAnswer : 1;
    const answersAt = timeline.now() + ASSUMED.answer[name] * slowness;
    try {
      const output = services[name].perform(operation, input, NO_TROUBLE);
      await until(answersAt);
      await compute(jobsCost(input, output, costs, scale));
      return output;
    } catch (error) {
      await until(answersAt);
      throw error;
    } finally {
      sockets.give();
    }
  };
  const send = (command: { input: object; constructor: { name: string } }) =>
    call(command.constructor.name.replace(/Command$/, ""), command.input);
  return { send } as C;
}

function openSockets() {
  const waiting: (() => void)[] = [];
  let open = 0;
  return {
    async take(): Promise<void> {
      if (open < SOCKETS) open += 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
    give(): void {
      const next = waiting.shift();
      if (next) next();
      else open -= 1;
    },
  };
}

function entriesIn(input: object): number {
  return (input as { Entries: unknown[] }).Entries.length;
}

function jobsCost(input: object, output: unknown, { swept, audited }: CpuCosts, scale: Scale): number {
  const { Items = [] } = output as { Items?: Row[] };
  const { Limit } = input as { Limit?: number };
  const jobs = jobsIn(Items.length, Limit, scale) / Math.max(Items.length, 1);
  return Items.reduce((sum, { state }) => sum + jobs * (state?.S === "scheduled" ? swept : audited), 0);
}
