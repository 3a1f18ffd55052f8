import { type Backoff, exponentialBackoff } from "../core/backoff.ts";
import {
  LONGEST_LEASE,
  LONGEST_SPREAD,
  MOST_ATTEMPTS,
  MOST_IN_PACK,
  MOST_WAITS,
  READY_RETENTION,
} from "../core/constants.ts";
import type { Notified } from "./notices.ts";

/**
 * The settings of a topic. Each is declared only here: its type, sentence and default in `TopicSettings`, its range in
 * `TOPIC_SETTINGS`. The construct's prop, the checks at synth, the policy that functions read, the test kit's topic, the API's answer
 * about a topic, and the table in the docs all follow from these two. `Duration` is the type of durations, and `inSeconds` converts them.
 */

type OneOrMany<T> = T | readonly T[];

/** How a webhook topic calls the receivers of its jobs. */
export type WebhookSettings<Duration> = {
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
export type CancelSetting<Duration> = EventMatch & {
  /**
   * If the event finds no job to cancel: for how long after the event each job that is filed with the same key is cancelled at once.
   * An event can arrive before its job. 0 to 1 day. 0: no such job is cancelled.
   *
   * @default 5 minutes
   */
  readonly tombstone?: Duration;
};

/**
 * Events that enqueue a job with their key. An event that arrives twice enqueues one job. No other match of the topic may have
 * the same events and `key`: a `cancelOn` would cancel the job, and of two `enqueueOn` only the first would file its job.
 */
export type EnqueueSetting<Duration> = EventMatch & {
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
   * A postponed job is due at most this long after the first event, 1 second to 10 years. Required with `postpone`, and allowed only there.
   */
  readonly maxDelay?: Duration;
};

/** When a job is too late, and what happens to it then. */
export type IfLateSetting<Duration> = { readonly after: Duration; readonly do: "run" | "skip" | "expire" };

/** How long a failed job waits: a list of waits, the last of which repeats, or exponential backoff. */
export type BackoffSetting<Duration> =
  | readonly Duration[]
  | { readonly exponential: ExponentialSetting<Duration> };

/** The wait is `initial`, and after each further failure `factor` times as long, up to `max`. */
export type ExponentialSetting<Duration> = {
  /** @default 15 seconds */
  readonly initial?: Duration;
  /**
   * 1 to 100.
   * @default 2
   */
  readonly factor?: number;
  /** @default 1 hour, or `initial` if that is longer */
  readonly max?: Duration;
  /**
   * The share of each wait, 0 to 1, of which a random part is left out, so that jobs that failed together do not run together again.
   * @default 0.5
   */
  readonly jitter?: number;
};

/** How many event pollers a topic's queue has: at least `min`, 2 to 200, and at most `max`, 2 to 2,000. `min` must not be above `max`. */
export type PollersSetting = { readonly min: number; readonly max: number };

/** How the jobs of one topic run. */
export type TopicSettings<Duration> = {
  /**
   * Who runs the jobs: a Lambda function (`addHandler`, `addConsumer`, `addTarget`), or programs that pull them over HTTP (`receive`).
   *
   * @default "lambda"
   */
  readonly consumer?: "lambda" | "pull";
  /**
   * Makes this a webhook topic: a function of the construct sends each job as a signed POST request to its `callbackUrl`.
   *
   * @default none: the `consumer` runs the jobs
   */
  readonly webhook?: WebhookSettings<Duration>;
  /**
   * `none` costs a third of the writes, and gives up claims, the audit, and the record of each run in the table.
   *
   * @default "full"
   */
  readonly tracking?: "full" | "none";
  /**
   * `millisecond` makes SQS deliver each message early, and the consumer holds it until its job is due. In a pull topic each
   * `receive` then answers one job, and more only if that job is already late.
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
   * How long a job waits after each failed attempt. Either a list of 1 to 100 waits, or exponential backoff with jitter:
   * `{ exponential: { initial: "15s", factor: 2, max: "1h", jitter: 0.5 } }`, in which each field may be left out. Each wait, `initial`
   * and `max` is 0 to 10 years. For an untracked topic the longest is 7 days.
   *
   * @example ["15s", "3m", "10m"]
   * @default 15 s, 3 m, 10 m, 30 m, 30 m, 1 h, 2 h, 6 h, 15 h
   */
  readonly backoff?: BackoffSetting<Duration>;
  /**
   * How often a job runs before it is dead, 1 to 100.
   *
   * @default the number of waits plus one, at most 100; 10 for exponential backoff
   */
  readonly maxAttempts?: number;
  /**
   * How long the lease of a pulled job lasts, 1 second to 12 hours. Only for a pull topic.
   *
   * @default 30 seconds
   */
  readonly ttr?: Duration;
  /**
   * How many invocations of the consumer may run at the same time, 2 to 1,000. `false`: as many as Lambda starts, up to 1,250. Not for a
   * pull topic. A limit makes an idle topic $0.16 a month dearer, because Lambda then keeps five long polls open instead of two.
   *
   * @example 50
   * @default 5 for a webhook topic, 10 for one with a target; otherwise the queue's `maximumConcurrency`
   */
  readonly maximumConcurrency?: number | false;
  /**
   * How many event pollers Lambda reserves for the topic's queue: at least `min`, 2 to 200, and at most `max`, 2 to 2,000. Then a
   * burst starts sooner. One poller runs up to 10 invocations of the consumer at the same time, so at most 10 times `max` run at once,
   * and no `maximumConcurrency` applies. AWS charges for each poller and hour, also while the queue is empty. Not for a pull topic,
   * and not together with the topic's own `maximumConcurrency`. `false` turns off the pollers of an earlier deployment: CloudFormation
   * leaves them on if the setting only disappears.
   *
   * @example { min: 2, max: 20 }
   * @default none: Lambda chooses the number of pollers, which cost nothing
   */
  readonly pollers?: PollersSetting | false;
  /**
   * How many jobs of the topic may start in a second (rate limit): a whole number from 1 to 1,000, or a number from 1/60 to 1,
   * such as 0.5 for one start in two seconds. A number below 1 means one start in a whole number of seconds, up to 60. The other
   * jobs start later, in the order in which they are due. Each minute's tick assigns the starts of about the next minute. A job
   * then has its start in `heldUntil`.
   *
   * @default no limit
   */
  readonly maxPerSecond?: number;
  /**
   * How many jobs of the topic callers may file in a minute, 1 to 1,000,000. The HTTP API and the direct client refuse further jobs with 429
   * `too-many-filed` until the next minute begins. A repeat with the same `Idempotency-Key` does not count, and neither do the jobs of
   * events and of schedules. Each call costs one write unit more.
   *
   * @default no limit
   */
  readonly maxFiledPerMinute?: number;
  /**
   * Makes each job due later than requested, by a random duration from 0 to `spread`, unless the job has a `spread` of its own.
   * Whole seconds, 0 to 1 day.
   *
   * @default 0: jobs are due as requested
   */
  readonly spread?: Duration;
  /**
   * Which events cancel jobs of the topic by key. Only for a tracked topic. Each keyed job then costs one read and four write
   * units more, unless each `tombstone` is 0 and the topic has no `enqueueOn`.
   *
   * @default none
   */
  readonly cancelOn?: OneOrMany<CancelSetting<Duration>>;
  /**
   * Which events enqueue jobs by key. Only for a tracked topic; a webhook topic must have a `url`.
   *
   * @default none
   */
  readonly enqueueOn?: OneOrMany<EnqueueSetting<Duration>>;
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
   * limit or a window is not lateness, and neither is the time by which the job was late before that wait. Only for a tracked topic.
   *
   * @default the job runs
   */
  readonly ifLate?: IfLateSetting<Duration>;
  /**
   * The ends of attempts about which the queue puts an event of EventBridge on the `eventBus`: `completed`, `failed` (the job runs again) and
   * `dead`. AWS charges $1.00 for a million events. The events have the job's id, key and tag, and never its body. Best effort: an event can be
   * lost or come twice. Only for a tracked topic. `docs/guides/events.md` has the layout.
   *
   * @example ["completed", "dead"]
   * @default none: no events
   */
  readonly notify?: readonly Notified[];
  /**
   * How old the oldest message of the ready queue may be before the `Backlog` alarm rings, 1 minute to 10 days. The message of a
   * running job counts. A topic with this setting has the alarm.
   *
   * @default 15 minutes; for a pull topic 15 minutes plus `ttr`
   */
  readonly oldestMessageAge?: Duration;
  /**
   * Which alarms the topic has: `Dead`, `Backlog`, `Retrying` and, unless it is a pull topic, `Failing`. Each costs $0.10 a month. An untracked pull
   * topic cannot have `Retrying`. `docs/guides/alarms.md` says what the default ones find without the others.
   *
   * @example ["Dead", "Retrying"]
   * @default `Dead`; for an untracked topic `Dead` and `Backlog`
   */
  readonly alarms?: readonly TopicAlarm[];
};

/** The JSON types of a setting, and what is allowed in place of another type. Without `allowed`, the code of the setting checks the type. */
export type JsonForm = {
  readonly types: readonly ("object" | "array" | "string" | "number" | "boolean")[];
  readonly allowed?: string;
};

/**
 * How a setting is checked and converted. Durations are seconds. A setting of kind `own` has code of its own; its `range` is for readers.
 */
type Declaration = (
  | { readonly kind: "word"; readonly words: readonly string[] }
  | { readonly kind: "count"; readonly least: number; readonly most: number; readonly orFalse?: true }
  | { readonly kind: "duration"; readonly least: number; readonly most: number }
  | ({ readonly kind: "own"; readonly range: string } & JsonForm)
) & {
  /** Who reads the setting: functions, in their policy; only the deployment; or the function that applies events. */
  readonly readBy: "functions" | "deployment" | "events";
  /** `pull`: only a pull topic may have the setting. `lambda`: each topic except a pull topic may have it, also a webhook topic. */
  readonly onlyFor?: "pull" | "lambda";
  /** The value for functions if it is not set. */
  readonly ifAbsent?: string | number;
};

const functions = { readBy: "functions" } as const;

export const TOPIC_SETTINGS = {
  consumer: { kind: "word", words: ["lambda", "pull"], ...functions },
  webhook: {
    kind: "own",
    types: ["object"],
    allowed: 'such as {"url": "https://example.com/hook"}',
    range:
      "`url`, `timeout` 1–30 s, `allowHttp`, `allowHosts`, `onlyHosts`, `ports`, `sharedSecret`, `mostAttempts`",
    ...functions,
  },
  tracking: { kind: "word", words: ["full", "none"], ifAbsent: "full", ...functions },
  precision: { kind: "word", words: ["second", "millisecond"], ifAbsent: "second", ...functions },
  pack: {
    kind: "own",
    types: ["number"],
    range: `1–${MOST_IN_PACK}; 1 for a pull topic`,
    ifAbsent: MOST_IN_PACK,
    ...functions,
  },
  concurrency: { kind: "count", least: 1, most: 25, onlyFor: "lambda", ifAbsent: 10, ...functions },
  backoff: {
    kind: "own",
    types: ["array", "object"],
    range: `1–${MOST_WAITS} waits, or \`exponential\` with \`initial\`, \`factor\`, \`max\`, \`jitter\``,
    ...functions,
  },
  maxAttempts: { kind: "count", least: 1, most: MOST_ATTEMPTS, ...functions },
  ttr: {
    kind: "duration",
    least: 1,
    most: LONGEST_LEASE / 1000,
    onlyFor: "pull",
    ifAbsent: 30,
    ...functions,
  },
  maximumConcurrency: {
    ...{ kind: "count", least: 2, most: 1000, orFalse: true },
    onlyFor: "lambda",
    readBy: "deployment",
  },
  pollers: {
    kind: "own",
    types: ["object", "boolean"],
    allowed: 'such as {"min": 2, "max": 20}, or false',
    range: "`min` 2–200; `max` 2–2,000, at least `min`; `false`",
    onlyFor: "lambda",
    readBy: "deployment",
  },
  maxPerSecond: { kind: "own", types: ["number"], range: "1–1,000, or one in up to 60 s", ...functions },
  maxFiledPerMinute: { kind: "count", least: 1, most: 1_000_000, ...functions },
  spread: { kind: "duration", least: 0, most: LONGEST_SPREAD / 1000, ...functions },
  cancelOn: {
    kind: "own",
    types: ["object", "array"],
    allowed: 'such as {"detailType": "OrderPaid", "key": "$.detail.orderId"}',
    range: "one or more of `source`, `detailType`, `key`, `tombstone`",
    readBy: "events",
  },
  enqueueOn: {
    kind: "own",
    types: ["object", "array"],
    allowed: 'such as {"detailType": "OrderPlaced", "key": "$.detail.orderId", "delay": "30m"}',
    range: "the same without `tombstone`; `delay`, `body`, `onDuplicate`, `maxDelay`",
    readBy: "events",
  },
  window: {
    kind: "own",
    types: ["string"],
    allowed: 'such as "09:00-18:00 Asia/Shanghai"',
    range: "such as `09:00-18:00 Asia/Shanghai`",
    ...functions,
  },
  ifLate: {
    kind: "own",
    types: ["object"],
    allowed: 'such as {"after": "1h", "do": "skip"}',
    range: "`after` 1 s–10 years; `do` `run`, `skip`, `expire`",
    ...functions,
  },
  notify: { kind: "own", types: ["array"], range: "a list of `completed`, `failed`, `dead`", ...functions },
  oldestMessageAge: { kind: "duration", least: 60, most: READY_RETENTION / 1000, readBy: "deployment" },
  alarms: {
    kind: "own",
    types: ["array"],
    range: "a list of `Dead`, `Backlog`, `Failing`, `Retrying`",
    readBy: "deployment",
  },
} as const satisfies { readonly [Name in keyof Required<TopicSettings<unknown>>]: Declaration };

export const TOPIC_ALARMS = ["Dead", "Backlog", "Failing", "Retrying"] as const;
export type TopicAlarm = (typeof TOPIC_ALARMS)[number];

export type TopicSetting = keyof TopicSettings<unknown>;
/** The names of the settings whose declarations fit the type `Property`, such as `{ readBy: "events" }`. */
export type SettingsWith<Property> = {
  [Name in TopicSetting]: (typeof TOPIC_SETTINGS)[Name] extends Property ? Name : never;
}[TopicSetting];

export const SETTINGS = Object.entries(TOPIC_SETTINGS) as readonly [TopicSetting, Declaration][];

/** A topic's settings with durations in seconds, without those of events. */
export type SettingsInSeconds = Omit<
  TopicSettings<number>,
  SettingsWith<{ readBy: "events" }> | "backoff"
> & { readonly backoff?: Backoff };

/** How long a duration is, in seconds. `at`: the setting that it belongs to, for errors. */
export type SecondsOf<Duration> = (duration: Duration, at: string) => number;

/** Converts the durations of a topic's settings to seconds. Leaves out `cancelOn`, `enqueueOn` and settings that are `undefined`. */
export function inSeconds<Duration>(
  settings: TopicSettings<Duration>,
  secondsOf: SecondsOf<Duration>,
): SettingsInSeconds {
  const { webhook, ifLate, backoff } = settings;
  const own: SettingsInSeconds = {
    ...(webhook && { webhook: webhookInSeconds(webhook, secondsOf) }),
    ...(backoff && { backoff: backoffInSeconds(backoff, secondsOf) }),
    ...(ifLate && { ifLate: { after: secondsOf(ifLate.after, "ifLate.after"), do: ifLate.do } }),
  };
  const others = SETTINGS.flatMap(([name, { kind, readBy }]) => {
    const value = settings[name];
    if (value === undefined || readBy === "events" || name in own) return [];
    return [[name, kind === "duration" ? secondsOf(value as Duration, name) : value]];
  });
  return { ...Object.fromEntries(others), ...own };
}

function backoffInSeconds<Duration>(
  backoff: BackoffSetting<Duration>,
  secondsOf: SecondsOf<Duration>,
): Backoff {
  if (!("exponential" in backoff)) {
    // `Array.from` also converts the holes of the array. `map` alone would skip the holes.
    return { waits: Array.from(backoff, (wait, index) => secondsOf(wait, `backoff[${index}]`)) };
  }
  const { initial, max, ...others } = backoff.exponential;
  const inSeconds = (wait: Duration | undefined, name: string) =>
    wait === undefined ? undefined : secondsOf(wait, `backoff.exponential.${name}`);
  return exponentialBackoff({
    ...others,
    initial: inSeconds(initial, "initial"),
    max: inSeconds(max, "max"),
  });
}

function webhookInSeconds<Duration>(
  { timeout, ...same }: WebhookSettings<Duration>,
  secondsOf: SecondsOf<Duration>,
): WebhookSettings<number> {
  return { ...same, ...(timeout !== undefined && { timeout: secondsOf(timeout, "webhook.timeout") }) };
}
