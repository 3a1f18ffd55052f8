import { type DirectWorker, directWorkerOn } from "../../client/direct-worker.ts";
import { BATCH_JOBS } from "../../core/constants.ts";
import type { Policy, TopicPolicy } from "../../core/policy.ts";
import { chunksOf } from "../../general/batches.ts";
import { enqueue } from "../../protocol/file/enqueue.ts";
import type { NewJob } from "../../protocol/new-job.ts";
import { fileJobs } from "../due-jobs.ts";
import { BODY, newJobs } from "../jobs.ts";
import { MONTH_HOURS } from "../prices.ts";
import { type BilledQueue, startBilledQueue } from "./aws.ts";
import { type Deployed, deployedQueue } from "./deployed.ts";
import { type Line, lineOf } from "./table.ts";
import { NOTHING, type Usage } from "./usage.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const MILLION = 1e6;
const HOUR = 60 * MINUTE;
const TOPIC = "orders";
const COUNT = 2000;
const AHEAD = 15 * MINUTE;

/** What one workload used: `per` job, or in a month. */
export type Billed = { readonly workload: string; readonly per: "job" | "month"; readonly usage: Usage };

/** Files `COUNT` jobs that are due at `dueAt`. */
type File = (queue: BilledQueue, dueAt: number) => Promise<unknown>;

/** Runs every workload on a queue of its own, and answers their bills. Takes less than a minute. */
export async function billAll(): Promise<Line[]> {
  const deployed = deployedQueue();
  const start = (topic: Partial<TopicPolicy> = {}, more: Partial<Policy> = {}) =>
    startOf(deployed, topic, more);
  const idle = await idleMonth(start());
  const perHour = scaled(idle.usage, 1 / MONTH_HOURS);
  const burst = (workload: string, file: File, queue = start(), runs = true) =>
    burstOf(workload, queue, file, perHour, runs);
  const billed = [
    await burst("tracked jobs, a burst filed in batches from inside AWS", batches),
    await steady("tracked jobs, 12 a second", start(), SECOND / 12, 5 * MINUTE),
    await steady("tracked jobs, one every 2.5 s", start(), 2.5 * SECOND, HOUR),
    await burst("untracked jobs, a burst", batches, start({ tracking: "none" })),
    await burst("tracked jobs, one HTTP call each", httpCalls),
    await burst("tracked jobs, HTTP calls of 500", httpBatches),
    await burst("keyed jobs, filed and run", keyed),
    await burst("keyed jobs, filed and cancelled by key", keyedAndCancelled, start(), false),
    await burst("far jobs", batches, start({}, { longDelay: 5 * 60 })),
    idle,
    await pulledMonth("over HTTP", start({ consumer: "pull" }), ({ client }) => client),
    await pulledMonth("directly", start({ consumer: "pull" }), ({ program }) =>
      directWorkerOn(program, console),
    ),
  ];
  return billed.map(lineOf);
}

function startOf(deployed: Deployed, topic: Partial<TopicPolicy>, more: Partial<Policy>): BilledQueue {
  const policy: Policy = {
    shards: 8,
    retention: 7 * 86_400,
    deadRetention: 90 * 86_400,
    topics: { [TOPIC]: topic },
    ...more,
  };
  return startBilledQueue(policy, deployed);
}

const jobsDueAt = (dueAt: number): NewJob[] => newJobs(COUNT, TOPIC, () => dueAt);

const batches: File = ({ program }, dueAt) => fileJobs({ ctx: program }, jobsDueAt(dueAt));

const httpCalls: File = async ({ client }, dueAt) => {
  for (let i = 0; i < COUNT; i++) await client.enqueue(TOPIC, BODY, { dueAt: new Date(dueAt) });
};

const httpBatches: File = async ({ client }, dueAt) => {
  const jobs = Array.from({ length: COUNT }, () => ({ topic: TOPIC, body: BODY, dueAt: new Date(dueAt) }));
  for (const some of chunksOf(jobs, BATCH_JOBS)) await client.enqueueMany(some);
};

const keyed: File = async ({ program }, dueAt) => {
  for (const [i, job] of jobsDueAt(dueAt).entries()) await enqueue(program, { ...job, key: `order-${i}` });
};

const keyedAndCancelled: File = async (queue, dueAt) => {
  await keyed(queue, dueAt);
  for (let i = 0; i < COUNT; i++) await queue.client.cancelByKey(TOPIC, `order-${i}`);
};

/** A queue without jobs. */
async function idleMonth(queue: BilledQueue): Promise<Billed> {
  await settleIn(queue);
  await letPass(queue, HOUR);
  return { workload: "an idle queue of one topic", per: "month", usage: scaled(queue.bill(), MONTH_HOURS) };
}

/** One worker that always waits for jobs, and there are none. Beside that, the queue costs as much as an idle one. */
async function pulledMonth(
  how: string,
  queue: BilledQueue,
  workerOf: (queue: BilledQueue) => DirectWorker,
): Promise<Billed> {
  await settleIn(queue);
  const worker = workerOf(queue);
  const end = queue.timeline.now() + HOUR;
  const wait = async (): Promise<void> => {
    while (queue.timeline.now() < end) await worker.receive(TOPIC, { max: 10, waitSeconds: 20 });
  };
  void wait();
  await letPass(queue, HOUR);
  return {
    workload: `an idle queue with one worker that pulls ${how}`,
    per: "month",
    usage: scaled(queue.bill(), MONTH_HOURS),
  };
}

/** Jobs that are all due at the same second. What an idle queue would have cost in the same time is not counted. */
async function burstOf(
  workload: string,
  queue: BilledQueue,
  file: File,
  perHour: Usage,
  runs: boolean,
): Promise<Billed> {
  await settleIn(queue);
  const began = queue.timeline.now();
  const dueAt = began + AHEAD;
  let isFiled = false;
  void file(queue, dueAt).then(() => {
    isFiled = true;
  });
  await letPass(queue, AHEAD + 3 * MINUTE);
  if (!isFiled) throw new Error(`${workload}: the jobs were not filed before they were due`);
  if (queue.started() !== (runs ? COUNT : 0))
    throw new Error(`${workload}: ${queue.started()} of ${COUNT} jobs were started`);
  const hours = (queue.timeline.now() - began) / HOUR;
  const storedGigabyteMonths = queue.storage();
  const spent = combined(queue.bill(), perHour, (all, idle) => Math.max(all - idle * hours, 0));
  const usage = scaled({ ...spent, storedGigabyteMonths }, 1 / COUNT);
  // The metrics have values in no more hours if a million jobs are in the burst.
  return { workload, per: "job", usage: { ...usage, metricHours: spent.metricHours / MILLION } };
}

/**
 * Files jobs one by one from inside AWS, each six minutes before it is due. Measures when as many jobs run as are filed. Counts all costs,
 * also those that an idle queue has.
 */
async function steady(workload: string, queue: BilledQueue, every: number, during: number): Promise<Billed> {
  const { timeline, program } = queue;
  const lead = 6 * MINUTE;
  await settleIn(queue);
  const end = timeline.now() + lead + MINUTE + during;
  const fileNext = (at: number): void => {
    if (at >= end) return;
    timeline.at(at, () => {
      void enqueue(program, { topic: TOPIC, body: JSON.stringify(BODY), dueAt: timeline.now() + lead });
      fileNext(at + every);
    });
  };
  fileNext(timeline.now());
  await letPass(queue, lead + MINUTE);
  queue.bill();
  const [before, stored] = [queue.started(), queue.storage()];
  await letPass(queue, during);
  const count = queue.started() - before;
  if (Math.abs(count - during / every) > during / every / 20)
    throw new Error(`${workload}: ${count} jobs were started in place of about ${during / every}`);
  const spent = { ...queue.bill(), storedGigabyteMonths: queue.storage() - stored };
  return { workload, per: "job", usage: scaled(spent, 1 / count) };
}

/** Lets the first ticks bring the cursors to the present. */
async function settleIn(queue: BilledQueue): Promise<void> {
  await letPass(queue, 20 * MINUTE);
  queue.bill();
}

function letPass({ timeline }: BilledQueue, ms: number): Promise<void> {
  return timeline.run(timeline.now() + ms, () => false);
}

function scaled(usage: Usage, factor: number): Usage {
  return combined(usage, NOTHING, (value) => value * factor);
}

function combined(a: Usage, b: Usage, of: (a: number, b: number) => number): Usage {
  const entries = Object.keys(NOTHING).map((name) => [
    name,
    of(a[name as keyof Usage], b[name as keyof Usage]),
  ]);
  return Object.fromEntries(entries) as Usage;
}
