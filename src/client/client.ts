import type { MinutehandError } from "../core/errors.ts";
import type { JOB_OPTIONS, JobOptions as StoredOptions } from "../core/job-options.ts";
import type { JsonOf } from "../core/json-of.ts";
import type {
  BulkPart,
  ForecastJson,
  Health,
  JobJson,
  JobSummary as JobSummaryJson,
  Paused,
  PulledJob as PulledJobJson,
  Redriven,
  Resumed,
  ScheduleJson,
  ScheduleSummary,
  TopicJson,
} from "../http/answers.ts";
import type { TopicSchemas, TopicsOf } from "./check-bodies.ts";

export { MinutehandError } from "../core/errors.ts";
export { type DirectClient, directClient } from "./direct-client.ts";
export { type DirectWorker, directWorker } from "./direct-worker.ts";
export { createClient } from "./http-client.ts";
export type { Health, Paused, Redriven, Resumed, ScheduleSummary, TopicSchemas, TopicsOf };
export type TopicReport = TopicJson;

/**
 * The type of the body of each topic's jobs, by topic. A body of another type does not compile. A job is read as what JSON makes of its
 * body: a `Date` as a string.
 */
export type TopicBodies = Record<string, unknown>;

/** A job of the topic `T`, or of any topic. If you compare `topic` with a name, its `body` has the type of that topic. */
export type Job<Topics = TopicBodies, T extends keyof Topics & string = keyof Topics & string> = {
  [Name in T]: Omit<JobJson, "topic" | "body"> & { topic: Name; body: JsonOf<Topics[Name]> };
}[T];
export type JobState = JobJson["state"];
/** A job without its body and its timeline. */
export type JobSummary<T extends string = string> = Omit<JobSummaryJson, "topic"> & { topic: T };
export type PulledJob<Body = unknown> = PulledWith<JsonOf<Body>>;
// An interface, so that the compiler compares two pulled jobs by their bodies, and not by `Body` of `JsonOf`.
interface PulledWith<Body> extends Omit<PulledJobJson, "body"> {
  body: Body;
}
/** The pulled job after its run. Empty for an untracked job. */
export type SettledJob<Topics = TopicBodies, T extends keyof Topics & string = keyof Topics & string> = {
  [Name in T]: Partial<Job<Topics, Name>>;
}[T];
export type Schedule<Topics = TopicBodies, T extends keyof Topics & string = keyof Topics & string> = {
  [Name in T]: Omit<ScheduleJson, "topic" | "body"> & { topic: Name; body: JsonOf<Topics[Name]> };
}[T];

/** A duration: a number of seconds, or a string such as `"90s"`, `"30m"`, `"1h30m"` or `"7d"`. */
export type Duration = number | string;
/** A point in time: a `Date`, or ISO 8601 text with its offset from UTC. Fractions of a ms are rounded up, so that no job is early. */
export type Instant = string | Date;

export type CallOptions = {
  /** Aborts the call, which then throws the signal's reason. The call may have taken effect all the same. */
  signal?: AbortSignal | undefined;
};

export type SeenOptions = {
  /** The job as you saw it. If somebody has changed it since, the call throws `changed-meanwhile`, and changes nothing. */
  ifMatch?: { readonly id: string; readonly revision: number };
};

export type ChangeOptions = CallOptions & {
  /** Why, in at most 100 characters of plain text. The timelines of the changed jobs and the topic's pause show it. */
  reason?: string | undefined;
};

export type RepeatableOptions = CallOptions & {
  /** Makes your own repeats idempotent: calls with the same key and request have one effect. 1 to 256 characters. Default: a random key. */
  idempotencyKey?: string;
};

type JobOptions = {
  [Name in keyof StoredOptions]: (typeof JOB_OPTIONS)[Name]["kind"] extends "duration"
    ? Duration
    : StoredOptions[Name];
};

/** When a job is due: exactly one of the two. */
type Time = { delay: Duration; dueAt?: never } | { dueAt: Instant; delay?: never };
/** At most one of the two. */
type AnyTime = { delay?: Duration; dueAt?: never } | { dueAt?: Instant; delay?: never };

export type PutOptions = Time & JobOptions & RepeatableOptions & ChangeOptions;

type KeyOptions = {
  key?: string;
  onDuplicate?: "reject" | "keep" | "replace" | "postpone";
  /**
   * A postponed job is due at most this long after its creation. If a call without `postpone` filed or replaced the job, the time counts
   * from the job's last change before its first postponement. Required with `onDuplicate: "postpone"`, and allowed only there.
   */
  maxDelay?: Duration;
};

export type EnqueueOptions = PutOptions & KeyOptions;
type BatchOptions = Time & JobOptions & KeyOptions;

/** The arguments of `enqueue`: the topic, a body of the topic's type, and the options. */
export type EnqueueArguments<Topics = TopicBodies> = {
  [T in keyof Topics & string]: [topic: T, body: Topics[T], options: EnqueueOptions];
}[keyof Topics & string];

/** The arguments of `put`: the topic, the key, and the body with the options. */
export type PutArguments<Topics = TopicBodies> = {
  [T in keyof Topics & string]: [topic: T, key: string, job: PutOptions & SeenOptions & { body: Topics[T] }];
}[keyof Topics & string];

export type NewJobRequest<Topics = TopicBodies> = {
  [T in keyof Topics & string]: BatchOptions & { topic: T; body: Topics[T] };
}[keyof Topics & string];

export type Changes<Body = unknown> = AnyTime &
  RepeatableOptions &
  ChangeOptions &
  SeenOptions & { body?: Body };

/** `from ≤ dueAt < to`; for a bulk that redrives, the time of the death. A list or a forecast spans at most 31 days, a bulk 366. */
type Range = { from?: Instant; to?: Instant };
/** Jobs with this tag and of this group. An absent field matches every job. */
type Filters = Pick<StoredOptions, "tag" | "group">;
/** `pageSize`: how many entries one request reads, 1 to 1,000; 100 by default. */
type Paged = CallOptions & { pageSize?: number };
export type ListQuery<T extends string = string> = Range & Paged & Filters & { topic?: T; state?: JobState };
export type DeadQuery = Paged & Filters;
export type ForecastQuery<T extends string = string> = Range & CallOptions & { topic?: T };
/** `step`: how long a step of time is, in whole seconds, 1 to 86,400. */
export type CountQuery<T extends string = string> = ForecastQuery<T> & { step?: number };
/** What one request has counted. `counts`: absent without a `step`. `reached`: all jobs that are due before it are counted. `at`: the API's clock. */
export type CountPart = Pick<ForecastJson, "minutes" | "counts" | "reached" | "at">;

export type NewSchedule<T extends string = string, Body = unknown> = JobOptions & {
  /** `cron(…)`, `rate(…)` or `at(…)`. */
  expression: string;
  /** An IANA name; UTC by default. */
  timezone?: string;
  start?: Instant;
  end?: Instant;
  /** How much later than its time an occurrence may come: whole minutes, 1 minute to 1 day. */
  flexibleWindow?: Duration;
  topic: T;
  body: Body;
};

/** `ids`: up to 500 jobs. `max`: 1 to 500, not together with `ids`. `ratePerSecond`: 0.001 to 1,000. `ifMatch`: only with one id. */
export type RedriveRequest = RepeatableOptions &
  ChangeOptions &
  SeenOptions & {
    ids?: readonly string[];
    max?: number;
    delay?: Duration;
    ratePerSecond?: number;
  };

/** `delay` and `dueAt` are only for `move`, which needs one of them. `ratePerSecond` is 0.001 to 1,000, and not for `cancel`. */
export type BulkRequest<T extends string = string> = Range &
  AnyTime &
  Filters &
  RepeatableOptions &
  ChangeOptions & {
    action: "cancel" | "move" | "run" | "redrive";
    topic: T;
    /** Whether to count the jobs and change nothing. */
    dryRun?: boolean;
    ratePerSecond?: number;
    /** The cursor of an interrupted bulk of the same request, which then continues. */
    cursor?: string;
  };

/** The sums of a whole bulk, or of its parts so far. While parts are left, `cursor` continues the bulk. */
export type BulkResult = BulkPart;

/** `ratePerSecond`: how many parked jobs start in a second at most, 0.001 to 1,000. */
export type ResumeOptions = ChangeOptions & { ratePerSecond?: number };
export type ReceiveOptions = CallOptions & { max?: number; waitSeconds?: number };
export type RetryOptions = CallOptions & { delay?: Duration; error?: string };
export type BuryOptions = CallOptions & { error?: string };

/** `Arguments` if the caller gives the type argument `T`. Otherwise a call with arguments fits another signature. */
type IfGiven<T, Arguments extends readonly unknown[]> = [T] extends [never] ? [] : Arguments;

/**
 * `Arguments` for a call that spreads a union of tuples, such as `EnqueueArguments`, which fits no other signature. For other calls this
 * signature takes no arguments, so that the compiler's error speaks of the first signature and names the topics.
 */
type IfUnion<J extends readonly unknown[], Arguments extends readonly unknown[]> = [J] extends [OneOf<J, J>]
  ? []
  : J & Arguments;
/** `never` for a union. */
type OneOf<J, All> = J extends unknown ? ([All] extends [J] ? J : never) : never;

/**
 * The calls of the queue's API. `Topics` is the type of the body of each topic's jobs.
 *
 * A refused call throws a `MinutehandError` with the API's `code` and `status`. An unknown option throws `bad-request`. A list
 * reads its pages while it is iterated.
 *
 * The client of `createClient` retries a call whose answer was lost, with the same Idempotency-Key. Below, "a repeat" is such a retry.
 * Two calls of your own are different calls, unless you give both the same `idempotencyKey`.
 *
 * @example
 * const client = createClient<{ "order-timeout": { orderId: string } }>({ url: "http://127.0.0.1:4500" });
 * await client.enqueue("order-timeout", { orderId: "17" }, { key: "order-17", delay: "30m" });
 * await client.cancelByKey("order-timeout", "order-17");
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
    options: EnqueueOptions,
  ): Promise<Job<T, N>>;
  enqueue<T = never>(...job: IfGiven<T, EnqueueArguments<NoInfer<T>>>): Promise<Job<T>>;
  enqueue<J extends readonly unknown[], T = Topics>(
    ...job: IfUnion<J, EnqueueArguments<NoInfer<T>>>
  ): Promise<Job<T>>;
  /** Files up to 500 jobs. Answers the job or the error of each, in the order of `jobs`. Idempotent as `enqueue`. */
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
  /** Reads a job. Throws `job-not-found`. */
  get<T = Topics>(id: string, options?: CallOptions): Promise<Job<T>>;
  /** Reads the job with this key, even if the job has ended. Throws `job-not-found`. */
  getByKey<N extends keyof T & string, T = Topics>(
    topic: N,
    key: string,
    options?: CallOptions,
  ): Promise<Job<T, N>>;
  /**
   * Changes the due time of a waiting job, its body, or both. Idempotent: a repeat changes nothing, so the changes of other callers
   * stay. If the call comes too late, throws `job-running` or `job-finished`.
   */
  reschedule<T = Topics>(id: string, change: Changes<NoInfer<T>[keyof T & string]>): Promise<Job<T>>;
  /** Cancels a job. Idempotent. If the call comes too late, throws `job-running`, `job-finished` or `untracked-topic`. */
  cancel<T = Topics>(id: string, options?: ChangeOptions & SeenOptions): Promise<Job<T>>;
  /** Cancels the job with this key. A repeat cancels another job that has taken the key meanwhile; `cancel` by id never does. */
  cancelByKey<N extends keyof T & string, T = Topics>(
    topic: N,
    key: string,
    options?: ChangeOptions & SeenOptions,
  ): Promise<Job<T, N>>;
  /** Cancels up to 500 jobs. Answers the job or the error of each, in the order of `ids`. Idempotent. */
  cancelMany<T = Topics>(
    ids: readonly string[],
    options?: ChangeOptions,
  ): Promise<(JobSummary<keyof T & string> | MinutehandError)[]>;
  /** Lists jobs in the order of `dueAt`, by default those of the next hour. */
  list<N extends keyof T & string, T = Topics>(query?: ListQuery<N>): AsyncIterable<JobSummary<N>>;
  /** Counts the unfinished jobs that fall due in each minute, by default of the next hour. Minutes without a job are left out. */
  forecast<N extends keyof T & string, T = Topics>(
    query?: ForecastQuery<N>,
  ): AsyncIterable<{ minute: string; count: number }>;
  /**
   * Counts all jobs of a range, by default of the next hour, by topic, state and step of time, part by part. Two parts can have counts of the
   * same step, topic and state: add them up.
   */
  counts<N extends keyof T & string, T = Topics>(
    query: CountQuery<N> & { step: number },
  ): AsyncIterable<CountPart>;
  /**
   * Changes many jobs of a topic, part by part, until all are done. `onProgress` gets the sums after each part. If a part after the
   * first fails, the `data` of the error has the `cursor` that continues the bulk. Idempotent: a repeated part changes no job twice, and
   * also counts the jobs that the first try has changed, except in a `redrive`.
   */
  bulk<N extends keyof T & string, T = Topics>(
    request: BulkRequest<N>,
    onProgress?: (sums: BulkResult) => void,
  ): Promise<BulkResult>;

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
  /** Resumes a paused schedule, beginning with its next occurrence. Idempotent. */
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

/** Options of a client over HTTP, and of a direct client. */
export type SchemaOptions<Schemas = TopicSchemas> = {
  /**
   * The schemas of bodies by topic, of any library of Standard Schema. Before a call files a job or a schedule, the client checks what JSON makes
   * of the body, and throws `bad-request` if it does not fit. Then nothing of the call is filed. A body of `reschedule` is not checked here, because
   * the client does not know the job's topic.
   */
  schemas?: Schemas;
};

export type ClientOptions = SchemaOptions & {
  /** The URL of the API, with the path of its stage if it has one. */
  url: string;
  /**
   * How the client authenticates. `"iam"`: signs each request (SigV4) with the credentials that the AWS SDK would use. `{ bearer }`:
   * sends a token. The default is `"none"` for loopback addresses and `"iam"` for hosts of API Gateway. For other hosts `auth` is
   * required.
   */
  auth?: "iam" | "none" | { bearer: string | (() => Promise<string>) };
  /** The AWS region of the signatures, for a host whose name does not contain its region. */
  region?: string;
  /** How long one try may take, in ms; 30,000 by default. For a `receive` the least value is its `waitSeconds` and 10 s more. */
  timeout?: number;
  /** Retries after a network error, a timeout, or the status 429, 502, 503 or 504; of a `receive` only after 429. 0 to 100; 5 by default. */
  retries?: number;
};
