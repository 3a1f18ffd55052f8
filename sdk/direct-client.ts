import { bodyText } from "../core/body-text.ts";
import type { MinutehandError } from "../core/errors.ts";
import type { Home } from "../core/items.ts";
import type { JobJson } from "../http/answers.ts";
import { jobOf } from "../http/job-json.ts";
import { dueAtOf, newJobOf } from "../http/new-job.ts";
import { validate } from "../http/read-call.ts";
import { changes, newJob } from "../http/requests.ts";
import { cancel, cancelMany } from "../protocol/cancel.ts";
import { enqueue, enqueueMany } from "../protocol/enqueue.ts";
import type { Enqueued } from "../protocol/new-job.ts";
import type { Context } from "../protocol/ports.ts";
import { idOfKey, readJob } from "../protocol/read-job.ts";
import { reschedule } from "../protocol/reschedule.ts";
import { createContext } from "./context.ts";
import { createScheduler } from "./scheduler.ts";

/** Seconds, or a string such as `"90s"`, `"30m"`, `"1h30m"`, `"7d"`. */
export type Duration = number | string;

/** What `POST /jobs` takes beside topic and body; exactly one of `delay` and `dueAt` (ISO 8601). */
export type EnqueueOptions = {
  delay?: Duration;
  dueAt?: string;
  key?: string;
  onDuplicate?: "reject" | "keep" | "replace" | "postpone";
  /** How long `onDuplicate: "postpone"` can put a job off, from its first enqueue on. */
  maxDelay?: Duration;
  /** It is due up to so much later, evenly drawn, at most a day; absent: its topic's. */
  spread?: Duration;
  /** Where a webhook topic's job is sent, if not to the topic's own URL. */
  callbackUrl?: string;
  headers?: Record<string, string>;
  expiresAfter?: Duration;
  maxAttempts?: number;
  tag?: string;
  group?: string;
};

export type NewJobRequest = EnqueueOptions & { topic: string; body: unknown };

/**
 * The queue for code inside AWS, without the HTTP API: the same rules, the same answers, with the caller's own
 * role (`queue.grantEnqueue(producer)`). Refusals are `MinutehandError`s with the API's codes.
 */
export type DirectClient = {
  enqueue(topic: string, body: unknown, options: EnqueueOptions): Promise<JobJson>;
  /** Each on its own, in order. */
  enqueueMany(jobs: readonly NewJobRequest[]): Promise<(JobJson | MinutehandError)[]>;
  get(id: string): Promise<JobJson>;
  getByKey(topic: string, key: string): Promise<JobJson>;
  reschedule(id: string, change: { delay?: Duration; dueAt?: string; body?: unknown }): Promise<JobJson>;
  cancel(id: string): Promise<JobJson>;
  cancelMany(ids: readonly string[]): Promise<(JobJson | MinutehandError)[]>;
};

/** `ctx`: by default what the environment says, as the construct's `grantEnqueue` sets it. */
export function directClient(ctx: Context = { ...createContext(), ...createScheduler() }): DirectClient {
  const view = (result: Enqueued | Home | MinutehandError): JobJson | MinutehandError => {
    if (result instanceof Error) return result;
    return jobOf(ctx, "home" in result ? result.home : result);
  };
  const request = (job: unknown) => newJobOf(ctx, validate(newJob, job, "the job"));
  return {
    async enqueue(topic, body, options) {
      return jobOf(ctx, (await enqueue(ctx, request({ ...options, topic, body }))).home);
    },
    async enqueueMany(jobs) {
      return (await enqueueMany(ctx, jobs.map(request))).map(view);
    },
    async get(id) {
      return jobOf(ctx, await readJob(ctx, id));
    },
    async getByKey(topic, key) {
      return jobOf(ctx, await readJob(ctx, await idOfKey(ctx, topic, key)));
    },
    async reschedule(id, change) {
      const { delay, dueAt, body } = validate(changes, change, "the change");
      const time = dueAtOf(ctx.clock(), { delay, dueAt });
      const home = await reschedule(ctx, id, {
        ...(time === undefined ? {} : { dueAt: time }),
        ...(body === undefined ? {} : { body: bodyText(body) }),
      });
      return jobOf(ctx, home);
    },
    async cancel(id) {
      return jobOf(ctx, await cancel(ctx, id));
    },
    async cancelMany(ids) {
      return (await cancelMany(ctx, ids)).map(view);
    },
  };
}
