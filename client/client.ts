import type { MinutehandError } from "../core/errors.ts";
import type { JOB_OPTIONS, JobOptions as StoredOptions } from "../core/job-options.ts";
import type {
  BulkPart,
  Health,
  JobJson,
  JobSummary,
  Paused,
  PulledJob,
  Redriven,
  Resumed,
  ScheduleJson,
  ScheduleSummary,
  SettledJob,
  TopicJson,
} from "../http/answers.ts";

export { MinutehandError } from "../core/errors.ts";
export { type DirectClient, directClient } from "./direct-client.ts";
export { createClient } from "./http-client.ts";
export type { Health, JobSummary, Paused, PulledJob, Redriven, Resumed, ScheduleSummary, SettledJob };
export type Job = JobJson;
export type JobState = Job["state"];
export type Schedule = ScheduleJson;
export type TopicReport = TopicJson;

/** The body of each topic's jobs, so that a wrong one does not compile. */
export type TopicBodies = Record<string, unknown>;

/** Seconds, or a string such as `"90s"`, `"30m"`, `"1h30m"`, `"7d"`. */
export type Duration = number | string;
/** ISO 8601 with its zone. */
export type Instant = string | Date;

/** What every call takes. */
export type CallOptions = {
  /** Aborted, the call throws its reason; what it asked for may have happened. */
  signal?: AbortSignal | undefined;
};

/** What a call takes that changes things once however often it is sent. */
export type RepeatableOptions = CallOptions & {
  /** Instead of one that the client draws: calls with the same one, and the same request, have one effect. */
  idempotencyKey?: string;
};

/** What a job may have however it is filed: the core's options with durations as a caller says them. */
type JobOptions = {
  [Name in keyof StoredOptions]: (typeof JOB_OPTIONS)[Name]["kind"] extends "duration"
    ? Duration
    : StoredOptions[Name];
};

/** Exactly one of both. */
type Time = { delay?: Duration; dueAt?: Instant };

/** What `PUT` by key takes beside the body. */
export type PutOptions = Time & JobOptions & RepeatableOptions;

/** What `POST /jobs` takes beside topic and body. */
export type EnqueueOptions = PutOptions & {
  key?: string;
  onDuplicate?: "reject" | "keep" | "replace" | "postpone";
  /** How long `onDuplicate: "postpone"` can put a job off, from its first enqueue on. */
  maxDelay?: Duration;
};

type Topic<Topics> = keyof Topics & string;

/** The topic, the body that it takes, and the options. */
export type EnqueueArguments<Topics = TopicBodies> = {
  [T in Topic<Topics>]: [topic: T, body: Topics[T], options: EnqueueOptions];
}[Topic<Topics>];

/** The topic, the key, and the body that the topic takes with the options. */
export type PutArguments<Topics = TopicBodies> = {
  [T in Topic<Topics>]: [topic: T, key: string, job: PutOptions & { body: Topics[T] }];
}[Topic<Topics>];

/** One job of a batch. */
export type NewJobRequest<Topics = TopicBodies> = {
  [T in Topic<Topics>]: Omit<EnqueueOptions, keyof RepeatableOptions> & { topic: T; body: Topics[T] };
}[Topic<Topics>];

export type Changes = Time & RepeatableOptions & { body?: unknown };

/** `from ≤ dueAt < to`. */
type Range = { from?: Instant; to?: Instant };
/** A page of a list that is read as it is iterated: 1 to 1,000 entries, 100 by default. */
type Paged = CallOptions & { pageSize?: number };
export type ListQuery = Range & Paged & { topic?: string; state?: JobState; tag?: string; group?: string };
export type DeadQuery = Paged & { tag?: string; group?: string };
export type ForecastQuery = Range & CallOptions & { topic?: string };

export type NewSchedule = JobOptions & {
  /** `cron(…)`, `rate(…)` or `at(…)`. */
  expression: string;
  /** IANA; UTC by default. */
  timezone?: string;
  start?: Instant;
  end?: Instant;
  flexibleWindow?: Duration;
  topic: string;
  body: unknown;
};

export type RedriveRequest = RepeatableOptions & {
  ids?: readonly string[];
  max?: number;
  delay?: Duration;
  ratePerSecond?: number;
};

/** What `POST /jobs/bulk` takes: which jobs, and what becomes of them. `delay` and `dueAt` are for `move`. */
export type BulkRequest = Range &
  Time &
  RepeatableOptions & {
    action: "cancel" | "move" | "run" | "redrive";
    topic: string;
    tag?: string;
    group?: string;
    /** Only counts. */
    dryRun?: boolean;
    ratePerSecond?: number;
    /** Goes on with one that came to no end, of the same request. */
    cursor?: string;
  };

/** Of a whole bulk, or of its parts so far: then with the `cursor` to go on with. */
export type BulkResult = BulkPart;

/**
 * The queue's API. `Topics`: the body of each topic's jobs. What is refused throws a `MinutehandError` with the API's
 * code and `status`. Lists are read page by page as they are iterated.
 */
export type Client<Topics = TopicBodies> = {
  /** Repeated after a lost answer it files one job. The guide has what a repeat of each call does ("When an answer is lost"). */
  enqueue<T = Topics>(...job: EnqueueArguments<NoInfer<T>>): Promise<Job>;
  /** Up to 500, each on its own, in their order. */
  enqueueMany<T = Topics>(
    jobs: readonly NewJobRequest<NoInfer<T>>[],
    options?: RepeatableOptions,
  ): Promise<(JobSummary | MinutehandError)[]>;
  /** Files a job under a key, or gives the live one all of these; repeated after a lost answer it does so once. */
  put<T = Topics>(...job: PutArguments<NoInfer<T>>): Promise<Job>;
  get(id: string, options?: CallOptions): Promise<Job>;
  getByKey(topic: string, key: string, options?: CallOptions): Promise<Job>;
  /** Repeated after a lost answer it changes the job once: what others have changed since stays. */
  reschedule(id: string, change: Changes): Promise<Job>;
  cancel(id: string, options?: CallOptions): Promise<Job>;
  /** Repeated after a lost answer it cancels another job that has taken the key meanwhile; `cancel` by id does not. */
  cancelByKey(topic: string, key: string, options?: CallOptions): Promise<Job>;
  /** Up to 500, each on its own, in their order. */
  cancelMany(ids: readonly string[], options?: CallOptions): Promise<(JobSummary | MinutehandError)[]>;
  /** In due order; without a range the next hour's. */
  list(query?: ListQuery): AsyncIterable<JobSummary>;
  /** Unfinished jobs by minute; minutes without any are left out. */
  forecast(query?: ForecastQuery): AsyncIterable<{ minute: string; count: number }>;
  /**
   * Goes on until all is done. `onProgress` gets the sums after each part. An error after the first has the `cursor` to go
   * on with in its `data`. Repeated after a lost answer a part changes no job twice, and counts what it has changed; only of
   * those that it has redriven it finds no trace.
   */
  bulk(request: BulkRequest, onProgress?: (sums: BulkResult) => void): Promise<BulkResult>;

  topics(options?: CallOptions): Promise<TopicReport[]>;
  topic(name: string, options?: CallOptions): Promise<TopicReport>;
  /** Repeated after a lost answer it holds over what others have said meanwhile; so do `resume` and what sets schedules. */
  pause(topic: string, options?: CallOptions): Promise<Paused>;
  resume(topic: string, options?: CallOptions & { ratePerSecond?: number }): Promise<Resumed>;
  /** Oldest first. */
  dead(topic: string, query?: DeadQuery): AsyncIterable<JobSummary>;
  /** Of `ids`, else the oldest `max` (100). Repeated after a lost answer it takes the same jobs, and counts them. */
  redrive(topic: string, request?: RedriveRequest): Promise<Redriven>;

  schedules(options?: CallOptions): AsyncIterable<ScheduleSummary>;
  schedule(name: string, options?: CallOptions): Promise<Schedule>;
  putSchedule(name: string, schedule: NewSchedule, options?: CallOptions): Promise<Schedule>;
  /** Repeated after a lost answer it throws `schedule-not-found`, or removes another one of that name that was put meanwhile. */
  removeSchedule(name: string, options?: CallOptions): Promise<Schedule>;
  pauseSchedule(name: string, options?: CallOptions): Promise<Schedule>;
  resumeSchedule(name: string, options?: CallOptions): Promise<Schedule>;
  /** Files its job now, beside its occurrences. */
  runSchedule(name: string, options?: RepeatableOptions): Promise<Job>;

  /**
   * Pulls and claims up to `max` (1) due jobs of a pull topic, waiting up to `waitSeconds` (0) for the first; of a
   * `millisecond` topic one, unless the topic is late. It is not repeated where jobs may have been claimed: what a
   * lost answer named waits for the end of its lease, a failed attempt.
   */
  receive(
    topic: string,
    options?: CallOptions & { max?: number; waitSeconds?: number },
  ): Promise<PulledJob[]>;
  /** Of an untracked job the answer is empty, here and below. */
  finish(topic: string, receipt: string, options?: CallOptions): Promise<SettledJob>;
  /** Prolongs the lease to so many seconds from now. */
  extend(
    topic: string,
    receipt: string,
    seconds: number,
    options?: CallOptions,
  ): Promise<SettledJob & { leaseUntil: string }>;
  /** The run has failed: again after `delay`, else by the topic's backoff. */
  retry(
    topic: string,
    receipt: string,
    options?: CallOptions & { delay?: Duration; error?: string },
  ): Promise<SettledJob>;
  bury(topic: string, receipt: string, options?: CallOptions & { error?: string }): Promise<SettledJob>;

  health(options?: CallOptions): Promise<Health>;
};

export type ClientOptions = {
  /** Of the API, with a stage's path if it has one. */
  url: string;
  /**
   * By default `"none"` for loopback addresses and `"iam"` for those of API Gateway (SigV4, with the credentials that
   * the AWS SDK would use, of the region in the host's name, else `region`); other hosts must say.
   */
  auth?: "iam" | "none" | { bearer: string | (() => Promise<string>) };
  region?: string;
  /** Of one try, ms; 30,000 by default. A `receive` has 10 s longer than its wait at least. */
  timeout?: number;
  /** How often a call is repeated that met trouble on its way (429, 502, 503, 504, the network), 0 to 100; 5 by default. */
  retries?: number;
};
