import { GetScheduleCommand } from "@aws-sdk/client-scheduler";
import { PurgeQueueCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { expect } from "vitest";
import { DAY } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import {
  bulkNoteKey,
  keyItemKey,
  limitedKey,
  minuteOf,
  parkedKey,
  pausedTopicKey,
  startsKey,
  ttl,
} from "../../src/core/item-keys.ts";
import { counterOf } from "../../src/core/limit.ts";
import { deadText, jobText, messageText } from "../../src/core/message.ts";
import { callMarkOf } from "../../src/http/new-job.ts";
import { cancelByEvent } from "../../src/protocol/change/cancel-by-event.ts";
import { pauseTopic, resumeTopic } from "../../src/protocol/change/pause.ts";
import { enqueue } from "../../src/protocol/file/enqueue.ts";
import type { NewJob } from "../../src/protocol/new-job.ts";
import { claim } from "../../src/protocol/run/claim.ts";
import { readJob } from "../../src/protocol/store/read-job.ts";
import { MINUTE, SECOND } from "../support/world.ts";
import { type Answer, type Deployment, LIMIT, MARK } from "./deployment.ts";
import type { Recorder } from "./recorder.ts";
import type { AwsRequest } from "./rights.ts";

/** A body that tells a consumer what to do, such as to fail, and that must not appear in a log. */
export const marked = (more: object = {}) => ({ text: `${MARK} body`, ...more });
export const secrets = { headers: { h: `${MARK} header` }, tag: `${MARK}-tag`, group: `${MARK}-group` };

export const TRACKED = ["orders", "precise", "work", "hooks", "copies"] as const;
export const TOPICS = [...TRACKED, "notes", "events"] as const;

type Job = { id: string; receipt: string };

/** An action before the first request of a kind is sent. */
export type Step = [is: (request: AwsRequest) => boolean, act: () => unknown];

const partitionOf = (item: unknown) => String((item as { pk?: { S: string } } | undefined)?.pk?.S);
export const isReceive = ({ operation }: AwsRequest) => operation === "ReceiveMessage";
export const isNote = ({ operation, input }: AwsRequest) =>
  operation === "PutItem" && partitionOf(input.Item).startsWith("paused#");
/** Changes a pause that is there. */
export const isPause = ({ operation, input }: AwsRequest) =>
  operation === "UpdateItem" && partitionOf(input.Key).startsWith("pause#");
/** Reads a minute of a shard. The first query of a tick may be another: once an hour the tick compares schedules. */
export const isSweep = ({ operation, input }: AwsRequest) =>
  operation === "Query" && /^\d.*#/.test(String(inputValues(input)[":pk"]?.S));
const inputValues = (input: AwsRequest["input"]) =>
  (input.ExpressionAttributeValues ?? {}) as Record<string, { S?: string } | undefined>;

export function createScenes(deployment: Deployment) {
  return {
    ...deployment,
    ...createCalls(deployment),
    ...createJobs(deployment),
    ...createMessages(deployment),
    ...createTroubles(deployment),
    ...createPauses(deployment),
    ...createLimits(deployment),
    ...createLateness(deployment),
  };
}

function createCalls({ call }: Deployment) {
  const ok = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const answered = await call(method, path, body, headers);
    expect({ method, path, ...answered }).toSatisfy(({ status }: Answer) => status < 300);
    return answered.json;
  };
  const fileByApi = async (topic: string, more: object = {}) =>
    String((await ok("POST", "/jobs", { topic, body: marked(), delay: 0, ...more })).id);
  const pull = async (topic: string): Promise<Job[]> =>
    (await ok("POST", `/topics/${topic}/receive`, { max: 10 })).jobs as Job[];
  return {
    ok,
    newKey: () => `${MARK}-key-${keys++}`,
    fileByApi,
    pull,
    pullOne: async (topic: string, more: object = {}): Promise<Job> => {
      const id = await fileByApi(topic, more);
      // The queue may hand out other jobs first.
      for (let i = 0; i < 20; i++) {
        const job = (await pull(topic)).find((pulled) => pulled.id === id);
        if (job) return job;
      }
      throw new Error(`${id} did not come`);
    },
  };
}

/** Jobs, in calls that are not recorded. */
function createJobs({ ctx, receivers, pass }: Deployment) {
  return {
    /** Files a job by a call that is not recorded. A tracked job gets an `Idempotency-Key`, which a move of the job must prolong. */
    file: async (topic: string, more: Partial<NewJob> = {}) => {
      const once = { token: `${MARK}-once-${keys++}`, hash: "h", lasts: -DAY };
      const isTracked = (TRACKED as readonly string[]).includes(topic);
      const says = { topic, body: JSON.stringify(marked()), dueAt: ctx.clock() };
      const job: NewJob = { ...says, ...(isTracked ? { once } : {}), ...more };
      if (topic === "hooks") job.callbackUrl = `${receivers.url}?token=${MARK}`;
      return (await enqueue(ctx, job)).home;
    },
    /** Files a tracked job of a topic that is untracked now. */
    fileBefore: async (topic: string, more: Partial<NewJob> = {}) => {
      const { topics } = ctx.policy;
      const before = { ...ctx, policy: { ...ctx.policy, topics: { ...topics, [topic]: {} } } };
      return (await enqueue(before, { topic, body: JSON.stringify(marked()), dueAt: ctx.clock(), ...more }))
        .home;
    },
    home: (id: string): Promise<Home> => readJob(ctx, id),
    /** Claims a job as a process that then dies. */
    crash: async (home: Home, meanwhile?: () => Promise<void>) => {
      const { id, revision } = home;
      const job = { id, revision, attempt: 1, dueAt: new Date(home.dueAt).toISOString(), body: null };
      await claim(ctx, home.topic, [job], ctx.clock() + SECOND);
      await meanwhile?.();
      pass(20 * SECOND);
    },
    /** Cancels the job of a key by an event, in a call that is not recorded. */
    disown: async (topic: string, key = "") => {
      const at = ctx.clock();
      await cancelByEvent(ctx, { id: `event ${key}`, topic, key, at, until: at });
    },
    /** Deletes the key item of a finished job, as TTL does. */
    forgetKeyOf: async (id: string) => {
      const { topic, key = "" } = await readJob(ctx, id);
      await ctx.pool.remove([keyItemKey(topic, key)], ctx.clock() + MINUTE);
    },
  };
}

function createMessages({ ctx, sqs, urlPrefix }: Deployment) {
  return {
    messageFor: (home: Home) => messageText(home.topic, home.group, [jobText(home)]),
    /** A dead letter as SQS's own redrive puts it into the ready queue. */
    deadLetter: async (id: string) => deadText(await readJob(ctx, id), "died"),
    put: (topic: string, text: string) =>
      sqs.send(new SendMessageCommand({ QueueUrl: `${urlPrefix}${topic}`, MessageBody: text })),
    purge: (topic: string) => sqs.send(new PurgeQueueCommand({ QueueUrl: `${urlPrefix}${topic}` })),
  };
}

function createTroubles({ recorder, pass }: Deployment) {
  const before = async <T>(act: Recorder["before"], work: () => Promise<T>): Promise<T> => {
    recorder.before = act;
    const result = await work();
    recorder.before = () => {};
    return result;
  };
  return {
    /** While `work` runs no message reaches SQS. */
    withoutSqs: <T>(work: () => Promise<T>): Promise<T> =>
      before(({ operation }) => {
        if (operation === "SendMessageBatch")
          throw Object.assign(new Error("down"), { code: "ECONNREFUSED" });
      }, work),
    /** While `work` runs, calls die before they free a key. */
    losingKeys: <T>(work: () => Promise<T>): Promise<T> =>
      before(({ operation, input }) => {
        if (operation === "UpdateItem" && partitionOf(input.Key).startsWith("key#")) throw new Error("died");
      }, work),
    /** While `work` runs, time passes before each request of this operation is sent. */
    whilePassing: <T>(operation: string, ms: number, work: () => Promise<T>): Promise<T> =>
      before((request) => request.operation === operation && pass(ms), work),
    /** While `work` runs, each step acts once: before the first request of its kind. */
    meanwhile: async <T>(steps: readonly Step[], work: () => Promise<T>): Promise<T> => {
      const left = new Set(steps);
      const result = await before(async (request) => {
        const step = [...left].find(([is]) => is(request));
        if (!step) return;
        left.delete(step);
        await step[1]();
      }, work);
      expect(left).toEqual(new Set());
      return result;
    },
  };
}

function createPauses({ ctx, pass }: Deployment) {
  return {
    /** In a call that is not recorded, as a version that lists no paused topics. Waits until every function knows the pause. */
    hold: async (topic: string) => {
      await pauseTopic(ctx, topic);
      await ctx.pool.remove([pausedTopicKey(topic)], ctx.clock() + MINUTE);
      pass(6 * SECOND);
    },
    /** Resumes a topic by a call that is not recorded. Waits until every function knows. */
    letGo: async (topic: string) => {
      await resumeTopic(ctx, topic, undefined);
      pass(6 * SECOND);
    },
    isParked: async (id: string): Promise<boolean> => {
      const [note] = await ctx.pool.read([parkedKey(await readJob(ctx, id))]);
      return note !== undefined;
    },
  };
}

function createLimits({ ctx, pass }: Deployment) {
  return {
    /** Counts all starts of a topic for the next ten minutes as taken by other jobs. No function knows of it yet. */
    fill: async (topic: string) => {
      await ctx.pool.remove([limitedKey(topic)], ctx.clock() + MINUTE);
      pass(6 * SECOND);
      const counts = Array.from({ length: 60 }, (_, second) => [`s${second}`, LIMIT.maxPerSecond] as const);
      for (let i = 0; i < 10; i++) {
        const minute = minuteOf(ctx.clock()) + i * MINUTE;
        const key = startsKey(topic, minute);
        await ctx.pool.count(key, Object.fromEntries(counts), ttl(minute + DAY), ctx.clock() + MINUTE);
      }
    },
    /** Counts all starts of a topic for the next 20 seconds as taken, so that jobs start after them. */
    fillSome: async (topic: string) => {
      const now = ctx.clock();
      for (let begin = now - (now % SECOND); begin < now + 20 * SECOND; begin += SECOND) {
        const key = startsKey(topic, minuteOf(begin));
        const counts = { [counterOf(begin)]: LIMIT.maxPerSecond };
        await ctx.pool.count(key, counts, ttl(begin + DAY), now + MINUTE);
      }
    },
  };
}

function createLateness({ ctx, scheduler }: Deployment) {
  return {
    /** Lets the item expire that a bulk call has stored about itself, as a day would. */
    outliveBulk: async (request: { topic: string }, token: string) => {
      const headers = { "idempotency-key": token };
      const sent = { method: "POST", path: "/jobs/bulk", headers, text: JSON.stringify(request) };
      const key = bulkNoteKey(request.topic, callMarkOf(sent).call?.key ?? "");
      await ctx.pool.change({ key, expect: {}, set: { expiresAt: 1 } }, ctx.clock() + MINUTE);
    },
    /** The event that Scheduler sends to the target of a recurring schedule at `time`. */
    occurrenceOf: async (name: string, time: number) => {
      const place = { GroupName: "minutehand-schedules", Name: name };
      const { Target } = await scheduler.send(new GetScheduleCommand(place));
      const at = `${new Date(time).toISOString().slice(0, 19)}Z`;
      return JSON.parse((Target?.Input ?? "").replace("<aws.scheduler.scheduled-time>", at)) as unknown;
    },
  };
}

let keys = 0;

export type Scenes = ReturnType<typeof createScenes>;
