import type { Duration } from "aws-cdk-lib";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import type { IEventBusRef } from "aws-cdk-lib/aws-events";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { Backoff } from "../core/backoff.ts";

/** Whom a webhook topic's jobs call, and how. */
export type WebhookTopicProps = {
  /**
   * Where jobs without a `callbackUrl` of their own go; at most 2,048 characters.
   *
   * @default every job must have one
   */
  readonly url?: string;
  /**
   * How long a call may take, from looking up its host to the end of the answer, 1 to 30 seconds.
   *
   * @default 15 seconds
   */
  readonly timeout?: Duration;
  /**
   * Whether URLs may begin with `http:` too.
   *
   * @default false
   */
  readonly allowHttp?: boolean;
  /**
   * Hosts that may be called though they are private, such as `hooks.internal`, `10.0.0.7` or `[fd00::7]`: as a
   * URL's `hostname` has them. Whoever can enqueue reaches every port of them.
   *
   * @default none: only addresses of the Internet
   */
  readonly allowHosts?: readonly string[];
  /**
   * The only hosts that may be called, such as `["hooks.example.com", "*.example.org"]`; `*.` stands for all hosts below. Those of
   * `allowHosts` may be called as well.
   *
   * @default every host of the Internet
   */
  readonly onlyHosts?: readonly string[];
  /**
   * The ports that may be called, 1 to 65,535 each, but for hosts of `allowHosts`, which may be called on every port. Whoever can
   * enqueue could have this account knock at every port of the Internet otherwise.
   *
   * @default 80, 443 and the port of `url`
   */
  readonly ports?: readonly number[];
  /**
   * Whether each call is signed by the topic's own secret too, besides the receiver's. All receivers that verify by the topic's
   * secret can forge calls to each other: set it only while such receivers get secrets of their own (`minutehand receiver-secret`).
   *
   * @default false
   */
  readonly sharedSecret?: boolean;
  /**
   * What a job may ask for as its own `maxAttempts` at most, 1 to 100: each attempt is a call to whomever it names.
   *
   * @default the topic's maxAttempts
   */
  readonly mostAttempts?: number;
};

/** Events that EventBridge is to bring, and where in one a job's key stands. */
export type EventMatch = {
  /**
   * Who sends it, as EventBridge has it, 1 to 256 characters.
   *
   * @default anyone
   */
  readonly source?: string;
  /** What it is, as EventBridge's `detail-type` has it, such as `OrderPaid`: 1 to 128 characters. */
  readonly detailType: string;
  /**
   * Where the key stands: `$.` and names of `A-Za-z0-9_-` with dots between them, such as `$.detail.orderId`. What
   * stands there must be text that may be a key, or a whole number: the event ends in the events' DLQ otherwise.
   */
  readonly key: string;
};

/** Events that cancel the job of their key, unless it is done already; one that runs does not run again. */
export type CancelOn = EventMatch & {
  /**
   * How long after the event a job that is filed with its key is cancelled from the start, 0 to 1 day: events overtake
   * jobs. 0: not at all.
   *
   * @default 5 minutes
   */
  readonly tombstone?: Duration;
};

/**
 * Events that enqueue a job by their key; one that comes twice enqueues one. No other match of the topic may have the
 * same events and `key`: a `cancelOn` would cancel the job, and of two `enqueueOn` only the first would file its own.
 */
export type EnqueueOn = EventMatch & {
  /** How long after the event's time the job is due, 0 to 10 years. */
  readonly delay: Duration;
  /**
   * Where the job's body stands, as `key` has it.
   *
   * @default "$.detail"
   */
  readonly body?: string;
  /**
   * What becomes of a job of this key that waits: it is kept as it is, replaced, or replaced and postponed.
   *
   * @default "keep"
   */
  readonly onDuplicate?: "keep" | "replace" | "postpone";
  /**
   * How long after the first event such jobs are postponed at most, 1 second to 10 years; with `postpone`, which needs
   * it, only.
   */
  readonly maxDelay?: Duration;
};

/** From when on a job is late, and what then. */
export type IfLateProps = { readonly after: Duration; readonly do: "run" | "skip" | "expire" };

/** How the jobs of one topic run. */
export type TopicProps = {
  /**
   * Who empties the ready queue: a Lambda function given to `addConsumer`, or callers of `receive`.
   *
   * @default "lambda"
   */
  readonly consumer?: "lambda" | "pull";
  /**
   * Jobs are sent as signed POST requests to their `callbackUrl`, by a function of the construct's own.
   *
   * @default none: jobs are run by `consumer`
   */
  readonly webhook?: WebhookTopicProps;
  /**
   * `none` gives up claims, retries and the audit for a third of the writes.
   *
   * @default "full"
   */
  readonly tracking?: "full" | "none";
  /**
   * `millisecond` releases messages early and holds them in the consumer until they are due. Of a pull topic each `receive`
   * hands out one job, unless the topic is late.
   *
   * @default "second"
   */
  readonly precision?: "second" | "millisecond";
  /**
   * How many jobs of one second may share a message, 1 to 10; a pull topic's is 1.
   *
   * @default 10, for a pull topic 1
   */
  readonly pack?: number;
  /**
   * How many jobs one invocation runs at a time, 1 to 25; for a Lambda or webhook consumer only.
   *
   * @default 10
   */
  readonly concurrency?: number;
  /**
   * How long failed jobs wait: a ladder of 1 to 100 `waits`, or `initial`, `factor` (1 or more) and `max`
   * with a `jitter` of 0 to 1. In seconds, 0 to 10 years.
   *
   * @default 15 s, 3 m, 10 m, 30 m, 30 m, 1 h, 2 h, 6 h, 15 h
   */
  readonly backoff?: Backoff;
  /**
   * Runs before a job is dead, 1 to 100.
   *
   * @default one more than the ladder has waits, 10 for an exponential backoff
   */
  readonly maxAttempts?: number;
  /**
   * How long a pulled job's lease lasts, 1 second to 12 hours; for a pull topic only.
   *
   * @default 30 seconds
   */
  readonly ttr?: Duration;
  /**
   * How many invocations of the consumer may run at once, 2 to 1,000; for a Lambda or webhook consumer only.
   *
   * @default 5 for a webhook topic, else the queue's `maximumConcurrency`, 100
   */
  readonly maximumConcurrency?: number;
  /**
   * How many of its jobs may start in a second, whoever hands them over: a whole number from 1 to 1,000; or 0.0167 to
   * 1, such as 0.5, for one in a whole number of seconds, up to 60. Those beyond it start later, in the order they are
   * due. Each minute's tick gives the starts of the next minute, and the job says its own in `heldUntil` then. Retries of an untracked topic's jobs are not counted.
   *
   * @default no limit
   */
  readonly maxPerSecond?: number;
  /**
   * Its jobs are due up to so much later than was asked, evenly drawn, unless they say themselves how much: whole
   * seconds, 0 to 1 day.
   *
   * @default not at all
   */
  readonly spread?: Duration;
  /**
   * Which events cancel its jobs by key; for a tracked topic only. A keyed job costs a read and two write units more
   * then.
   *
   * @default none
   */
  readonly cancelOn?: CancelOn | readonly CancelOn[];
  /**
   * Which events enqueue jobs by key; for a tracked topic, and a webhook topic with a `url`, only.
   *
   * @default none
   */
  readonly enqueueOn?: EnqueueOn | readonly EnqueueOn[];
  /**
   * When its jobs may start, by a zone's clocks: two different times of day, which may pass midnight. What is due outside
   * waits for the next opening, and says so in `heldUntil`; what its ready queue has by then is not held back.
   *
   * @example "09:00-18:00 Asia/Shanghai"
   * @default always
   */
  readonly window?: string;
  /**
   * What becomes of a job that would start more than `after` late, 1 second to 10 years, retries included: it is run all
   * the same, skipped (`cancelled`) or `expired`, and says why. A wait for a pause, a limit or a window is no lateness. For
   * a tracked topic only.
   *
   * @default it is run
   */
  readonly ifLate?: IfLateProps;
  /**
   * How old the oldest message may be before an alarm, 1 minute to 10 days. A message under a claim ages.
   *
   * @default 15 minutes, for a pull topic `ttr` more
   */
  readonly oldestMessageAge?: Duration;
};

export type ApiProps = {
  /**
   * `iam`: callers sign their requests (SigV4) and need `execute-api:Invoke`. `none`: there is no HTTP API;
   * producers use the TypeScript client.
   *
   * @default "iam"
   */
  readonly auth?: "iam" | "none";
  /**
   * Requests a second that all callers together may send on average, 1 to 10,000.
   *
   * @default 1000
   */
  readonly throttlingRate?: number;
  /**
   * Requests that may come at once, 1 to 5,000.
   *
   * @default 500
   */
  readonly throttlingBurst?: number;
  /**
   * How many calls of `receive` may wait at once, 1 to 1,000. Lambda reserves as many invocations for them; more callers are
   * answered 5xx, and have claimed nothing. The account must have 100 more that nobody reserves, or its deployment fails.
   *
   * @default as many as the account allows
   */
  readonly receiveConcurrency?: number;
};

/** What a table can take at once from the start, in units a second. */
export type WarmThroughputProps = {
  /** Read units a second, 12,000 to 1,000,000; over 40,000 AWS must have raised the account's quota. A sweep reads each minute's jobs once, half a unit for 4 KB. */
  readonly read?: number;
  /** Write units a second, 4,000 to 1,000,000; over 40,000 AWS must have raised the account's quota. A tracked job costs three for each KB, an untracked one one. */
  readonly write?: number;
};

export type DelayQueueProps = {
  /**
   * The topics by name, 1 or more; a name is 1 to 50 of `a-z`, `0-9` and `-`. Each is six resources, a webhook's
   * twelve, of the 500 that CloudFormation takes in a stack, and its differences from the defaults count towards the 4 KB of
   * environment that Lambda takes.
   */
  readonly topics: Readonly<Record<string, TopicProps>>;
  /**
   * Names the queues, `<prefix>-<topic>`, and the `service` of logs and metrics: 1 to 24 letters, digits and
   * `-`. One per account and region.
   *
   * @default "minutehand"
   */
  readonly prefix?: string;
  /**
   * Hash partitions of each minute, 1 to 1,024; about 300 jobs a second each. It can only grow.
   *
   * @default 8
   */
  readonly shards?: number;
  /**
   * A table to use instead of a new one: one that outlived its stack, or that was restored. It must have been a queue's: its keys
   * are the strings `pk` and `sk`, and its TTL attribute `expiresAt`, which a restored table has not until it is set. With an
   * `encryptionKey` it must be given with its key (`Table.fromTableAttributes`).
   *
   * @example Table.fromTableName(this, "Jobs", "Shop-QueuePoolTable1ABC")
   * @default a new table
   */
  readonly table?: ITable;
  /**
   * What the new table can take at once from the start. DynamoDB bills it once, and it stays. Without it an on-demand table
   * begins with 4,000 write units a second and doubles within half an hour. Choose three write units for each tracked job of the
   * busiest second, and one for each untracked one, for bodies of up to 1 KB.
   *
   * @default DynamoDB's: 12,000 read and 4,000 write units a second
   */
  readonly warmThroughput?: WarmThroughputProps;
  /**
   * How many invocations of the tick Lambda keeps free for it, 1 to 10: then no burst of consumers, whose topics share the
   * account's concurrency with it, can hold it up. The account must have 100 more that nobody reserves, or its deployment fails.
   *
   * @default none is reserved
   */
  readonly tickConcurrency?: number;
  /**
   * How many invocations of a topic's consumer may run at once, for topics that do not say so themselves, 2 to 1,000; a webhook
   * topic's are 5. One burst would else take all that the account allows, the tick's and the API's too.
   *
   * @default 100
   */
  readonly maximumConcurrency?: number;
  /**
   * Whether AWS X-Ray traces the queue's functions. Each may then write its traces.
   *
   * @default false
   */
  readonly tracing?: boolean;
  /**
   * How long a done, cancelled or expired job can be read, 1 day to 10 years.
   *
   * @default 7 days
   */
  readonly retention?: Duration;
  /**
   * How long a dead job can be redriven, 14 days to 10 years.
   *
   * @default 90 days
   */
  readonly deadRetention?: Duration;
  /**
   * Jobs due later than this get a one-time schedule of EventBridge Scheduler beside the minute's sweep, so that either
   * alone brings them, 1 day to 10 years. `false`: none do, and there is no such function. Untracked topics have none.
   *
   * @default 7 days
   */
  readonly longDelay?: Duration | false;
  /**
   * Where the events of `cancelOn` and `enqueueOn` come from; of this account and region.
   *
   * @default the account's default bus
   */
  readonly eventBus?: IEventBusRef;
  /**
   * A key of yours for the table, the topics' queues and the logs. What recurring schedules say of their jobs is under
   * EventBridge Scheduler's own, and the tick's DLQ, which says nothing of jobs, under SQS's. CloudWatch Logs is let into the
   * key, and with `cancelOn` or `enqueueOn` EventBridge is too. A key of another app's has to let EventBridge in itself, and the
   * logs are not put under it; synth says both.
   *
   * @default the table by DynamoDB's key in your account, the queues by SQS's own, the logs by CloudWatch's
   */
  readonly encryptionKey?: IKey;
  /** @default an HTTP API with IAM authorization */
  readonly api?: ApiProps;
  /**
   * What the alarms notify. Without it they wake nobody, and synth warns.
   *
   * @default none
   */
  readonly alarmTopic?: ITopic;
  /**
   * For test stacks: table, queues and logs go when the stack goes.
   *
   * @default false: they stay, and the table cannot be deleted
   */
  readonly removable?: boolean;
  /**
   * A JSON file to commit, in which synth notes the topics it has seen when the CDK CLI runs the app: a local stack's are
   * not deployed. One that is noted and no longer in `topics` warns until its line is taken out.
   *
   * @default `minutehand.topics.json` in the working directory
   */
  readonly topicsFile?: string;
};
