import { RECEIVE_WAIT_SECONDS } from "../core/constants.ts";
import type { MinutehandError } from "../core/errors.ts";
import type { Problem } from "../http/answers/problem.ts";
import type { TopicJson } from "../http/answers/topics.ts";
import type { JobSummary, PulledJob } from "./answers.ts";
import { type Call, callOver, carryingReceive, errorOf, type Shape, type Transport } from "./call.ts";
import { outcomeOf } from "./cancel-if-waiting.ts";
import type { TopicBodies } from "./check-bodies.ts";
import { withCheckedOptions } from "./check-options.ts";
import type { Client } from "./client.ts";
import type { DirectClient } from "./direct-client.ts";
import type { DirectWorker } from "./direct-worker.ts";
import { inParts } from "./in-parts.ts";
import { type JobRef, requireRef } from "./job-ref.ts";
import type { ChangeOptions, EnqueueArguments, PutArguments, SeenOptions } from "./options.ts";
import { pathOf } from "./path-of.ts";
import { changeParts, countParts, exportParts, forecastParts, pages } from "./read-parts.ts";
import { withShift } from "./with-shift.ts";

/** If plain JavaScript leaves out a field, the API's refusal names it. */
type Given<Arguments extends readonly [unknown, unknown, object]> = [
  Arguments[0],
  Arguments[1],
  Partial<Arguments[2]>?,
];

export type ClientParts = {
  readonly transport: Transport;
  readonly url: string;
  /** Makes a key for a call without an Idempotency-Key. Absent if the transport never retries. */
  readonly newKey?: () => string;
};

type NewKey = ClientParts["newKey"];

export function clientOver<Topics = TopicBodies>({ transport, url, newKey }: ClientParts): Client<Topics> {
  const call = callOver(transport, url);
  return withCheckedOptions<Client<Topics>>({
    ...withShift(jobCalls<Topics>(call, newKey)),
    forecast: (query) => forecastParts(call, query),
    counts: (query) => countParts(call, query),
    bulk: ({ idempotencyKey = newKey?.(), ...request }, onProgress) =>
      changeParts(call, "/jobs/bulk", { ...request, idempotencyKey }, onProgress),
    erase: (request, onProgress) => changeParts(call, "/jobs/erase", request, onProgress),
    exportJobs: ({ cursor, pageSize, signal, ...query } = {}) =>
      exportParts(call, cursor, { query: { ...query, limit: pageSize }, signal }),
    ...topicCalls<Topics>(call, newKey),
    ...scheduleCalls<Topics>(call, newKey),
    ...pullCalls<Topics>(call),
    health: (options) => call("GET", "/health", { status: "string" }, options),
  });
}

const topicPath = (topic: string) => pathOf("/topics/{topic}", { topic });
const keyPath = (topic: string, key: string) => pathOf("/topics/{topic}/jobs/{key}", { topic, key });
function jobPath(given: JobRef): string {
  const job = requireRef(given);
  return typeof job === "string" ? pathOf("/jobs/{id}", { id: job }) : keyPath(job.topic, job.key);
}
const schedulePath = (name: string) => pathOf("/schedules/{name}", { name });

function changing({ reason, ifMatch, signal }: ChangeOptions & SeenOptions = {}) {
  return { query: { reason }, ifMatch, signal };
}

type JobCall = keyof DirectClient | "list";

function jobCalls<Topics>(call: Call, newKey: NewKey): Pick<Client<Topics>, JobCall> {
  return {
    enqueue(...job: unknown[]) {
      const [topic, body, { idempotencyKey = newKey?.(), signal, reason, ...options } = {}] =
        job as Given<EnqueueArguments>;
      const sent = { body: { topic, body, ...options }, query: { reason }, idempotencyKey, signal };
      return call<never>("POST", "/jobs", JOB, sent);
    },
    enqueueMany: (jobs, { idempotencyKey = newKey?.(), signal, reason } = {}) =>
      inParts(jobs, idempotencyKey, async (part, key) => {
        const sent = { body: { jobs: part }, query: { reason }, idempotencyKey: key, signal };
        return outcomesOf(await call("POST", "/jobs/batch", RESULTS, sent));
      }),
    put(...job: unknown[]) {
      const [topic, key, { idempotencyKey = newKey?.(), ifMatch, signal, reason, ...body } = {}] =
        job as Given<PutArguments>;
      const sent = { body, query: { reason }, idempotencyKey, ifMatch, signal };
      return call<never>("PUT", keyPath(topic, key), JOB, sent);
    },
    get: (job, options) => call("GET", jobPath(job), JOB, options),
    async reschedule(job, { idempotencyKey = newKey?.(), ifMatch, signal, reason, ...body }) {
      // The API moves jobs by id only: so a repeat cannot move another job that has taken the key.
      const path = jobPath(job);
      const id =
        typeof job === "string" ? job : (await call<{ id: string }>("GET", path, JOB, { signal })).id;
      const sent = { body, query: { reason }, idempotencyKey, ifMatch, signal };
      return call<never>("PATCH", jobPath(id), JOB, sent);
    },
    cancel: (job, options) => call("DELETE", jobPath(job), JOB, changing(options)),
    cancelIfWaiting: (job, options) =>
      outcomeOf(async () => call<never>("DELETE", jobPath(job), JOB, changing(options))),
    cancelMany: (ids, options) =>
      inParts(ids, undefined, async (part) => {
        const sent = { body: { ids: part }, ...changing(options) };
        return outcomesOf(await call("POST", "/jobs/cancel", RESULTS, sent));
      }),
    list: ({ pageSize, signal, ...query } = {}) =>
      pages(call, "/jobs", "jobs", { query: { ...query, limit: pageSize }, signal }),
  };
}

type TopicCall = "topics" | "topic" | "pause" | "resume" | "dead" | "redrive" | "dismiss";

function topicCalls<Topics>(call: Call, newKey: NewKey): Pick<Client<Topics>, TopicCall> {
  return {
    async topics(options) {
      return (await call<{ topics: TopicJson[] }>("GET", "/topics", { topics: "array" }, options)).topics;
    },
    topic: (name, options) => call("GET", topicPath(name), TOPIC, options),
    pause: (topic, options) => call("POST", `${topicPath(topic)}/pause`, TOPIC, changing(options)),
    resume(topic, { signal, reason, ...body } = {}) {
      const shape = { released: "number", left: "number" } as const;
      return call("POST", `${topicPath(topic)}/resume`, shape, { body, query: { reason }, signal });
    },
    dead: (topic, { pageSize, signal, ...query } = {}) =>
      pages(call, `${topicPath(topic)}/dead`, "jobs", { query: { ...query, limit: pageSize }, signal }),
    redrive(topic, { idempotencyKey = newKey?.(), ifMatch, signal, reason, ...body } = {}) {
      const shape = { redriven: "number", left: "number" } as const;
      const sent = { body, query: { reason }, idempotencyKey, ifMatch, signal };
      return call("POST", `${topicPath(topic)}/redrive`, shape, sent);
    },
    dismiss(topic, { ids, ...options }) {
      const shape = { dismissed: "number", left: "number", errors: "array" } as const;
      return call("POST", `${topicPath(topic)}/dismiss`, shape, { body: { ids }, ...changing(options) });
    },
  };
}

type ScheduleCall =
  | "schedules"
  | "schedule"
  | "putSchedule"
  | "removeSchedule"
  | "pauseSchedule"
  | "resumeSchedule"
  | "runSchedule";

function scheduleCalls<Topics>(call: Call, newKey: NewKey): Pick<Client<Topics>, ScheduleCall> {
  return {
    schedules: (options) => pages(call, "/schedules", "schedules", options),
    schedule: (name, options) => call("GET", schedulePath(name), SCHEDULE, options),
    putSchedule: (name, body, { signal } = {}) => call("PUT", schedulePath(name), SCHEDULE, { body, signal }),
    removeSchedule: (name, options) => call("DELETE", schedulePath(name), SCHEDULE, options),
    pauseSchedule: (name, options) => call("POST", `${schedulePath(name)}/pause`, SCHEDULE, options),
    resumeSchedule: (name, options) => call("POST", `${schedulePath(name)}/resume`, SCHEDULE, options),
    runSchedule: (name, { idempotencyKey = newKey?.(), signal } = {}) =>
      call("POST", `${schedulePath(name)}/run`, JOB, { body: {}, idempotencyKey, signal }),
  };
}

function pullCalls<Topics>(call: Call): DirectWorker<Topics> {
  return {
    async receive(topic, { signal, ...body } = {}) {
      const carrying = carryingReceive(Math.min(Number(body.waitSeconds) || 0, RECEIVE_WAIT_SECONDS));
      const sent = { body, signal, carrying };
      return (await call<Pulled>("POST", `${topicPath(topic)}/receive`, { jobs: "array" }, sent)).jobs;
    },
    finish: (topic, receipt, { signal } = {}) =>
      call("POST", `${topicPath(topic)}/finish`, SETTLED, { body: { receipt }, signal }),
    extend: (topic, receipt, seconds, { signal } = {}) =>
      call(
        "POST",
        `${topicPath(topic)}/extend`,
        { leaseUntil: "string" },
        { body: { receipt, seconds }, signal },
      ),
    retry: (topic, receipt, { signal, ...options } = {}) =>
      call("POST", `${topicPath(topic)}/retry`, SETTLED, { body: { receipt, ...options }, signal }),
    bury: (topic, receipt, { signal, ...options } = {}) =>
      call("POST", `${topicPath(topic)}/bury`, SETTLED, { body: { receipt, ...options }, signal }),
  };
}

/** The bodies are trusted to have the declared types. */
type Pulled = { jobs: PulledJob<never>[] };

// An answer without these members comes from another server.
const JOB: Shape = { id: "string", topic: "string", state: "string", dueAt: "string" };
const RESULTS: Shape = { results: "array" };
const TOPIC: Shape = { topic: "string" };
const SCHEDULE: Shape = { name: "string", expression: "string" };
/** The answer for an untracked job is empty. */
const SETTLED: Shape = {};

function outcomesOf<T extends string>({
  results,
}: {
  results: ({ job: JobSummary<T> } | { error: Problem })[];
}): (JobSummary<T> | MinutehandError)[] {
  return results.map((result) => ("job" in result ? result.job : errorOf(result.error)));
}
