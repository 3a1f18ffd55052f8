import { App, Duration, Stack } from "aws-cdk-lib";
import { DelayQueue } from "minutehand/cdk";
import {
  type Client,
  createClient,
  type DirectWorker,
  directClient,
  directWorker,
  type EnqueueArguments,
  type Job,
  type NewJobRequest,
  type PulledJob,
  pull,
  type TopicsOf,
} from "minutehand/client";
import { type CheckedJob, consumer, type Job as HandledJob, type JobHandler } from "minutehand/consumer";
import { createTestQueue } from "minutehand/testing";
import * as z from "zod/mini";
import type { Topics } from "./topics.ts";

// What must compile. The functions are never called.

export async function bodiesThatComeBack(client: Client<Topics>): Promise<string[]> {
  const filed = await client.enqueue("order-timeout", { orderId: "17" }, { delay: "30m" });
  const read = await client.get("id");
  const refund = { topic: "refund", key: "key" } as const;
  const byKey = await client.get(refund);
  await client.reschedule(refund, { delay: 1, body: { refundId: "r-2" } });
  await client.reschedule(refund, { shift: "-30m", body: { refundId: "r-3" } });
  const late = await client.cancelIfWaiting(refund);
  for (const delay of ["1d2h3m4s5ms", "90s", "1h30m", "7d", "250ms", 0.5, "366d"] as const)
    await client.reschedule(refund, { delay });
  const [pulled] = await client.receive("refund");
  const finished = await client.finish("refund", pulled?.receipt ?? "");
  const weekly = { expression: "rate(7 days)", topic: "refund", body: { refundId: "r-1" } } as const;
  const schedule = await client.putSchedule("weekly", weekly);
  for await (const { topic } of client.list({ topic: "refund" })) topic satisfies "refund";
  for await (const { topic } of client.list()) topic satisfies keyof Topics;
  for await (const { counts } of client.counts({ step: "1h" })) counts.length satisfies number;
  return [
    filed.body.orderId,
    read.topic === "refund" ? read.body.refundId : read.body.orderId,
    byKey.body.refundId,
    late.outcome === "cancelled" ? late.job.body.refundId : late.outcome,
    pulled?.body.refundId ?? "",
    finished.body?.refundId ?? "",
    schedule.body.refundId,
  ];
}

/** Durations in a list that stands in a variable. */
export async function listsInVariables(client: Client<Topics>, ids: readonly string[]): Promise<void> {
  const jobs: NewJobRequest<Topics>[] = [];
  for (const orderId of ids) jobs.push({ topic: "order-timeout", body: { orderId }, delay: "30m" });
  await client.enqueueMany(jobs);
  const refunds = ids.map((refundId): NewJobRequest<Topics> => {
    return { topic: "refund", body: { refundId }, delay: "1h30m" };
  });
  await client.enqueueMany(refunds);
}

/** A client over HTTP and that of a test are workers too. */
export async function workers(client: Client<Topics>): Promise<string[]> {
  const test = createTestQueue<Topics>({
    topics: { refund: { consumer: "pull" }, "order-timeout": { consumer: "pull" } },
  });
  const all: DirectWorker<Topics>[] = [directWorker<Topics>(), client, test.client];
  const pulled = await Promise.all(all.map((worker) => worker.receive("refund", { waitSeconds: 20 })));
  const [{ signal: stop }, refunds] = [new AbortController(), [] as string[]];
  await pull(client, "refund", ({ body }) => refunds.push(body.refundId), { stop });
  await pull(directWorker<Topics>(), "order-timeout", async ({ body }) => body.orderId, { stop });
  await pull(test.client, "refund", ({ id }, lost) => fetch(id, { signal: lost }), { stop, concurrency: 10 });
  return pulled.flat().map(({ body }) => body.refundId);
}

export const handlers = {
  byTopic: consumer<Topics, "order-timeout">(async ({ topic, body }) => {
    topic satisfies "order-timeout";
    return body.orderId;
  }),
  byBody: consumer<{ orderId: string }>(async ({ body }) => body.orderId),
  untyped: consumer((job) => job.body satisfies unknown),
  inferred: consumer(((job) => job.body.orderId) satisfies JobHandler<{ orderId: string }>),
};

/** Bodies as what JSON makes of them. */
type Dated = {
  at: Date;
  tags?: string[];
  price: { toJSON(): number };
  note: string | undefined;
  who: Person;
};
class Person {
  name = "Ada";
  greet(): string {
    return `Hello, ${this.name}`;
  }
}

export async function bodiesAsJson(client: Client<{ t: Dated }>): Promise<unknown> {
  const body = { at: new Date(), price: { toJSON: () => 1 }, note: undefined, who: new Person() };
  await client.enqueue("t", body, { delay: 1 });
  const [pulled] = await client.receive("t");
  const { body: read } = await client.get({ topic: "t", key: "key" });
  const whole: {
    at: string;
    tags?: string[];
    price: number;
    note: string | undefined;
    who: { name: string };
  } = read;
  const test = createTestQueue<{ t: Dated }>({ topics: { t: { handler: (job) => job.body.at.trim() } } });
  const handler = consumer<Dated>((job) => [job.body.at.trim(), job.body.price.toFixed(), job.body.who.name]);
  return [pulled?.body.at.trim(), whole, test.jobs("t")[0]?.body.at.trim(), handler];
}

/** A function for any job takes each job. */
const log = (job: HandledJob): unknown => job.body;
const logged: JobHandler<unknown> = (job) => log(job);
export const passedOn = [
  consumer<{ orderId: string }>((job) => log(job)),
  consumer((job: HandledJob<{ orderId: string }>) => job.body.orderId),
  logged satisfies JobHandler<{ orderId: string }>,
  ((job) => job) satisfies (job: PulledJob<{ orderId: string }>) => PulledJob,
  ((job) => job) satisfies (job: HandledJob<{ at: Date }>) => HandledJob<{ at: string }>,
];

const schemas = {
  "order-timeout": z.object({ orderId: z.string() }),
  reminder: z.object({
    at: z.pipe(
      z.iso.datetime(),
      z.transform((text: string) => new Date(text)),
    ),
  }),
};

export async function schemasOfTopics(): Promise<unknown[]> {
  const client = createClient({ url: "http://127.0.0.1:4500", schemas });
  await client.enqueue("order-timeout", { orderId: "17" }, { delay: 1 });
  await directClient({ schemas }).enqueue("reminder", { at: "2030-01-02T09:00:00Z" }, { delay: 1 });
  const typed = createClient<TopicsOf<typeof schemas>>({ url: "http://127.0.0.1:4500", schemas });
  const yearOf = (job: CheckedJob<{ at: Date }>): number => job.body.at.getFullYear();
  const handler = consumer((job) => yearOf(job) - job.body.at.getTime(), { schema: schemas.reminder });
  const test = createTestQueue({ topics: { reminder: { handler } }, schemas });
  await test.client.enqueue("reminder", { at: "2030-01-02T09:00:00Z" }, { delay: 1 });
  return [typed satisfies Client<{ "order-timeout": { orderId: string } }>];
}

/** One function for several topics. */
const ofBoth = consumer<Topics, "order-timeout" | "refund">((job) =>
  job.topic === "refund" ? job.body.refundId : job.body.orderId,
);
createTestQueue<Topics>({ topics: { "order-timeout": { handler: ofBoth }, refund: { handler: ofBoth } } });

export async function testKit(): Promise<string[]> {
  const typed = createTestQueue<Topics>({
    topics: {
      "order-timeout": { handler: handlers.byTopic, backoff: ["10m", 60] },
      // The inline handler knows its job.
      refund: { handler: async ({ body }) => body.refundId.trim() },
    },
  });
  const inferred = createTestQueue({
    topics: {
      "order-timeout": { handler: handlers.byBody },
      refund: { handler: (job) => job.id.trim() },
      mail: { consumer: "pull" },
    },
  });
  await inferred.client.enqueue("refund", "any body", { delay: 1 });
  return [...typed.jobs("refund").map(({ body }) => body.refundId), inferred.jobs("order-timeout")[0]?.body]
    .map((body) => (typeof body === "string" ? body : body?.orderId))
    .filter((text) => text !== undefined);
}

export function app(stack = new Stack(new App())): DelayQueue {
  const backoff = [Duration.minutes(10), 60];
  const queue = new DelayQueue<Topics>(stack, "Jobs", {
    topics: { "order-timeout": { backoff }, refund: {} },
  });
  queue.addHandler("refund", "refund.ts");
  return queue;
}

/** Code that users wrote before topics had types. */
export async function before(names: readonly string[]): Promise<unknown[]> {
  const untyped: Client = createClient({ url: "http://127.0.0.1:4500" });
  const typed = createClient<Topics>({ url: "http://127.0.0.1:4500" });
  await untyped.enqueue<Topics>("refund", { refundId: "r-1" }, { delay: 60 });
  for (const name of names) await untyped.enqueue(name, { any: "body" }, { dueAt: new Date() });
  const wrapped = (...args: EnqueueArguments<Topics>): Promise<Job> => typed.enqueue(...args);
  await wrapped("refund", { refundId: "r-1" }, { delay: 60 });
  const time = names.length > 0 ? { delay: 60 } : { dueAt: new Date() };
  const job: Job = await directClient<Topics>().put("refund", "key", { body: { refundId: "r-1" }, ...time });
  const topics = Object.fromEntries(names.map((name) => [name, {}]));
  const queue: DelayQueue = new DelayQueue(new Stack(new App()), "Jobs", { topics });
  for (const name of names) queue.addHandler(name, `${name}.ts`);
  // A producer takes the client of a queue with any topics.
  const producers: Client<Topics>[] = [
    ...[typed, untyped],
    createTestQueue({ topics: { refund: { handler: () => {} } } }).client,
  ];
  return [job, ...producers];
}
