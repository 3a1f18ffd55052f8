import { toAttributes } from "../../../src/aws/attributes.ts";
import {
  AUDIT_AFTER,
  BUCKET,
  LOOKAHEAD,
  MOST_SWEEPERS,
  SQS_BATCH_ENTRIES,
} from "../../../src/core/constants.ts";
import { cursorKey, META_KEY, minuteOf } from "../../../src/core/item-keys.ts";
import { type Cursor, ITEM_VERSION } from "../../../src/core/items.ts";
import { beforeTime } from "../../../src/core/position.ts";
import { sweepPart, tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Sweepers } from "../../../src/protocol/ports.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import type { Row } from "../../../test/sim/services/expressions.ts";
import { type Timeline, timelineFrom } from "../../../test/sim/timeline.ts";
import { PRICES } from "../prices.ts";
import { type Consumers, modelledConsumers } from "./consumers.ts";
import { type Job, type Load, TOPIC, virtualJobs } from "./jobs.ts";
import { type CpuCosts, type Lambda, modelledLambda, type Services } from "./lambda.ts";
import { ASSUMED, PROVISIONED, type Scale, type Setup, TICK } from "./limits.ts";
import { tablePartitions } from "./partitions.ts";
import { modelledQueue, modelledTable, type Usage, type World } from "./services.ts";

/** What is to be played. All times are ms since the epoch. */
export type Scenario = {
  readonly load: Load;
  readonly scale: Scale;
  readonly shards: number;
  readonly setup: Setup;
  /** How many pollers the topic has at least, where the result says "pollers". */
  readonly pollers: number;
  readonly costs: CpuCosts;
  /** The first tick. The last one before it ran at `sweptAt`. */
  readonly from: number;
  readonly sweptAt: number;
  /** No tick begins from then on. The ticks that run may go on. */
  readonly until: number;
};

/** ms: how late jobs were, or how long ticks took. Below 0: before the due time. `null`: unknown, as so many jobs were missing. */
export type Times = { readonly p50: number | null; readonly p99: number | null; readonly max: number | null };

/** What became of the jobs that were due after the first tick, with one kind of consumers. */
export type Starts = {
  readonly late: Times;
  readonly missing: number;
  /** How many jobs had to wait for the writes of their partition. */
  readonly throttles: number;
  /** Dollars, for the ticks and for filing, running and settling all jobs that were handed over. */
  readonly cost: number;
};

/** Jobs that were due before the first tick count in `overdue` and `caughtUpAfter` alone. */
export type Result = {
  /** How many of these jobs were handed over, and how long after the first tick the last of them was handed over: ms. */
  readonly overdue: number;
  readonly caughtUpAfter: number;
  /** How long after its due time SQS accepted each job. */
  readonly handedOver: Times;
  readonly missing: number;
  readonly again: number;
  readonly throttles: number;
  /** How long each tick took: ms. `killed`: how many took longer than Lambda allows. `failed`: how many threw an error. */
  readonly ticks: Times;
  readonly killed: number;
  readonly failed: number;
  /** Dollars for the ticks, without the jobs' own writes. */
  readonly cost: number;
  readonly mapping: Starts;
  readonly pollers: Starts;
};

/** Plays one scenario with the real tick. Deterministic: equal scenarios have equal results. */
export async function play(scenario: Scenario): Promise<Result> {
  const { load, scale, shards, setup, sweptAt, until } = scenario;
  const timeline = timelineFrom(scenario.from);
  const jobs = virtualJobs(load, shards, scale.jobs);
  const usage: Usage = { readUnits: 0, writeUnits: 0, sqsRequests: 0, throttles: 0 };
  const world: World = { timeline, jobs, scale, usage };
  const mapping = startConsumers(scenario, timeline, { invocations: setup.invocations }, jobs.finish);
  const provisioned = { ...PROVISIONED, pollers: scenario.pollers };
  const pollers = startConsumers(scenario, timeline, provisioned, () => {});
  const { handedOver, seen } = watchHandOver(scenario, timeline);
  const sqs = modelledQueue(world, [mapping.consumers, pollers.consumers], seen);
  const dynamodb = modelledTable(world, tablePartitions(setup.partitions, timeline.now));
  for (const row of cursorsAt(sweptAt, shards)) dynamodb.put(row);
  const lambda = startTicks(scenario, timeline, { dynamodb, sqs });
  await timeline.run(until, () => false);
  return resultOf(scenario, { usage, lambda, handedOver, mapping, pollers });
}

/** The jobs of the last minute may not have started at the end. */
function judgedUntil({ until }: Scenario): number {
  return until - BUCKET;
}

type HandedOver = {
  late: number[];
  overdue: number;
  caughtUpAfter: number;
  sent: number;
  again: number;
};

function watchHandOver(scenario: Scenario, timeline: Timeline) {
  const { from, scale } = scenario;
  const handedOver: HandedOver = { late: [], overdue: 0, caughtUpAfter: 0, sent: 0, again: 0 };
  const seen = {
    sent(dueAt: number) {
      handedOver.sent += 1;
      if (dueAt >= from && dueAt < judgedUntil(scenario)) handedOver.late.push(timeline.now() - dueAt);
      if (dueAt >= from) return;
      handedOver.overdue += scale.jobs;
      handedOver.caughtUpAfter = timeline.now() - from;
    },
    again() {
      handedOver.again += 1;
    },
  };
  return { handedOver, seen };
}

/** Consumers, and how long after its due time each job that is judged started with them. */
type Started = { readonly consumers: Consumers; readonly late: number[] };

/** Starts consumers that have a table of their own, as if they were alone. */
function startConsumers(
  scenario: Scenario,
  timeline: Timeline,
  pool: { invocations: number; pollers?: number },
  finished: (job: Job) => void,
): Started {
  const { from, scale, setup, until } = scenario;
  const late: number[] = [];
  const started = ({ dueAt }: Job, at: number): void => {
    if (dueAt >= from && dueAt < judgedUntil(scenario)) late.push(at - dueAt);
  };
  const partitions = tablePartitions(setup.partitions, timeline.now);
  const consumers = modelledConsumers(timeline, partitions, { ...pool, scale, until, started, finished });
  return { consumers, late };
}

function startTicks(scenario: Scenario, timeline: Timeline, services: Services): Lambda {
  const { scale, shards, costs, from, until } = scenario;
  const lambda = modelledLambda({
    ...{ timeline, services, costs, scale },
    // If a modelled job stands for several, they share one message.
    policy: policyOf(shards, scale.jobs === 1 ? SQS_BATCH_ENTRIES : 1),
  });
  const sweepers: Sweepers = {
    most: MOST_SWEEPERS,
    wait: timeline.wait,
    async start(part) {
      await timeline.wait(ASSUMED.invoke);
      lambda.invoke((ctx, last) => sweepPart(ctx, part, Math.min(part.until, last)));
    },
  };
  for (let time = from; time < until; time += BUCKET)
    timeline.at(time, () => lambda.invoke((ctx, last) => tick({ ...ctx, sweepers }, last)));
  return lambda;
}

type Played = {
  readonly usage: Usage;
  readonly lambda: Lambda;
  readonly handedOver: HandedOver;
  readonly mapping: Started;
  readonly pollers: Started;
};

function resultOf(scenario: Scenario, { usage, lambda, handedOver, mapping, pollers }: Played): Result {
  const { scale } = scenario;
  const due = judgedJobs(scenario);
  const cost = costOfTicks(usage, lambda);
  const startsOf = ({ consumers, late }: Started): Starts => ({
    late: timesOf(late, due - late.length),
    missing: (due - late.length) * scale.jobs,
    throttles: consumers.usage.throttles,
    cost: costOfJobs(cost, handedOver.sent * scale.jobs, consumers),
  });
  return {
    caughtUpAfter: handedOver.caughtUpAfter,
    overdue: handedOver.overdue,
    handedOver: timesOf(handedOver.late, due - handedOver.late.length),
    missing: (due - handedOver.late.length) * scale.jobs,
    again: handedOver.again * scale.jobs,
    throttles: usage.throttles,
    ticks: timesOf(lambda.durations, 0),
    killed: lambda.killed(),
    failed: lambda.errors.length,
    cost,
    mapping: startsOf(mapping),
    pollers: startsOf(pollers),
  };
}

function judgedJobs(scenario: Scenario): number {
  const { load, scale, from } = scenario;
  let due = 0;
  for (let minute = minuteOf(from); minute < judgedUntil(scenario); minute += BUCKET)
    due += Math.round((load(minute)?.count ?? 0) / scale.jobs);
  return due;
}

function costOfTicks({ readUnits, writeUnits, sqsRequests }: Usage, { durations }: Lambda): number {
  const lambdaMs = durations.reduce((sum, ms) => sum + ms, 0);
  return (
    readUnits * PRICES.readUnit +
    writeUnits * PRICES.writeUnit +
    sqsRequests * PRICES.sqsRequest +
    durations.length * PRICES.invocation +
    gigabyteSeconds(lambdaMs, TICK.memory) * PRICES.gigabyteSecond
  );
}

function costOfJobs(
  ticks: number,
  jobs: number,
  { usage: { sqsRequests, invocations, ms } }: Consumers,
): number {
  return (
    ticks +
    jobs * WRITES_A_JOB * PRICES.writeUnit +
    sqsRequests * PRICES.sqsRequest +
    invocations * PRICES.invocation +
    gigabyteSeconds(ms, ASSUMED.consumerMemory) * PRICES.gigabyteSecond
  );
}

/** A tracked job costs a write each to file, claim and settle it. */
const WRITES_A_JOB = 3;

function gigabyteSeconds(ms: number, mebibytes: number): number {
  return (ms / 1000) * (mebibytes / 1024);
}

/** `missing`: how many further times are longer than all of these. */
function timesOf(times: readonly number[], missing: number): Times {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number): number | null =>
    sorted[Math.max(Math.ceil(share * (times.length + missing)) - 1, 0)] ?? null;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

export function policyOf(shards: number, pack: number): Policy {
  const day = 86_400;
  return { shards, retention: 7 * day, deadRetention: 90 * day, topics: { [TOPIC]: { pack } } };
}

/** Answers the item with the number of shards, and the cursors. The cursors are as if all ticks until `sweptAt` had been on time. */
export function cursorsAt(sweptAt: number, shards: number): Row[] {
  const trail = Array.from({ length: AUDIT_AFTER / BUCKET + 1 }, (_, i) => {
    const reachedAt = sweptAt - AUDIT_AFTER + i * BUCKET;
    return { position: beforeTime(reachedAt + LOOKAHEAD), reachedAt };
  });
  const [swept, audited] = [beforeTime(sweptAt + LOOKAHEAD), beforeTime(sweptAt + LOOKAHEAD - AUDIT_AFTER)];
  const cursors = Array.from({ length: shards }, (_, shard): Cursor => {
    return { ...cursorKey(shard), v: ITEM_VERSION, swept, audited, trail };
  });
  return [{ ...META_KEY, v: ITEM_VERSION, shards }, ...cursors].map((item) => toAttributes(item) as Row);
}
