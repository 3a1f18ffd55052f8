import type { Duration } from "aws-cdk-lib";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import type { IEventBusRef } from "aws-cdk-lib/aws-events";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { Backoff } from "../core/backoff.ts";

/** How a webhook topic calls the receivers of its jobs. */
export type WebhookTopicProps = {
  /**
   * The URL that is called for jobs without a `callbackUrl`. At most 2,048 characters.
   *
   * @default none: every job must have a `callbackUrl`
   */
  readonly url?: string;
  /**
   * How long a call may take, from the look-up of its host to the end of the answer. 1 to 30 seconds.
   *
   * @default 15 seconds
   */
  readonly timeout?: Duration;
  /**
   * Whether a URL may also begin with `http:`.
   *
   * @default false
   */
  readonly allowHttp?: boolean;
  /**
   * Private hosts that may be called, written as `new URL(…).hostname` gives them: `hooks.internal`, `10.0.0.7` or `[fd00::7]`.
   * Everyone who can enqueue jobs can reach every port of these hosts.
   *
   * @default none: only public addresses may be called
   */
  readonly allowHosts?: readonly string[];
  /**
   * The only hosts that may be called, besides those of `allowHosts`. `*.example.org` stands for all hosts below `example.org`.
   *
   * @example ["hooks.example.com", "*.example.org"]
   * @default every public host
   */
  readonly onlyHosts?: readonly string[];
  /**
   * The ports that may be called, 1 to 65,535 each. They do not limit the hosts of `allowHosts`. Without this limit, everyone who
   * can enqueue jobs could use this account to scan ports of the Internet.
   *
   * @default 80, 443 and the port of `url`
   */
  readonly ports?: readonly number[];
  /**
   * Whether each call is signed with the topic's secret in addition to the receiver's. Receivers that know the topic's secret can
   * forge calls to each other. Set this only until each such receiver has a secret of its own (`minutehand receiver-secret`).
   *
   * @default false
   */
  readonly sharedSecret?: boolean;
  /**
   * The greatest `maxAttempts` that a job may ask for, 1 to 100. Each attempt is a call to the URL that the job names.
   *
   * @default the topic's `maxAttempts`
   */
  readonly mostAttempts?: number;
};

/** Which events of EventBridge match, and where an event has the key of its job. */
export type EventMatch = {
  /**
   * The event's `source`, 1 to 256 characters.
   *
   * @default every source
   */
  readonly source?: string;
  /** The event's `detail-type`, such as `OrderPaid`. 1 to 128 characters. */
  readonly detailType: string;
  /**
   * The path of the key in the event, such as `$.detail.orderId`: `$.`, then names of `A-Za-z0-9_-` with dots between them. The
   * value there must be a valid key or a whole number. Otherwise the event ends in the DLQ of the events.
   */
  readonly key: string;
};

/** Events that cancel the job with their key. A finished job stays as it is. A running job finishes its run and does not run again. */
export type CancelOn = EventMatch & {
  /**
   * How long after the event a newly filed job with the same key is cancelled at once, 0 to 1 day. An event can arrive before its
   * job. 0: no such job is cancelled.
   *
   * @default 5 minutes
   */
  readonly tombstone?: Duration;
};

/**
 * Events that enqueue a job with their key. An event that arrives twice enqueues one job. No other match of the topic may have
 * the same events and `key`: a `cancelOn` would cancel the job, and of two `enqueueOn` only the first would file its job.
 */
export type EnqueueOn = EventMatch & {
  /** How long after the time of the event the job is due. 0 to 10 years. */
  readonly delay: Duration;
  /**
   * The path of the job's body in the event, written like `key`.
   *
   * @default "$.detail"
   */
  readonly body?: string;
  /**
   * What happens to a waiting job with the same key. `keep`: the waiting job stays as it is. `replace`: the new job replaces it.
   * `postpone`: the new job replaces it and is due `delay` after the newest event (debounce), but not later than `maxDelay` allows.
   *
   * @default "keep"
   */
  readonly onDuplicate?: "keep" | "replace" | "postpone";
  /**
   * How long after the first event a postponed job is due at the latest, 1 second to 10 years. Required with `postpone`, and
   * allowed only there.
   */
  readonly maxDelay?: Duration;
};

/** When a job is too late, and what happens to it then. */
export type IfLateProps = { readonly after: Duration; readonly do: "run" | "skip" | "expire" };

/** How the jobs of one topic run. */
export type TopicProps = {
  /**
   * Who runs the jobs: a Lambda function (`addHandler`, `addConsumer`), or programs that pull them over HTTP (`receive`).
   *
   * @default "lambda"
   */
  readonly consumer?: "lambda" | "pull";
  /**
   * Makes this a webhook topic: a function of the construct sends each job as a signed POST request to its `callbackUrl`.
   *
   * @default none: the `consumer` runs the jobs
   */
  readonly webhook?: WebhookTopicProps;
  /**
   * `none` costs a third of the writes, and gives up claims, retries by Minutehand and the audit.
   *
   * @default "full"
   */
  readonly tracking?: "full" | "none";
  /**
   * `millisecond` makes SQS deliver each message early, and the consumer holds it until its job is due. In a pull topic each
   * `receive` then answers one job, unless the topic is late.
   *
   * @default "second"
   */
  readonly precision?: "second" | "millisecond";
  /**
   * How many jobs that are due in the same second may share a message, 1 to 10. For a pull topic it must be 1.
   *
   * @default 10, for a pull topic 1
   */
  readonly pack?: number;
  /**
   * How many jobs one invocation runs at the same time, 1 to 25. Not for a pull topic.
   *
   * @default 10
   */
  readonly concurrency?: number;
  /**
   * How long a job waits after each failed attempt. Either a list of 1 to 100 `waits`, or exponential backoff with jitter:
   * `initial`, `factor` (1 to 100), `max` and `jitter` (0 to 1). Waits are seconds, from 0 to 10 years.
   *
   * @default 15 s, 3 m, 10 m, 30 m, 30 m, 1 h, 2 h, 6 h, 15 h
   */
  readonly backoff?: Backoff;
  /**
   * How often a job runs before it is dead, 1 to 100.
   *
   * @default the number of `waits` plus one; 10 for exponential backoff
   */
  readonly maxAttempts?: number;
  /**
   * How long the lease of a pulled job lasts, 1 second to 12 hours. Only for a pull topic.
   *
   * @default 30 seconds
   */
  readonly ttr?: Duration;
  /**
   * How many invocations of the consumer may run at the same time, 2 to 1,000. Not for a pull topic.
   *
   * @default 5 for a webhook topic; otherwise the queue's `maximumConcurrency`
   */
  readonly maximumConcurrency?: number;
  /**
   * How many jobs of the topic may start in a second (rate limit): a whole number from 1 to 1,000, or a number from 1/60 to 1,
   * such as 0.5 for one start in two seconds. A number below 1 means one start in a whole number of seconds, up to 60. The other
   * jobs start later, in the order in which they are due. Each minute's tick assigns the starts of about the next minute. A job
   * then has its start in `heldUntil`. Retries in an untracked topic do not count.
   *
   * @default no limit
   */
  readonly maxPerSecond?: number;
  /**
   * Makes each job due later than requested, by a random duration from 0 to `spread`, unless the job has a `spread` of its own.
   * Whole seconds, 0 to 1 day.
   *
   * @default 0: jobs are due as requested
   */
  readonly spread?: Duration;
  /**
   * Which events cancel jobs of the topic by key. Only for a tracked topic. Each keyed job then costs one read and two write units
   * more.
   *
   * @default none
   */
  readonly cancelOn?: CancelOn | readonly CancelOn[];
  /**
   * Which events enqueue jobs by key. Only for a tracked topic; a webhook topic must have a `url`.
   *
   * @default none
   */
  readonly enqueueOn?: EnqueueOn | readonly EnqueueOn[];
  /**
   * The hours in which jobs may start: two different times of day and an IANA time zone. The window may pass midnight. A job that
   * is due outside the window waits for its next opening, and has that time in `heldUntil`. A message that is already in the ready
   * queue is not held back.
   *
   * @example "09:00-18:00 Asia/Shanghai"
   * @default always
   */
  readonly window?: string;
  /**
   * What happens to a job that would start more than `after` late (1 second to 10 years), in any attempt. `run`: the job runs.
   * `skip`: the job ends as `cancelled`. `expire`: the job ends as `expired`. Its `lastError` says why. A wait for a pause, a rate
   * limit or a window is not lateness. Only for a tracked topic.
   *
   * @default the job runs
   */
  readonly ifLate?: IfLateProps;
  /**
   * How old the oldest message of the ready queue may be before the `Backlog` alarm rings, 1 minute to 10 days. The message of a
   * running job counts.
   *
   * @default 15 minutes; for a pull topic 15 minutes plus `ttr`
   */
  readonly oldestMessageAge?: Duration;
};

export type ApiProps = {
  /**
   * `iam`: callers sign their requests (SigV4) and need the permission `execute-api:Invoke`. `none`: there is no HTTP API, and
   * producers use `directClient` of the TypeScript client.
   *
   * @default "iam"
   */
  readonly auth?: "iam" | "none";
  /**
   * How many requests a second all callers together may send on average, 1 to 10,000. API Gateway throttles further requests.
   *
   * @default 1000
   */
  readonly throttlingRate?: number;
  /**
   * How many requests may arrive at the same time, 1 to 5,000.
   *
   * @default 500
   */
  readonly throttlingBurst?: number;
  /**
   * How many calls of `receive` may wait at the same time, 1 to 1,000. Lambda reserves this many concurrent invocations. Further
   * callers get a 5xx answer, and no job is claimed for them. The deployment fails unless 100 concurrent invocations of the account
   * stay unreserved.
   *
   * @default no reservation: as many as the account allows
   */
  readonly receiveConcurrency?: number;
};

/** The capacity that a new table has from the start, in units a second. */
export type WarmThroughputProps = {
  /**
   * Read units a second, 12,000 to 1,000,000. For more than 40,000, AWS must have raised the account's quota. A sweep reads each
   * minute's jobs once, at half a unit for 4 KB.
   */
  readonly read?: number;
  /**
   * Write units a second, 4,000 to 1,000,000. For more than 40,000, AWS must have raised the account's quota. For each KB of its
   * size, a tracked job costs three units and an untracked job one.
   */
  readonly write?: number;
};

export type DelayQueueProps = {
  /**
   * The topics by name, one or more. A name has 1 to 50 characters of `a-z`, `0-9` and `-`. Two quotas limit their number. A
   * CloudFormation stack has at most 500 resources, of which a topic takes six and a webhook topic twelve. A Lambda function has at
   * most 4 KB of environment variables, which contain each topic's differences from the defaults.
   */
  readonly topics: Readonly<Record<string, TopicProps>>;
  /**
   * The start of the queues' names (`<prefix>-<topic>`), and the `service` of logs and metrics. 1 to 24 letters, digits and `-`.
   * Two queues in the same account and region need different prefixes.
   *
   * @default "minutehand"
   */
  readonly prefix?: string;
  /**
   * How many parts the jobs of each minute are divided into, 1 to 1,024. One part takes about 300 jobs a second. The number can only
   * grow.
   *
   * @default 8
   */
  readonly shards?: number;
  /**
   * An existing table to use instead of a new one: a queue's table that outlived its stack, or that was restored. Its keys must be
   * the strings `pk` and `sk`, and its TTL attribute must be `expiresAt`. A restored table has no TTL attribute until you set it. If
   * the table has an encryption key, give the key with the table (`Table.fromTableAttributes`).
   *
   * @example Table.fromTableName(this, "Jobs", "Shop-QueuePoolTable1ABC")
   * @default a new table
   */
  readonly table?: ITable;
  /**
   * The capacity that the new table has from the start. DynamoDB bills it once, and the table keeps it. Without this prop, an
   * on-demand table begins with 4,000 write units a second and doubles within half an hour. For jobs of up to 1 KB, plan three write
   * units for each tracked job of the busiest second and one for each untracked job.
   *
   * @default DynamoDB's: 12,000 read and 4,000 write units a second
   */
  readonly warmThroughput?: WarmThroughputProps;
  /**
   * How many concurrent invocations Lambda reserves for the tick, 1 to 10. The tick shares the account's concurrency with all
   * consumers; with a reservation, a burst of consumers cannot delay it. The deployment fails unless 100 concurrent invocations of
   * the account stay unreserved.
   *
   * @default no reservation
   */
  readonly tickConcurrency?: number;
  /**
   * How many invocations of one topic's consumer may run at the same time, 2 to 1,000. A topic's own `maximumConcurrency` overrides
   * it, and a webhook topic has 5 by default. Without a limit, one burst could take all concurrency of the account, and leave none
   * to the tick and the API.
   *
   * @default 100
   */
  readonly maximumConcurrency?: number;
  /**
   * Whether AWS X-Ray traces the queue's functions. Each function then gets the permission to write traces.
   *
   * @default false
   */
  readonly tracing?: boolean;
  /**
   * How long a done, cancelled or expired job can be read after its end, 1 day to 10 years.
   *
   * @default 7 days
   */
  readonly retention?: Duration;
  /**
   * How long a dead job can be read and redriven after its death, 14 days to 10 years.
   *
   * @default 90 days
   */
  readonly deadRetention?: Duration;
  /**
   * A job that is due later than this also gets a one-time schedule of EventBridge Scheduler, 1 day to 10 years. The schedule and
   * the sweep are independent: either one alone makes the job run. `false`: no job gets a schedule, and the function for it is not
   * deployed. Jobs of untracked topics never get one.
   *
   * @default 7 days
   */
  readonly longDelay?: Duration | false;
  /**
   * The event bus with the events of `cancelOn` and `enqueueOn`. It must be in the same account and region.
   *
   * @default the account's default bus
   */
  readonly eventBus?: IEventBusRef;
  /**
   * Your KMS key, which encrypts the table, the topics' queues and the logs. Two things stay under keys of AWS: the jobs of recurring
   * schedules (EventBridge Scheduler's key), and the tick's DLQ (SQS's key), which contains no jobs. The construct allows CloudWatch
   * Logs to use the key and, with `cancelOn` or `enqueueOn`, EventBridge. It cannot change the policy of a key that another app owns.
   * You must then allow EventBridge yourself, and the key does not encrypt the logs. Synth warns of both.
   *
   * @default keys of AWS: DynamoDB's key in your account, SQS's key and CloudWatch's key
   */
  readonly encryptionKey?: IKey;
  /** @default an HTTP API with IAM authorization */
  readonly api?: ApiProps;
  /**
   * The SNS topic that the alarms notify. Without it the alarms notify nobody, and synth warns.
   *
   * @default none
   */
  readonly alarmTopic?: ITopic;
  /**
   * For test stacks: the table, the queues and the logs are deleted with the stack.
   *
   * @default false: they stay when the stack is deleted, and the table has deletion protection
   */
  readonly removable?: boolean;
  /**
   * The path of a JSON file in which synth records the topics of the queue. Commit the file. Synth writes it only when the CDK CLI
   * runs the app, and not for a local stack. If a recorded topic is no longer in `topics`, synth warns until you delete its line.
   *
   * @default `minutehand.topics.json` in the working directory
   */
  readonly topicsFile?: string;
};
