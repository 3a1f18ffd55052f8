import type { MinutehandError } from "../core/errors.ts";
import type { Health } from "../http/answers/about.ts";
import type { Dismissed, Redriven } from "../http/answers/many-jobs.ts";
import type { ScheduleSummary } from "../http/answers/schedules.ts";
import type { Paused, Resumed } from "../http/answers/topics.ts";
import type {
  BulkResult,
  CountPart,
  EraseResult,
  ExportPart,
  Job,
  JobSummary,
  PulledJob,
  Schedule,
  SettledJob,
  TopicReport,
} from "./answers.ts";
import type { CancelOutcome } from "./cancel-if-waiting.ts";
import type { TopicBodies } from "./check-bodies.ts";
import type { JobRef } from "./job-ref.ts";
import type {
  BulkRequest,
  BuryOptions,
  CallOptions,
  ChangeOptions,
  Changes,
  CountQuery,
  DeadQuery,
  DelayOrDueAt,
  DismissRequest,
  EnqueueArguments,
  EnqueueSettings,
  EraseRequest,
  ExportQuery,
  ForecastQuery,
  ListQuery,
  NewJobRequest,
  NewSchedule,
  PutArguments,
  PutOptions,
  ReceiveOptions,
  RedriveRequest,
  RepeatableOptions,
  ResumeOptions,
  RetryOptions,
  SeenOptions,
} from "./options.ts";

export { MinutehandError } from "../core/errors.ts";
export type * from "./answers.ts";
export type { CancelOutcome } from "./cancel-if-waiting.ts";
export type { SchemaOptions, TopicBodies, TopicSchemas, TopicsOf } from "./check-bodies.ts";
export { type DirectClient, directClient } from "./direct-client.ts";
export { type DirectWorker, directWorker } from "./direct-worker.ts";
export { type ClientOptions, createClient } from "./http-client.ts";
export type { JobByKey, JobRef } from "./job-ref.ts";
export type * from "./options.ts";
export { type PullOptions, pull } from "./pull.ts";
export type { Dismissed, Health, Paused, Redriven, Resumed, ScheduleSummary };

/** `Arguments` if the caller gives the type argument `T`. Otherwise a call with arguments fits another signature. */
type IfGiven<T, Arguments extends readonly unknown[]> = [T] extends [never] ? [] : Arguments;

/**
 * `Arguments` for a call that spreads a union of tuples, such as `EnqueueArguments`, which fits no other signature. For other calls this
 * signature takes no arguments, so that the compiler's error speaks of the first signature and names the topics.
 */
type IfUnion<J extends readonly unknown[], Arguments extends readonly unknown[]> = [J] extends [OneOf<J, J>]
  ? []
  : J & Arguments;
/** A text that no body is. `never` for a body of the type `any`, which is also assignable to the text. */
type NeedsTime<B> = 0 extends 1 & B ? never : "give the time as the third argument: { delay } or { dueAt }";

/** `never` for a union. */
type OneOf<J, All> = J extends unknown ? ([All] extends [J] ? J : never) : never;

/**
 * The calls of the queue's API. `Topics` is the type of the body of each topic's jobs.
 *
 * A refused call throws a `MinutehandError` with the API's `code` and `status`. An unknown option throws `bad-request`. A list
 * reads its pages while it is iterated.
 *
 * A call for one job takes its id, or `{ topic, key }`. A key leads to the job that has it at the time of the call: if another job has taken
 * the key since, that is another job.
 *
 * The client of `createClient` retries a call whose answer was lost, with the same Idempotency-Key. Below, "a repeat" is such a retry.
 * Two calls of your own are different calls, unless you give both the same `idempotencyKey`.
 *
 * @example
 * const client = createClient<{ "order-timeout": { orderId: string } }>({ url: "http://127.0.0.1:4500" });
 * await client.enqueue("order-timeout", { orderId: "17" }, { key: "order-17", delay: "30m" });
 * await client.cancelIfWaiting({ topic: "order-timeout", key: "order-17" });
 */
export type Client<Topics = TopicBodies> = {
  /**
   * Files a job. Idempotent, except in an untracked topic: a repeat files no second job. If the `key` has a live job, throws `job-already-exists`, unless
   * `onDuplicate` is `keep`, `replace` or `postpone`. The default is `reject`. With `replace` and `postpone`, throws
   * `job-running` if that job is running.
   */
  enqueue<N extends keyof T & string, T = Topics>(
    topic: N,
    body: T[N],
    options: DelayOrDueAt & EnqueueSettings,
  ): Promise<Job<T, N>>;
  enqueue<T = never>(...job: IfGiven<T, EnqueueArguments<NoInfer<T>>>): Promise<Job<T>>;
  enqueue<J extends readonly unknown[], T = Topics>(
    ...job: IfUnion<J, EnqueueArguments<NoInfer<T>>>
  ): Promise<Job<T>>;
  /** Fits no call: so the compiler's error about a call without options says what is missing. */
  enqueue<B>(topic: string, body: B & NeedsTime<B>): Promise<never>;
  /**
   * Files jobs, and answers the job or the error of each, in the order of `jobs`. Idempotent as `enqueue`. More than 500 jobs are filed by several
   * calls, one after the other. If the first call fails, throws. If a later one fails, its error is the result of each of its jobs, and the calls
   * after it are made all the same. To try again, send all the jobs with the same `idempotencyKey`: no job is filed twice.
   */
  enqueueMany<T = Topics>(
    jobs: readonly NewJobRequest<NoInfer<T>>[],
    options?: RepeatableOptions & ChangeOptions,
  ): Promise<(JobSummary<keyof T & string> | MinutehandError)[]>;
  /** Files a job under a key, or replaces all fields of its live job. Idempotent. Throws `job-running` if that job is running. */
  put<N extends keyof T & string, T = Topics>(
    topic: N,
    key: string,
    job: PutOptions & SeenOptions & { body: T[N] },
  ): Promise<Job<T, N>>;
  put<T = never>(...job: IfGiven<T, PutArguments<NoInfer<T>>>): Promise<Job<T>>;
  put<J extends readonly unknown[], T = Topics>(
    ...job: IfUnion<J, PutArguments<NoInfer<T>>>
  ): Promise<Job<T>>;
  /** Reads a job, also by key if the job has ended. Throws `job-not-found`. */
  get<T = Topics, N extends keyof T & string = keyof T & string>(
    job: JobRef<N>,
    options?: CallOptions,
  ): Promise<Job<T, N>>;
  /**
   * Changes the due time of a waiting job, its body, or both. Idempotent: a repeat changes nothing, so the changes of other callers
   * stay. If the call comes too late, throws `job-running` or `job-finished`. By key, the client first reads the job's id, and for `shift` the job's time.
   */
  reschedule<T = Topics, N extends keyof T & string = keyof T & string>(
    job: JobRef<N>,
    change: Changes<NoInfer<T>[NoInfer<N>]>,
  ): Promise<Job<T, N>>;
  /**
   * Cancels a job. Idempotent. If the call comes too late, throws `job-running`, `job-finished` or `untracked-topic`. By key, a repeat cancels
   * another job that has taken the key meanwhile; by id it never does.
   */
  cancel<T = Topics, N extends keyof T & string = keyof T & string>(
    job: JobRef<N>,
    options?: ChangeOptions & SeenOptions,
  ): Promise<Job<T, N>>;
  /**
   * Cancels a job as `cancel` does, and answers what became of the job. Throws nothing if the call comes too late or finds no job.
   *
   * @example
   * const { outcome } = await client.cancelIfWaiting({ topic: "order-timeout", key: "order-17" });
   * if (outcome === "done") await reopen("order-17");
   */
  cancelIfWaiting<T = Topics, N extends keyof T & string = keyof T & string>(
    job: JobRef<N>,
    options?: ChangeOptions,
  ): Promise<CancelOutcome<Job<T, N>>>;
  /** Cancels jobs, and answers the job or the error of each, in the order of `ids`. Idempotent. More than 500 ids are split as by `enqueueMany`. */
  cancelMany<T = Topics>(
    ids: readonly string[],
    options?: ChangeOptions,
  ): Promise<(JobSummary<keyof T & string> | MinutehandError)[]>;
  /** Lists the jobs of a range of `dueAt`, in its order. Without `from` and `to`, also with a `topic`, these are only the jobs of the next hour. */
  list<N extends keyof T & string, T = Topics>(query?: ListQuery<N>): AsyncIterable<JobSummary<N>>;
  /** Counts the unfinished jobs that fall due in each minute, by default of the next hour. Minutes without a job are left out. */
  forecast<N extends keyof T & string, T = Topics>(
    query?: ForecastQuery<N>,
  ): AsyncIterable<{ minute: string; count: number }>;
  /**
   * Counts all jobs of a range, by default of the next hour, by topic, state and step of time, part by part. Two parts can have counts of the
   * same step, topic and state: add them up. Reads each minute of the range, of all topics: a month takes a minute or more and some cents. For
   * a gauge take `topics()`.
   */
  counts<N extends keyof T & string, T = Topics>(query: CountQuery<N>): AsyncIterable<CountPart>;
  /**
   * Changes many jobs of a topic, part by part, until all are done. `onProgress` gets the sums after each part. If a part after the
   * first fails, the `data` of the error has the `cursor` that continues the bulk. Idempotent: a repeated part changes no job twice, and
   * also counts the jobs that the first try has changed, except in a `redrive` or `dismiss`.
   */
  bulk<N extends keyof T & string, T = Topics>(
    request: BulkRequest<N>,
    onProgress?: (sums: BulkResult) => void,
  ): Promise<BulkResult>;
  /**
   * Deletes jobs of any state and time, part by part, until the whole table was read. Jobs that wait are cancelled first. Jobs that run are left,
   * and `skipped` counts them: repeat the call later. `onProgress` and an error's `cursor`: as in `bulk`. A repeat does not count jobs that are gone.
   */
  erase<N extends keyof T & string, T = Topics>(
    request: EraseRequest<N>,
    onProgress?: (sums: EraseResult) => void,
  ): Promise<EraseResult>;
  /**
   * Reads jobs of any state and time with their bodies, part by part, in no order. Reads the whole table: to read the jobs of a few days, use `list`.
   * Each job is in one part, as it was when it was read. A job that is filed meanwhile can be in none.
   */
  exportJobs<T = Topics, N extends keyof T & string = keyof T & string>(
    query?: ExportQuery<N>,
  ): AsyncIterable<ExportPart<T, N>>;

  /** Reads all topics with their policies, depths and sweep lags. */
  topics(options?: CallOptions): Promise<TopicReport[]>;
  /** Reads one topic. Throws `unknown-topic`. */
  topic<N extends keyof T & string, T = Topics>(name: N, options?: CallOptions): Promise<TopicReport>;
  /**
   * Pauses a topic: from 5 seconds after the answer, none of its jobs starts until `resume`. Idempotent. A repeat overwrites what others
   * have changed meanwhile, also in `resume`, `putSchedule`, `pauseSchedule` and `resumeSchedule`. Throws `untracked-topic`.
   */
  pause<N extends keyof T & string, T = Topics>(topic: N, options?: ChangeOptions): Promise<Paused>;
  /** Resumes a paused topic: its parked jobs start, at most `ratePerSecond` in a second or, without a rate, all at once. Idempotent. */
  resume<N extends keyof T & string, T = Topics>(topic: N, options?: ResumeOptions): Promise<Resumed>;
  /** Lists a topic's dead jobs, the oldest death first. */
  dead<N extends keyof T & string, T = Topics>(topic: N, query?: DeadQuery): AsyncIterable<JobSummary<N>>;
  /**
   * Runs dead jobs again: those in `ids`, or else the `max` oldest ones (100 by default). Idempotent: a repeat selects the same jobs,
   * redrives no job twice, and also counts the jobs that an earlier try has redriven.
   */
  redrive<N extends keyof T & string, T = Topics>(topic: N, request?: RedriveRequest): Promise<Redriven>;
  /**
   * Dismisses dead jobs: they are cancelled, never run, and no longer count as dead. Idempotent. `errors` has the jobs that were not
   * dismissed, each with its error: `job-not-dead`, `job-not-found` or `unavailable`. All dead jobs of a topic: `bulk` with `action: "dismiss"`.
   */
  dismiss<N extends keyof T & string, T = Topics>(topic: N, request: DismissRequest): Promise<Dismissed>;

  /** Lists the recurring schedules. */
  schedules(options?: CallOptions): AsyncIterable<ScheduleSummary>;
  /** Reads a schedule with its next five occurrences. Throws `schedule-not-found`. */
  schedule<T = Topics>(name: string, options?: CallOptions): Promise<Schedule<T>>;
  /** Creates a schedule, or replaces all fields of the schedule with this name. A paused schedule stays paused. Idempotent. */
  putSchedule<N extends keyof T & string, T = Topics>(
    name: string,
    schedule: NewSchedule<N, T[N]>,
    options?: CallOptions,
  ): Promise<Schedule<T, N>>;
  /** Deletes a schedule and answers it. A repeat throws `schedule-not-found`, or deletes a schedule that was put meanwhile. */
  removeSchedule<T = Topics>(name: string, options?: CallOptions): Promise<Schedule<T>>;
  /** Pauses a schedule: no occurrence files a job until `resumeSchedule`. Idempotent. */
  pauseSchedule<T = Topics>(name: string, options?: CallOptions): Promise<Schedule<T>>;
  /** Resumes a paused schedule, beginning with its next occurrence. `skippedInPause` counts those that fell into the pause. Idempotent. */
  resumeSchedule<T = Topics>(name: string, options?: CallOptions): Promise<Schedule<T>>;
  /** Files the job of a schedule now, in addition to its occurrences. Idempotent, except in an untracked topic. */
  runSchedule<T = Topics>(name: string, options?: RepeatableOptions): Promise<Job<T>>;

  /**
   * Claims due jobs of a pull topic: up to `max`, 1 to 10, by default 1. In a `millisecond` topic it claims one job, and more only if
   * that job is already late. Waits for the first job for up to `waitSeconds`, 0 to 20, by default 0.
   *
   * Not idempotent, so the client does not retry a call that may have claimed jobs. If the answer is lost, the claimed jobs wait until
   * their leases end, which counts as a failed attempt.
   *
   * @example
   * for (const { receipt, body } of await client.receive("emails", { max: 10, waitSeconds: 20 })) {
   *   await send(body);
   *   await client.finish("emails", receipt);
   * }
   */
  receive<N extends keyof T & string, T = Topics>(
    topic: N,
    options?: ReceiveOptions,
  ): Promise<PulledJob<T[N]>[]>;
  /**
   * Records a pulled job as done. Idempotent. Throws `claim-lost` if the receipt no longer holds the claim of the job. The
   * answer for an untracked job is empty, here and in `retry`. The answer of `extend` then has only `leaseUntil`.
   */
  finish<N extends keyof T & string, T = Topics>(
    topic: N,
    receipt: string,
    options?: CallOptions,
  ): Promise<SettledJob<T, N>>;
  /** Extends a lease to `seconds` (a whole number, 1 to 43,200) from now, at most 12 hours after the claim. Throws `claim-lost`. */
  extend<N extends keyof T & string, T = Topics>(
    topic: N,
    receipt: string,
    seconds: number,
    options?: CallOptions,
  ): Promise<SettledJob<T, N> & { leaseUntil: string }>;
  /** Records a run as failed. The job runs again after `delay` or, without `delay`, by the topic's backoff. Idempotent. */
  retry<N extends keyof T & string, T = Topics>(
    topic: N,
    receipt: string,
    options?: RetryOptions,
  ): Promise<SettledJob<T, N>>;
  /** Records a pulled job as dead, even if it has attempts left. Idempotent. Throws `untracked-topic`. */
  bury<N extends keyof T & string, T = Topics>(
    topic: N,
    receipt: string,
    options?: BuryOptions,
  ): Promise<SettledJob<T, N>>;

  /** Calls the API to see whether it is reachable. Throws `unavailable` if it does not answer. */
  health(options?: CallOptions): Promise<Health>;
};
