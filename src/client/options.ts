import type { JOB_OPTIONS, JobOptions as StoredOptions } from "../core/job-options.ts";
import type { Duration, DurationText } from "../general/times.ts";
import type { JobState } from "./answers.ts";
import type { TopicBodies } from "./check-bodies.ts";

export type { Duration, DurationText };
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

/** The compiler's error about a job with two times shows this text. `dueAt` keeps its type, because an `Instant` may be any text. */
type NotBoth = "give delay or dueAt, not both";
/** When a job is due: exactly one of the two. The compiler's errors speak of the last one. */
export type DelayOrDueAt = { dueAt: Instant; delay?: never } | { delay: Duration; dueAt?: NotBoth };
/** At most one of the two. */
type AnyTime = { delay?: Duration; dueAt?: NotBoth } | { dueAt?: Instant; delay?: never };

// Interfaces, because the compiler's errors name them. Of a type they list all parts.
interface PutSettings extends JobOptions, RepeatableOptions, ChangeOptions {}
interface KeySettings {
  key?: string;
  onDuplicate?: "reject" | "keep" | "replace" | "postpone";
  /**
   * A postponed job is due at most this long after its creation. If a call without `postpone` filed or replaced the job, the time counts
   * from the job's last change before its first postponement. Required with `onDuplicate: "postpone"`, and allowed only there.
   */
  maxDelay?: Duration;
}
interface BatchSettings extends JobOptions, KeySettings {}
export interface EnqueueSettings extends PutSettings, KeySettings {}

export type PutOptions = DelayOrDueAt & PutSettings;
export type EnqueueOptions = DelayOrDueAt & EnqueueSettings;

/** The arguments of `enqueue`: the topic, a body of the topic's type, and the options. */
export type EnqueueArguments<Topics = TopicBodies> = {
  [T in keyof Topics & string]: [topic: T, body: Topics[T], options: EnqueueOptions];
}[keyof Topics & string];

/** The arguments of `put`: the topic, the key, and the body with the options. */
export type PutArguments<Topics = TopicBodies> = {
  [T in keyof Topics & string]: [topic: T, key: string, job: PutOptions & SeenOptions & { body: Topics[T] }];
}[keyof Topics & string];

export type NewJobRequest<Topics = TopicBodies> = {
  [T in keyof Topics & string]: DelayOrDueAt & BatchSettings & { topic: T; body: Topics[T] };
}[keyof Topics & string];

/** A new time for a job, or none. */
type NewTime = AnyTime & RepeatableOptions & { shift?: never };
interface Shift {
  /**
   * Moves the job by as much from the time that it has: a duration, or `"-30m"` to make the job earlier. The client reads the job first. If you
   * call again after an error such as a timeout, the job can move twice: with `ifMatch` it cannot.
   */
  shift: Duration;
  delay?: never;
  dueAt?: never;
  idempotencyKey?: never;
}

export type Changes<Body = unknown> = (NewTime | Shift) & ChangeOptions & SeenOptions & { body?: Body };

/** `from ≤ dueAt < to`; for a bulk that redrives or dismisses, the time of the death. A list or a forecast spans at most 31 days, a bulk 366. */
type Range = { from?: Instant; to?: Instant };
/** Jobs with this tag and of this group. An absent field matches every job. */
type Filters = Pick<StoredOptions, "tag" | "group">;
/** `pageSize`: how many entries one request reads, 1 to 1,000; 100 by default. */
type Paged = CallOptions & { pageSize?: number };
export type ListQuery<T extends string = string> = Range & Paged & Filters & { topic?: T; state?: JobState };
export type DeadQuery = Paged & Filters;
export type ForecastQuery<T extends string = string> = Range & CallOptions & { topic?: T };
/** `step`: how long a step of time is, whole seconds, 1 second to 1 day. */
export type CountQuery<T extends string = string> = ForecastQuery<T> & { step: Duration };

export type NewSchedule<T extends string = string, Body = unknown> = JobOptions & {
  /** `cron(…)`, `rate(…)` or `at(…)`; or five fields of cron such as `0 9 * * 1-5`, or `@daily`. */
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

/** `ids`: up to 500 jobs. `ifMatch`: only with one id. */
export type DismissRequest = ChangeOptions & SeenOptions & { ids: readonly string[] };

/** `delay`, `dueAt` and `shift` are only for `move`, which needs one of them. `ratePerSecond` is 0.001 to 1,000, and not for `cancel`, `dismiss` or `shift`. */
export type BulkRequest<T extends string = string> = Range &
  AnyTime &
  Filters &
  RepeatableOptions &
  ChangeOptions & {
    action: "cancel" | "move" | "run" | "redrive" | "dismiss";
    topic: T;
    /** Whether to count the jobs and change nothing. */
    dryRun?: boolean;
    ratePerSecond?: number;
    /** Moves each job by as much: a duration, or `"-30m"` to make the jobs earlier. A job whose new time has passed runs at once, and is late. */
    shift?: Duration;
    /** The cursor of an interrupted bulk of the same request, which then continues. */
    cursor?: string;
  };

/** Which jobs to erase, of any state and time. At least one of `topic`, `tag`, `group` and `keyPrefix` must be given. */
export type EraseRequest<T extends string = string> = Filters &
  ChangeOptions & {
    topic?: T;
    /** The first characters of the jobs' keys. */
    keyPrefix?: string;
    /** Whether to count the jobs and change nothing. */
    dryRun?: boolean;
    /** The cursor of an interrupted erase of the same request, which then continues. */
    cursor?: string;
  };

/** `from ≤ dueAt < to`. An absent field matches every job. `pageSize`: how many jobs one request answers, 1 to 500; 100 by default. */
export type ExportQuery<T extends string = string> = Range &
  Paged & {
    topic?: T;
    state?: JobState;
    /** The cursor of a part of the same query. The export then goes on after this part. */
    cursor?: string;
  };

/** `ratePerSecond`: how many parked jobs start in a second at most, 0.001 to 1,000. */
export type ResumeOptions = ChangeOptions & { ratePerSecond?: number };
export type ReceiveOptions = CallOptions & { max?: number; waitSeconds?: number };
export type RetryOptions = CallOptions & { delay?: Duration; error?: string };
export type BuryOptions = CallOptions & { error?: string };
