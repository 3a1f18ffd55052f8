import type { Timeline } from "../../../test/sim/timeline.ts";
import type { Job } from "./jobs.ts";
import { ASSUMED, AWS, type Scale } from "./limits.ts";
import type { Partitions } from "./partitions.ts";

export type Consumers = {
  /** Takes a message with these jobs, which is visible from `visibleAt` on. */
  receive(jobs: readonly Job[], visibleAt: number): void;
  depth(): { ready: number; delayed: number };
  /** `throttles`: how many jobs had to wait for their writes. */
  readonly usage: { invocations: number; ms: number; sqsRequests: number; throttles: number };
};

export type ConsumerSettings = {
  readonly invocations: number;
  /** How many pollers are provisioned at least. Lambda adds more while messages wait. Absent: the pollers of Lambda's default mode. */
  readonly pollers?: number;
  readonly scale: Scale;
  /** Lambda polls the queue until then: ms since the epoch. */
  readonly until: number;
  readonly started: (job: Job, at: number) => void;
  readonly finished: (job: Job) => void;
};

/** How often the model looks for visible messages: ms. */
const STEP = 100;
/** How many messages an invocation gets, and how many of its jobs run at once: the defaults of the construct. */
const BATCH = 10;
const AT_ONCE = 10;
/** How many jobs an invocation gets at most, in messages of ten. */
const BATCH_JOBS = BATCH * 10;
/** A claim and a settle each write the home. */
const WRITES = 2;
/** How long it takes to claim, run and settle the jobs that run at once: ms. */
const WAVE = ASSUMED.handler + 2 * ASSUMED.answer.dynamodb;

/**
 * A simple simulation of Lambda's mapping: our consumer's code does not run. An invocation runs its batch ten at a time, each ten after the
 * writes of their claims. Jobs start in the order in which their messages became visible.
 */
export function modelledConsumers(
  timeline: Timeline,
  partitions: Partitions,
  settings: ConsumerSettings,
): Consumers {
  const { scale, until } = settings;
  const usage = { invocations: 0, ms: 0, sqsRequests: 0, throttles: 0 };
  const invocations = { running: 0, environments: 0 };
  const messages: Messages = { delayed: new Map(), later: 0, ready: [], next: 0 };
  const runs: Runs = { timeline, partitions, settings, usage, invocations, isFirst: firstMessages() };
  let busySince: number | undefined;
  const step = (): void => {
    const now = timeline.now();
    showMessages(messages, now);
    if (messages.next < messages.ready.length) {
      busySince ??= now;
      pollMessages(runs, messages, now - busySince);
      forgetTaken(messages);
    } else if (invocations.running === 0) busySince = undefined;
    if (now < until) timeline.at(now + STEP, step);
  };
  timeline.at(timeline.now(), step);
  return {
    usage,
    receive(jobs, visibleAt) {
      const at = Math.ceil(Math.max(visibleAt, timeline.now() + 1) / STEP) * STEP;
      hideUntil(messages, at, jobs);
    },
    depth: () => ({
      ready: (messages.ready.length - messages.next) * scale.jobs,
      delayed: messages.later * scale.jobs,
    }),
  };
}

type Message = readonly Job[];

/** The messages of the queue. `ready`: those that are visible, of which `next` were taken. `later`: how many are delayed. */
type Messages = { readonly delayed: Map<number, Message[]>; later: number; ready: Message[]; next: number };

function hideUntil(messages: Messages, at: number, message: Message): void {
  const mates = messages.delayed.get(at) ?? [];
  mates.push(message);
  messages.delayed.set(at, mates);
  messages.later += 1;
}

function showMessages(messages: Messages, now: number): void {
  const shown = messages.delayed.get(now) ?? [];
  for (const message of shown) messages.ready.push(message);
  messages.later -= shown.length;
  messages.delayed.delete(now);
}

/** Answers the jobs of a batch of messages. A modelled message that stands for more jobs than a batch stands for several batches. */
function takeBatch(messages: Messages, scale: Scale): Job[] | undefined {
  if (messages.next >= messages.ready.length) return undefined;
  const batch = Math.min(BATCH, Math.ceil(BATCH_JOBS / scale.jobs));
  const taken = messages.ready.slice(messages.next, messages.next + batch);
  messages.next += taken.length;
  return taken.flat();
}

function forgetTaken(messages: Messages): void {
  if (messages.next <= messages.ready.length / 2) return;
  messages.ready = messages.ready.slice(messages.next);
  messages.next = 0;
}

function invocationsFor({ jobs }: Scale): number {
  return Math.max(jobs / BATCH_JOBS, 1);
}

/** How many provisioned pollers there are. `busyFor`: for how long messages have waited, ms. */
function pollersAfter(least: number, busyFor: number): number {
  const { invocations, aMinute, most } = AWS.poller;
  return Math.min(least + (aMinute / invocations) * (busyFor / 60_000), most / invocations);
}

function pollsInStep({ pollers, scale }: ConsumerSettings, busyFor: number): number {
  if (!pollers) return Number.POSITIVE_INFINITY;
  return (pollersAfter(pollers, busyFor) * AWS.poller.receives * STEP) / 1000 / invocationsFor(scale);
}

function invocationsAllowed({ invocations, pollers }: ConsumerSettings, busyFor: number): number {
  const { mapping, poller } = AWS;
  const minutes = busyFor / 60_000;
  const polled = pollers
    ? pollersAfter(pollers, busyFor) * poller.invocations
    : Math.min(mapping.first + mapping.aMinute * minutes, mapping.most);
  const scaled = AWS.environmentsInTenSeconds * (1 + busyFor / 10_000);
  return Math.min(invocations, polled, scaled, AWS.inFlight / BATCH);
}

type Runs = {
  readonly timeline: Timeline;
  readonly partitions: Partitions;
  readonly settings: ConsumerSettings;
  readonly usage: Consumers["usage"];
  readonly invocations: { running: number; environments: number };
  readonly isFirst: (job: Job) => boolean;
};

function pollMessages(runs: Runs, messages: Messages, busyFor: number): void {
  const { settings, invocations, isFirst } = runs;
  const polls = pollsInStep(settings, busyFor);
  const most = invocationsAllowed(settings, busyFor);
  for (let polled = 0; polled < polls && invocations.running < most; polled++) {
    const jobs = takeBatch(messages, settings.scale);
    if (!jobs) return;
    // A claim drops a job's second message.
    runBatch(runs, jobs.filter(isFirst));
  }
}

function runBatch({ timeline, partitions, settings, usage, invocations }: Runs, jobs: readonly Job[]): void {
  const { scale, started, finished } = settings;
  const atOnce = invocationsFor(scale);
  invocations.running += atOnce;
  usage.invocations += atOnce;
  usage.sqsRequests += 2 * atOnce;
  const isCold = invocations.running > invocations.environments;
  invocations.environments = Math.max(invocations.environments, invocations.running);
  const begun = timeline.now() + ASSUMED.delivery + (isCold ? ASSUMED.coldStart : 0);
  // A modelled job that stands for many jobs runs in several waves. The middle one stands for all.
  const width = Math.max(AT_ONCE / scale.jobs, 1);
  const waves = Math.max(scale.jobs / (AT_ONCE * atOnce), 1);
  let end = begun;
  for (let i = 0; i < jobs.length; i += width) {
    const wave = jobs.slice(i, i + width);
    const waits = wave.map(({ bucket }) => partitions.queueWrite(bucket.pk, WRITES * scale.jobs));
    usage.throttles += waits.filter((ms) => ms > 0).length * scale.jobs;
    const claimed = Math.max(end, ...waits.map((ms) => timeline.now() + ms));
    const at = claimed + ASSUMED.answer.dynamodb + ((waves - 1) / 2) * WAVE;
    for (const job of wave) {
      started(job, at);
      timeline.at(at + WAVE, () => finished(job));
    }
    end = claimed + waves * WAVE;
  }
  usage.ms += (end - begun) * atOnce;
  timeline.at(end, () => {
    invocations.running -= atOnce;
  });
}

function firstMessages(): (job: Job) => boolean {
  const seen = new Map<Job["bucket"], Uint8Array>();
  return ({ bucket, index }) => {
    const known = seen.get(bucket) ?? new Uint8Array(bucket.count);
    seen.set(bucket, known);
    const isFirst = known[index] === 0;
    known[index] = 1;
    return isFirst;
  };
}
