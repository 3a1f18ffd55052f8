import type { IHttpRouteAuthorizer } from "aws-cdk-lib/aws-apigatewayv2";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import type { IEventBusRef } from "aws-cdk-lib/aws-events";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { TopicMetricName } from "../src/settings/metrics.ts";
import type {
  CancelSetting,
  EnqueueSetting,
  IfLateSetting,
  TopicSettings,
  WebhookSettings,
} from "../src/settings/topic-settings.ts";
import type { AppDuration } from "./app-duration.ts";

export type { TopicMetricName } from "../src/settings/metrics.ts";
export type { EventMatch } from "../src/settings/topic-settings.ts";
export type { AppDuration } from "./app-duration.ts";

export type TopicProps = TopicSettings<AppDuration>;
export type WebhookTopicProps = WebhookSettings<AppDuration>;
export type CancelOn = CancelSetting<AppDuration>;
export type EnqueueOn = EnqueueSetting<AppDuration>;
export type IfLateProps = IfLateSetting<AppDuration>;

/**
 * The scopes that a token needs for a call, by the call's group. A token needs one of the group's scopes. Each group has 1 to 10 scopes of 1 to
 * 64 characters. No group includes another one.
 */
export type ApiScopes = {
  /** All calls with `GET`. */
  readonly read: readonly string[];
  /** Calls that file, move or cancel single jobs or listed ones, and those of a worker that pulls: `receive`, `finish`, `extend`, `retry`, `bury`. */
  readonly write: readonly string[];
  /** All other calls: bulks, erases, pauses, redrives, dismissals and recurring schedules. */
  readonly operate: readonly string[];
};

export type ApiProps = {
  /**
   * `iam`: callers sign their requests (SigV4) and need the permission `execute-api:Invoke`. `none`: there is no HTTP API. Producers then
   * use `directClient`, workers of pull topics use `directWorker`, and only the schedules in `schedules`.
   * @default "iam"
   */
  readonly auth?: "iam" | "none";
  /**
   * Who authorizes callers in place of IAM: `HttpJwtAuthorizer`, `HttpUserPoolAuthorizer` or `HttpLambdaAuthorizer` of
   * `aws-cdk-lib/aws-apigatewayv2-authorizers`. Leave `auth` out beside it. The client, the command line and the console send a token as
   * `Authorization: Bearer …`. The timeline of a job names the token's `sub`, or the text `principalId` in a Lambda authorizer's context.
   * A local stack asks no authorizer.
   * @example new HttpJwtAuthorizer("Login", "https://login.example.com", { jwtAudience: ["jobs"] })
   * @default IAM
   */
  readonly authorizer?: IHttpRouteAuthorizer;
  /**
   * The scopes that callers need. `authorizer` must be one that reads the scopes of tokens: `HttpJwtAuthorizer` or `HttpUserPoolAuthorizer`.
   * @example { read: ["jobs/read"], write: ["jobs/write"], operate: ["jobs/operate"] }
   * @default each token that the authorizer accepts may make all calls
   */
  readonly scopes?: ApiScopes;
  /**
   * How many requests a second all callers together may send on average, 1 to 10,000. API Gateway throttles further requests.
   * @default 1000
   */
  readonly throttlingRate?: number;
  /**
   * How many requests may arrive at the same time, 1 to 5,000.
   * @default 500
   */
  readonly throttlingBurst?: number;
  /**
   * How many calls of `receive` may wait at once, 1 to 1,000. Lambda reserves this many concurrent invocations. Further callers get a 5xx
   * answer, and no job is claimed for them. The deployment fails unless 100 concurrent invocations of the account stay unreserved.
   * @default no reservation: as many as the account allows
   */
  readonly receiveConcurrency?: number;
};

/** The most units a second that a new table takes. */
export type MaxThroughputProps = {
  /**
   * Read units a second, 500 to 1,000,000. A page of the sweep takes up to 256 of them.
   * @default no ceiling: what the account's quota allows, usually 40,000
   */
  readonly read?: number;
  /**
   * Write units a second, 500 to 1,000,000. The largest job with a `key` takes about 420 of them at once.
   * @default no ceiling: what the account's quota allows, usually 40,000
   */
  readonly write?: number;
};

/** A schedule that the app declares: each occurrence files a job. `Topics`: the type of the body of each topic's jobs. */
export type ScheduleProps<Topics = Record<string, unknown>> = {
  [T in keyof Topics & string]: DeclaredSchedule<T, Topics[T]>;
}[keyof Topics & string];

type DeclaredSchedule<Topic, Body> = {
  /** The topic of the jobs. */
  readonly topic: Topic;
  /**
   * When a job is filed: `cron(minutes hours day-of-month month day-of-week year)`, the five fields of cron, or a name such as `@daily`, as
   * `docs/guides/schedules.md` explains.
   * @example "0 2 * * 1-5"
   */
  readonly expression: string;
  /**
   * The time zone of the expression: a name of the IANA database.
   * @default "UTC"
   */
  readonly timezone?: string;
  /** The body of the jobs: at most 200 KiB of JSON, without tokens. */
  readonly body: Body;
  /**
   * How much later than its time an occurrence may come, 1 minute to 1 day.
   * @default within a minute
   */
  readonly flexibleWindow?: AppDuration;
  /**
   * Whether no occurrence files a job.
   * @default false
   */
  readonly paused?: boolean;
  /**
   * How long after the occurrence's time a job may start, at most 10 years. After that it does not run, and its state is `expired`.
   * @default the topic's `ifLate`
   */
  readonly expiresAfter?: AppDuration;
  /**
   * How often a job runs before it is dead, 1 to 100.
   * @default the topic's `maxAttempts`
   */
  readonly maxAttempts?: number;
  /** @default none */
  readonly tag?: string;
  /** @default none */
  readonly group?: string;
  /**
   * Makes a job due later than the occurrence, by a random duration up to this one, at most 1 day.
   * @default the topic's `spread`
   */
  readonly spread?: AppDuration;
};

/**
 * The props of a queue. `Topics`: the type of the body of each topic's jobs, by topic. Then `topics` must have exactly these topics.
 */
export type DelayQueueProps<Topics = Record<string, unknown>> = {
  /**
   * The topics by name, one or more. A name has 1 to 50 characters of `a-z`, `0-9` and `-`. Two quotas limit their number: a CloudFormation
   * stack has at most 500 resources (a pull topic takes 3, a topic with `addHandler` 8, a webhook topic 9), and a Lambda function at most
   * 4 KB of environment variables, which contain each topic's name and its differences from the defaults. Synth warns when one of them is
   * nearly used up, and says how many topics still fit.
   */
  readonly topics: { readonly [T in keyof Topics & string]: TopicProps };
  /**
   * Recurring schedules that the stack owns, by name: 1 to 64 letters, digits, `.`, `-` and `_`. A deployment creates, changes and removes them. The API
   * lists and runs them, and refuses to change them. The deployment fails if a caller of the API has made a schedule with the name.
   * @example { nightly: { topic: "reports", expression: "cron(0 2 * * ? *)", timezone: "Europe/Berlin", body: { kind: "daily" } } }
   * @default none: callers of the API make schedules
   */
  readonly schedules?: { readonly [name: string]: ScheduleProps<Topics> };
  /**
   * The start of the queues' names (`<prefix>-<topic>`), and the `service` of logs and metrics: 1 to 24 letters, digits and `-`. Two queues
   * in the same account and region need different prefixes.
   * @default "minutehand"
   */
  readonly prefix?: string;
  /**
   * How many parts each minute's jobs are divided into, 1 to 1,024. One part takes about 300 jobs a second. If you lower the number, the
   * parts that are left over get no new jobs, and the tick still sweeps them, because they may hold jobs.
   * @default 8
   */
  readonly shards?: number;
  /**
   * An existing table to use instead of a new one: one that outlived its stack, or that was restored. Its keys must be the strings `pk` and
   * `sk`, and its TTL attribute `expiresAt`: `minutehand restore` makes a restored table so. A key of yours that encrypts the table must be
   * imported with it (`Table.fromTableAttributes`). A global table is refused.
   * @example Table.fromTableName(this, "Jobs", "Shop-QueuePoolTable1ABC")
   * @example Table.fromTableAttributes(this, "Jobs", { tableName: "shop-restored", encryptionKey })
   * @default a new table
   */
  readonly table?: ITable;
  /**
   * The most units a second that the new table takes, so that a producer that files without end cannot cost more. DynamoDB throttles what is
   * above: calls and ticks try again, and calls that get no answer in time answer 503. No acknowledged job is lost, but jobs can be late.
   * If you leave the prop out later, the table keeps its ceiling: `docs/reference/deployment.md` says how to remove it.
   * @default no ceiling
   */
  readonly maxThroughput?: MaxThroughputProps;
  /**
   * How many further invocations a tick with a backlog starts at most, 0 to 63. `0`: each tick works alone. With `tickConcurrency`, the
   * smaller number counts.
   * @example 3
   * @default 63, or as many as `tickConcurrency` leaves
   */
  readonly tickSweepers?: number;
  /**
   * How many concurrent invocations Lambda reserves for the tick, 1 to 64. Then a burst of consumers, which share the account's
   * concurrency, cannot delay the tick. But a tick with a backlog and the further invocations that it starts are together at most as many
   * as are reserved. The deployment fails unless 100 concurrent invocations of the account stay unreserved.
   * @default no reservation
   */
  readonly tickConcurrency?: number;
  /**
   * How many invocations of one topic's consumer may run at once, 2 to 1,000. A topic's own `maximumConcurrency` overrides it, a webhook
   * topic has 5 by default, one with a target 10, and a topic with `pollers` has no such limit. `false`: Lambda scales each topic by
   * itself, up to 1,250 invocations, and an idle topic costs $0.16 a month less. Then a burst of one topic can take all concurrency of the
   * account, and leave none to the tick, the API and other topics until it is over. An existing limit is removed only by `false`, not by
   * leaving the prop out.
   * @example 100
   * @default no limit, as with `false`
   */
  readonly maximumConcurrency?: number | false;
  /**
   * Whether AWS X-Ray traces the queue's functions. Each function then gets the permission to write traces.
   * @default false
   */
  readonly tracing?: boolean;
  /**
   * How long a done, cancelled or expired job can be read after its end, 1 day to 10 years.
   * @default 7 days
   */
  readonly retention?: AppDuration;
  /**
   * How long a dead job can be read and redriven after its death, 14 days to 10 years.
   * @default 90 days
   */
  readonly deadRetention?: AppDuration;
  /**
   * A job that is due later than this, 1 day to 10 years, also gets a one-time schedule of EventBridge Scheduler. Either the schedule or
   * the sweep alone makes the job run. `false`: no job gets a schedule, and the function that the schedules invoke is not deployed. Jobs of
   * untracked topics never get a schedule.
   * @default 7 days
   */
  readonly longDelay?: AppDuration | false;
  /**
   * The guard against jobs that file jobs without end: how many jobs the handlers of one chain may file on a day (UTC), 100 to 10,000,000. A
   * chain is a job and all jobs that follow from it, because handlers file them with the TypeScript client. Jobs of the first two generations
   * do not count. Further jobs are refused with 409 `runaway-chain`, and a batch that is larger than what is left is refused whole. So set
   * more than a chain files on a day: a job that files many jobs and its own successor is refused from its third run on, if one run files
   * more than this. `retryIn` has the same bound for the runs of one job. The alarm `Warnings` rings at half of the bound. `false`: no bound.
   * @default 100000, which is more than a job a second
   */
  readonly maxFiledPerChain?: number | false;
  /**
   * The event bus with the events of `cancelOn` and `enqueueOn`, which also gets the events of `notify`. It must be in the same account and region.
   * @default the account's default bus
   */
  readonly eventBus?: IEventBusRef;
  /**
   * Your KMS key, which encrypts a new table, the queues, the secrets of webhooks and the logs. An existing `table` keeps its own key.
   * EventBridge Scheduler encrypts its copies of recurring schedules with its own key. The construct lets CloudWatch Logs use your key and,
   * with `cancelOn` or `enqueueOn`, EventBridge. If another app owns the key, you must allow EventBridge yourself, and the key does not
   * encrypt the logs. Synth warns of both.
   * @default keys that AWS owns, and for secrets Secrets Manager's key in your account. None of them costs anything
   */
  readonly encryptionKey?: IKey;
  /** @default an HTTP API with IAM authorization */
  readonly api?: ApiProps;
  /**
   * The SNS topic that the alarms notify when they ring. `Dead`, `OccurrencesLost`, `EventsLost`, `TickMissing` and `TickDivided` also notify
   * it when their trouble is over, and once when they are new. Without it the alarms notify nobody, and synth warns.
   * @default none
   */
  readonly alarmTopic?: ITopic;
  /**
   * Where your team keeps the runbook of the alarms: an http or https URL of at most 200 characters. Each alarm's description has it with
   * the heading of the alarm's section, such as `#dead`. The runbook is `docs/guides/alarms.md` of this package: publish the page there.
   * @example "https://wiki.example.com/minutehand-alarms"
   * @default the path of the page in the npm package
   */
  readonly runbookUrl?: string;
  /**
   * Whether the stack has a dashboard in CloudWatch with the alarms and metrics of the queue. At most 70 topics. AWS charges $3 a month for
   * a dashboard with more than 50 metrics, as this one has. The output `Url` of the dashboard is its address.
   * @default false
   */
  readonly dashboard?: boolean;
  /**
   * Which metrics each topic has. AWS charges $0.30 a month for each metric of each topic, for the hours in which it has values. Of the
   * alarms, only `Retrying` needs one of them: `Failed`. The dashboard leaves out the graphs of the others.
   * @example ["Lateness", "Dead"]
   * @default all of them
   */
  readonly topicMetrics?: readonly TopicMetricName[];
  /**
   * For test stacks: a new table, the queues, the secrets of webhooks and the logs are deleted with the stack.
   * @default false: they stay when the stack is deleted, and the table has deletion protection
   */
  readonly removable?: boolean;
  /**
   * The path of a JSON file in which synth records the topics of the queue. Commit the file. Synth writes it only when the CDK CLI runs the
   * app, and not for a local stack, and warns if it cannot write it. If a recorded topic is no longer in `topics`, synth warns until you
   * delete its line. With `removable`, synth neither reads nor writes it.
   * @default `minutehand.topics.json` in the working directory
   */
  readonly topicsFile?: string;
};
