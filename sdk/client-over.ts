import { RECEIVE_WAIT_SECONDS } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import type { BulkPart, JobSummary, Problem, ScheduleSummary, TopicJson } from "../http/answers.ts";
import { type Call, callOver, errorOf, type Query, segment, type Transport } from "./call.ts";
import type {
  BulkResult,
  Client,
  EnqueueArguments,
  Instant,
  PulledJob,
  PutArguments,
  TopicBodies,
} from "./client.ts";

const HOUR = 3_600_000;
/** ms that a receive may take beside its wait. */
const CLAIMING = 10_000;

/** As plain JavaScript may call it: the API says what is missing. */
type Given<Arguments extends readonly [unknown, unknown, object]> = [
  Arguments[0],
  Arguments[1],
  Partial<Arguments[2]>?,
];

export type ClientParts = {
  readonly transport: Transport;
  /** Of the API. */
  readonly url: string;
  /** ms since the epoch. */
  readonly clock: () => number;
  /** An Idempotency-Key for a call that files jobs and has none; absent where no call is repeated. */
  readonly newKey?: () => string;
};

/** The one client, over whatever carries its requests. */
export function clientOver<Topics = TopicBodies>({
  transport,
  url,
  clock,
  newKey,
}: ClientParts): Client<Topics> {
  const call = callOver(transport, url);
  const jobPath = (id: string) => `/jobs/${segment(id)}`;
  const topicPath = (topic: string) => `/topics/${segment(topic)}`;
  const keyPath = (topic: string, key: string) => `${topicPath(topic)}/jobs/${segment(key)}`;
  const schedulePath = (name: string) => `/schedules/${segment(name)}`;
  const file = <T>(
    method: "POST" | "PUT",
    path: string,
    body: object,
    idempotencyKey = newKey?.(),
  ): Promise<T> => call(method, path, { body, idempotencyKey });

  return {
    enqueue(...job) {
      const [topic, body, { idempotencyKey, ...options } = {}] = job as Given<EnqueueArguments>;
      return file("POST", "/jobs", { topic, body, ...options }, idempotencyKey);
    },
    async enqueueMany(jobs, { idempotencyKey } = {}) {
      return outcomesOf(await file("POST", "/jobs/batch", { jobs }, idempotencyKey));
    },
    put(...job) {
      const [topic, key, { idempotencyKey, ...body } = {}] = job as Given<PutArguments>;
      return file("PUT", keyPath(topic, key), body, idempotencyKey);
    },
    get: (id) => call("GET", jobPath(id)),
    getByKey: (topic, key) => call("GET", keyPath(topic, key)),
    reschedule: (id, change) => call("PATCH", jobPath(id), { body: change }),
    cancel: (id) => call("DELETE", jobPath(id)),
    cancelByKey: (topic, key) => call("DELETE", keyPath(topic, key)),
    async cancelMany(ids) {
      return outcomesOf(await call("POST", "/jobs/cancel", { body: { ids } }));
    },
    list: ({ pageSize, ...query } = {}) => pages(call, "/jobs", { ...query, limit: pageSize }, jobsOf),
    async *forecast({ topic, from = new Date(clock()), to = hourAfter(from) } = {}) {
      type Part = { minutes: { minute: string; count: number }[]; next?: string };
      let start: string | Date | undefined = from;
      while (start !== undefined) {
        const part: Part = await call("GET", "/forecast", { query: { topic, from: start, to } });
        yield* part.minutes;
        start = part.next;
      }
    },
    async bulk({ cursor: start, ...request }, onProgress) {
      let sums: BulkResult | undefined;
      let at = start;
      do {
        const cursor = at === undefined ? {} : { cursor: at };
        const body = { ...request, ...cursor };
        const part: BulkPart = await call<BulkPart>("POST", "/jobs/bulk", { body }).catch((error) => {
          if (error instanceof MinutehandError) Object.assign(error.data, cursor);
          throw error;
        });
        sums = sums ? sumOf(sums, part) : part;
        onProgress?.(sums);
        at = part.cursor;
      } while (at !== undefined);
      return sums;
    },

    async topics() {
      return (await call<{ topics: TopicJson[] }>("GET", "/topics")).topics;
    },
    topic: (name) => call("GET", topicPath(name)),
    pause: (topic) => call("POST", `${topicPath(topic)}/pause`),
    resume: (topic, body = {}) => call("POST", `${topicPath(topic)}/resume`, { body }),
    dead: (topic, { pageSize, ...query } = {}) =>
      pages(call, `${topicPath(topic)}/dead`, { ...query, limit: pageSize }, jobsOf),
    redrive: (topic, body = {}) => call("POST", `${topicPath(topic)}/redrive`, { body }),

    schedules: () =>
      pages(call, "/schedules", {}, ({ schedules }: { schedules: ScheduleSummary[] }) => schedules),
    schedule: (name) => call("GET", schedulePath(name)),
    putSchedule: (name, body) => call("PUT", schedulePath(name), { body }),
    removeSchedule: (name) => call("DELETE", schedulePath(name)),
    pauseSchedule: (name) => call("POST", `${schedulePath(name)}/pause`),
    resumeSchedule: (name) => call("POST", `${schedulePath(name)}/resume`),
    runSchedule: (name, { idempotencyKey } = {}) =>
      file("POST", `${schedulePath(name)}/run`, {}, idempotencyKey),

    async receive(topic, body = {}) {
      // The jobs of an answer that nobody waits for any more are claimed, which burns an attempt.
      const patience = Math.min(Number(body.waitSeconds) || 0, RECEIVE_WAIT_SECONDS) * 1000 + CLAIMING;
      const path = `${topicPath(topic)}/receive`;
      return (await call<{ jobs: PulledJob[] }>("POST", path, { body, patience })).jobs;
    },
    finish: (topic, receipt) => call("POST", `${topicPath(topic)}/finish`, { body: { receipt } }),
    extend: (topic, receipt, seconds) =>
      call("POST", `${topicPath(topic)}/extend`, { body: { receipt, seconds } }),
    retry: (topic, receipt, options) =>
      call("POST", `${topicPath(topic)}/retry`, { body: { receipt, ...options } }),
    bury: (topic, receipt, options) =>
      call("POST", `${topicPath(topic)}/bury`, { body: { receipt, ...options } }),

    health: () => call("GET", "/health"),
  };
}

/** `undefined` for what is no time, which the API then refuses. */
function hourAfter(from: Instant): Date | undefined {
  const time = new Date(from).getTime();
  return Number.isNaN(time) ? undefined : new Date(time + HOUR);
}

/** Of a batch, entry by entry. */
function outcomesOf({
  results,
}: {
  results: ({ job: JobSummary } | { error: Problem })[];
}): (JobSummary | MinutehandError)[] {
  return results.map((result) => ("job" in result ? result.job : errorOf(result.error)));
}

function jobsOf({ jobs }: { jobs: JobSummary[] }): JobSummary[] {
  return jobs;
}

async function* pages<P, T>(
  call: Call,
  path: string,
  query: Query,
  entries: (page: P) => T[],
): AsyncGenerator<T, void> {
  let cursor: string | undefined;
  do {
    const page: P & { cursor?: string } = await call("GET", path, { query: { ...query, cursor } });
    yield* entries(page);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

const TOLD = 10;

function sumOf(before: BulkResult, part: BulkResult): BulkResult {
  const skipped = { ...before.skipped };
  for (const [code, count] of Object.entries(part.skipped)) skipped[code] = (skipped[code] ?? 0) + count;
  return {
    ...part,
    examined: before.examined + part.examined,
    matched: before.matched + part.matched,
    changed: before.changed + part.changed,
    skipped,
    errors: [...before.errors, ...part.errors].slice(0, TOLD),
  };
}
