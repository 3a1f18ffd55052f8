import type { Duration } from "aws-cdk-lib";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import type { IEventBusRef } from "aws-cdk-lib/aws-events";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type {
  CancelSetting,
  EnqueueSetting,
  IfLateSetting,
  TopicSettings,
  WebhookSettings,
} from "../core/topic-settings.ts";

export type { EventMatch } from "../core/topic-settings.ts";

/** How the jobs of one topic run. */
export type TopicProps = TopicSettings<Duration>;
export type WebhookTopicProps = WebhookSettings<Duration>;
export type CancelOn = CancelSetting<Duration>;
export type EnqueueOn = EnqueueSetting<Duration>;
export type IfLateProps = IfLateSetting<Duration>;

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
