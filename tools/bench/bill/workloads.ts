import { type DirectWorker, directWorkerOn } from "../../../src/client/direct-worker.ts";
import { BATCH_JOBS, DAY } from "../../../src/core/constants.ts";
import { chunksOf } from "../../../src/general/batches.ts";
import { enqueue } from "../../../src/protocol/file/enqueue.ts";
import type { NewJob } from "../../../src/protocol/new-job.ts";
import type { Policy, TopicPolicy } from "../../../src/settings/policy.ts";
import { fileJobs } from "../due-jobs.ts";
import { BODY, newJobs } from "../jobs.ts";
import { MONTH_HOURS } from "../prices.ts";
import { type BilledQueue, startBilledQueue } from "./aws.ts";
import { type Deployed, deployedQueue } from "./deployed.ts";
import { type Bill, type Billed, combined, mapped, scaled } from "./usage.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const MILLION = 1e6;
const HOUR = 60 * MINUTE;
const TOPIC = "orders";
const COUNT = 2000;
/** How long a finished job is stored: ms. */
const RETENTION = 7 * DAY;
const AHEAD = 15 * MINUTE;

type File = (queue: BilledQueue, dueAt: number) => Promise<unknown>;

/** Runs every workload on a queue of its own, and answers what each used. Takes less than a minute. */
// long: the list of workloads
export async function billAll(): Promise<Bill> {
  const deployed = deployedQueue();
  const start = (topic: Partial<TopicPolicy> = {}, more: Partial<Policy> = {}) =>
    startOf(deployed, topic, more);
  const far = (topic: Partial<TopicPolicy> = {}) => start(topic, { longDelay: 5 * 60 });
  const bounded = start({ maxFiledPerMinute: 1 });
  const pull = (workerOf: WorkerOf) => withWorker(start({ consumer: "pull" }), workerOf);
  const idle = await month("an idle queue of one topic", start());
  const pulling = await month("an idle queue with one worker that pulls over HTTP", pull(overHttp));
  const pullingDirectly = await month("an idle queue with one worker that pulls directly", pull(directly));
  const burst = (workload: string, file: File, queue = start(), runs = true) =>
    burstOf(workload, queue, file, idle, runs);
  const billed = [
    await burst("tracked jobs, a burst filed in batches from inside AWS", batches),
    await steady("tracked jobs, 40 a second", start(), SECOND / 40, 2 * MINUTE),
    await steady("tracked jobs, 12 a second", start(), SECOND / 12, 5 * MINUTE),
    await steady("tracked jobs, one every 2.5 s", start(), 2.5 * SECOND, HOUR),
    await burst("untracked jobs, a burst", batches, start({ tracking: "none" })),
    await burst("tracked jobs, one HTTP call each", httpCalls),
    await burst("tracked jobs, HTTP calls of 500", httpBatches),
    await burst("untracked jobs, one HTTP call each", httpCalls, start({ tracking: "none" })),
    await burst("untracked jobs, HTTP calls of 500", httpBatches, start({ tracking: "none" })),
    await burst("keyed jobs, filed and run", keyed),
    await steady("keyed jobs, 12 a second", start(), SECOND / 12, 5 * MINUTE, (i) => ({ key: `order-${i}` })),
    await burst("keyed jobs, one HTTP call each", keyedHttpCalls),
    await burst("keyed jobs, HTTP calls of 500", keyedHttpBatches),
    await burst("keyed jobs, filed and cancelled by key", keyedAndCancelled, start(), false),
    await burst("tracked jobs, filed and cancelled by id", cancelled, start(), false),
    await burst("jobs above maxFiledPerMinute, one HTTP call each", refusedCalls, bounded, false),
    await burst("far jobs", batches, far()),
    await burst("far jobs, filed and cancelled by id", cancelled, far(), false),
    await burstOf("tracked jobs, a burst pulled over HTTP", pull(overHttp), batches, pulling, true),
    await steady("tracked jobs, one every 2.5 s, pulled over HTTP", pull(overHttp), 2.5 * SECOND, HOUR),
    await burstOf("tracked jobs, a burst pulled directly", pull(directly), batches, pullingDirectly, true),
    await steady("tracked jobs, one every 2.5 s, pulled directly", pull(directly), 2.5 * SECOND, HOUR),
    idle,
    await month("an idle queue of two topics", start({}, { topics: { [TOPIC]: {}, others: {} } })),
    await month("an idle queue of one topic with 64 shards", start({}, { shards: 64 })),
    pulling,
    pullingDirectly,
  ];
  return {
    bodyBytes: Buffer.byteLength(JSON.stringify(BODY)),
    retentionDays: RETENTION / DAY,
    pollers: deployed.pollers,
    billed: billed.map((one) => ({ ...one, usage: mapped(one.usage, rounded) })),
  };
}

function startOf(deployed: Deployed, topic: Partial<TopicPolicy>, more: Partial<Policy>): BilledQueue {
  const policy: Policy = {
    shards: 8,
    retention: RETENTION / SECOND,
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

/** The topic takes one job a minute, which is due after the measurement. */
const refusedCalls: File = async ({ client }, dueAt) => {
  for (let i = 0; i < COUNT; i++)
    await client.enqueue(TOPIC, BODY, { dueAt: new Date(dueAt + DAY) }).catch(onlyRefused);
};

function onlyRefused(error: { code?: string }): void {
  if (error.code !== "too-many-filed") throw error;
}

const keyedHttpCalls: File = async ({ client }, dueAt) => {
  for (let i = 0; i < COUNT; i++)
    await client.enqueue(TOPIC, BODY, { dueAt: new Date(dueAt), key: `order-${i}` });
};

const httpBatches: File = (queue, dueAt) => fileInBatches(queue, dueAt, () => ({}));

const keyedHttpBatches: File = (queue, dueAt) => fileInBatches(queue, dueAt, (i) => ({ key: `order-${i}` }));

async function fileInBatches(
  { client }: BilledQueue,
  dueAt: number,
  more: (i: number) => { key?: string },
): Promise<void> {
  const job = { topic: TOPIC, body: BODY, dueAt: new Date(dueAt) };
  const jobs = Array.from({ length: COUNT }, (_, i) => ({ ...job, ...more(i) }));
  for (const some of chunksOf(jobs, BATCH_JOBS)) await client.enqueueMany(some);
}

const keyed: File = async ({ program }, dueAt) => {
  for (const [i, job] of jobsDueAt(dueAt).entries()) await enqueue(program, { ...job, key: `order-${i}` });
};

const keyedAndCancelled: File = async (queue, dueAt) => {
  await keyed(queue, dueAt);
  for (let i = 0; i < COUNT; i++) await queue.client.cancel({ topic: TOPIC, key: `order-${i}` });
};

const cancelled: File = async ({ program: ctx, client }, dueAt) => {
  for (const { id } of await fileJobs({ ctx }, jobsDueAt(dueAt))) await client.cancel(id);
};

type WorkerOf = (queue: BilledQueue) => DirectWorker;
const overHttp: WorkerOf = ({ client }) => client;
const directly: WorkerOf = ({ program }) => directWorkerOn(program, console);

/** Adds a worker that always waits for jobs, and finishes each of them at once. Its jobs count as started when they are finished. */
function withWorker(queue: BilledQueue, workerOf: WorkerOf): BilledQueue {
  const worker = workerOf(queue);
  let finished = 0;
  const work = async (): Promise<never> => {
    for (;;) {
      for (const { receipt } of await worker.receive(TOPIC, { max: 10, waitSeconds: 20 })) {
        await worker.finish(TOPIC, receipt);
        finished += 1;
      }
    }
  };
  void work();
  return { ...queue, started: () => finished };
}

/** A month without jobs. Counts all costs of the queue. */
async function month(workload: string, queue: BilledQueue): Promise<Billed> {
  await settleIn(queue);
  await letPass(queue, HOUR);
  return { workload, per: "month", usage: scaled(queue.bill(), MONTH_HOURS) };
}

/** Jobs that are all due at the same second. What the queue would have cost in the same time without jobs is not counted. */
async function burstOf(
  workload: string,
  queue: BilledQueue,
  file: File,
  idle: Billed,
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
  const stored = queue.storage();
  const without = scaled(idle.usage, hours / MONTH_HOURS);
  const spent = combined(queue.bill(), without, (all, idle) => Math.max(all - idle, 0));
  // In a burst of a million jobs, the metrics have values in as many hours as in this one, and about as many environments start.
  const { metricHours, topicMetricHours, coldGigabyteSeconds } = scaled(spent, 1 / MILLION);
  const once = { metricHours, topicMetricHours, coldGigabyteSeconds };
  const usage = { ...scaled({ ...spent, ...stored }, 1 / COUNT), ...once };
  return { workload, per: "job", usage };
}

/** Each six minutes before it is due. Measured when as many jobs run as are filed. Counts all costs, also those of an idle queue. */
async function steady(
  workload: string,
  queue: BilledQueue,
  every: number,
  during: number,
  more: (i: number) => { key?: string } = () => ({}),
): Promise<Billed> {
  const { timeline, program } = queue;
  const lead = 6 * MINUTE;
  await settleIn(queue);
  const end = timeline.now() + lead + MINUTE + during;
  const fileNext = (at: number, i: number): void => {
    if (at >= end) return;
    timeline.at(at, () => {
      const job = { topic: TOPIC, body: JSON.stringify(BODY), dueAt: timeline.now() + lead };
      void enqueue(program, { ...job, ...more(i) });
      fileNext(at + every, i + 1);
    });
  };
  fileNext(timeline.now(), 0);
  await letPass(queue, lead + MINUTE);
  queue.bill();
  const [before, stored] = [queue.started(), queue.storage()];
  await letPass(queue, during);
  const count = queue.started() - before;
  if (Math.abs(count - during / every) > during / every / 20)
    throw new Error(`${workload}: ${count} jobs were started in place of about ${during / every}`);
  const { storedGigabyteMonths, bodyStoredMonths } = queue.storage();
  const spent = {
    ...queue.bill(),
    storedGigabyteMonths: storedGigabyteMonths - stored.storedGigabyteMonths,
    bodyStoredMonths: bodyStoredMonths - stored.bodyStoredMonths,
  };
  return { workload, per: "job", usage: scaled(spent, 1 / count) };
}

async function settleIn(queue: BilledQueue): Promise<void> {
  await letPass(queue, 20 * MINUTE);
  queue.bill();
}

function letPass({ timeline }: BilledQueue, ms: number): Promise<void> {
  return timeline.run(timeline.now() + ms, () => false);
}

/** Six digits are enough for cents, and a reader of the file can compare them. */
function rounded(value: number): number {
  return Number(value.toPrecision(6));
}
