import type { Backoff } from "./backoff.ts";
import { LONGEST_LEASE, LONGEST_SPREAD, MOST_ATTEMPTS, READY_RETENTION } from "./constants.ts";

/**
 * The settings of a topic. Each is declared here and nowhere else: its type, sentence and default in `TopicSettings`, its range in
 * `TOPIC_SETTINGS`. From the two follow the construct's prop, the checks at synth, the policy that functions read, the test kit's
 * topic, what the API answers of a topic, and the table in the docs. `Duration` is whatever those who say a setting have for a
 * duration: `inSeconds` converts them all.
 */

type OneOrMany<T> = T | readonly T[];

/** Whom a webhook topic's jobs call, and how. */
export type WebhookSettings<Duration> = {
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
export type CancelSetting<Duration> = EventMatch & {
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
export type EnqueueSetting<Duration> = EventMatch & {
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
export type IfLateSetting<Duration> = { readonly after: Duration; readonly do: "run" | "skip" | "expire" };

/** How the jobs of one topic run. */
export type TopicSettings<Duration> = {
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
  readonly webhook?: WebhookSettings<Duration>;
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
  readonly cancelOn?: OneOrMany<CancelSetting<Duration>>;
  /**
   * Which events enqueue jobs by key; for a tracked topic, and a webhook topic with a `url`, only.
   *
   * @default none
   */
  readonly enqueueOn?: OneOrMany<EnqueueSetting<Duration>>;
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
  readonly ifLate?: IfLateSetting<Duration>;
  /**
   * How old the oldest message may be before an alarm, 1 minute to 10 days. A message under a claim ages.
   *
   * @default 15 minutes, for a pull topic `ttr` more
   */
  readonly oldestMessageAge?: Duration;
};

/** `kind`: how a setting is checked and converted; durations in seconds. `own`: by code of its own; then `range` says
 * what is allowed. */
type Declaration = (
  | { readonly kind: "word"; readonly words: readonly string[] }
  | { readonly kind: "count"; readonly least: number; readonly most: number }
  | { readonly kind: "duration"; readonly least: number; readonly most: number }
  | { readonly kind: "own"; readonly range: string }
) & {
  /** Who reads it: functions, in their policy; the deployment alone; or the function that applies events. */
  readonly readBy: "functions" | "deployment" | "events";
  /** Whose consumer it is for. */
  readonly onlyFor?: "pull" | "lambda";
  /** What functions go by where it is not set. */
  readonly ifAbsent?: string | number;
  /** A topic of the test kit may have it. */
  readonly isInTests?: true;
};

const functions = { readBy: "functions" } as const;
const tested = { ...functions, isInTests: true } as const;

export const TOPIC_SETTINGS = {
  consumer: { kind: "word", words: ["lambda", "pull"], ...tested },
  webhook: {
    kind: "own",
    range:
      "`url`, `timeout` 1–30 s, `allowHttp`, `allowHosts`, `onlyHosts`, `ports`, `sharedSecret`, `mostAttempts`",
    ...tested,
  },
  tracking: { kind: "word", words: ["full", "none"], ifAbsent: "full", ...tested },
  precision: { kind: "word", words: ["second", "millisecond"], ifAbsent: "second", ...functions },
  pack: { kind: "own", range: "1–10; 1 for a pull topic", ifAbsent: 10, ...functions },
  concurrency: { kind: "count", least: 1, most: 25, onlyFor: "lambda", ifAbsent: 10, ...functions },
  backoff: {
    kind: "own",
    range: "a ladder of 1–100 `waits`, or `initial`, `factor`, `max` and `jitter`",
    ...tested,
  },
  maxAttempts: { kind: "count", least: 1, most: MOST_ATTEMPTS, ...tested },
  ttr: { kind: "duration", least: 1, most: LONGEST_LEASE / 1000, onlyFor: "pull", ifAbsent: 30, ...tested },
  maximumConcurrency: { kind: "count", least: 2, most: 1000, onlyFor: "lambda", readBy: "deployment" },
  maxPerSecond: { kind: "own", range: "1–1,000, or one in up to 60 s", ...tested },
  spread: { kind: "duration", least: 0, most: LONGEST_SPREAD / 1000, ...tested },
  cancelOn: {
    kind: "own",
    range: "one or more of `source`, `detailType`, `key`, `tombstone`",
    readBy: "events",
    isInTests: true,
  },
  enqueueOn: {
    kind: "own",
    range: "the same without `tombstone`; `delay`, `body`, `onDuplicate`, `maxDelay`",
    readBy: "events",
    isInTests: true,
  },
  window: { kind: "own", range: "such as `09:00-18:00 Asia/Shanghai`", ...tested },
  ifLate: { kind: "own", range: "`after` 1 s–10 years; `do` `run`, `skip`, `expire`", ...tested },
  oldestMessageAge: { kind: "duration", least: 60, most: READY_RETENTION / 1000, readBy: "deployment" },
} as const satisfies { readonly [Name in keyof Required<TopicSettings<unknown>>]: Declaration };

export type TopicSetting = keyof TopicSettings<unknown>;
/** The names of the settings that have some property. */
export type SettingsWith<Property> = {
  [Name in TopicSetting]: (typeof TOPIC_SETTINGS)[Name] extends Property ? Name : never;
}[TopicSetting];

/** All settings with their declarations. */
export const SETTINGS = Object.entries(TOPIC_SETTINGS) as readonly [TopicSetting, Declaration][];

/** A topic's settings but those of events, their durations in seconds. */
export type SettingsInSeconds = Omit<TopicSettings<number>, SettingsWith<{ readBy: "events" }>>;

/** How long a duration is, in seconds; `at`: which of the settings it is. */
export type SecondsOf<Duration> = (duration: Duration, at: string) => number;

/** Converts all durations of a topic's settings but those of events. Settings that are `undefined` are left out. */
export function inSeconds<Duration>(
  settings: TopicSettings<Duration>,
  secondsOf: SecondsOf<Duration>,
): SettingsInSeconds {
  const { webhook, ifLate } = settings;
  const own: SettingsInSeconds = {
    ...(webhook && { webhook: webhookInSeconds(webhook, secondsOf) }),
    ...(ifLate && { ifLate: { after: secondsOf(ifLate.after, "ifLate.after"), do: ifLate.do } }),
  };
  const others = SETTINGS.flatMap(([name, { kind, readBy }]) => {
    const value = settings[name];
    if (value === undefined || readBy === "events" || name in own) return [];
    return [[name, kind === "duration" ? secondsOf(value as Duration, name) : value]];
  });
  return { ...Object.fromEntries(others), ...own };
}

function webhookInSeconds<Duration>(
  { timeout, ...same }: WebhookSettings<Duration>,
  secondsOf: SecondsOf<Duration>,
): WebhookSettings<number> {
  return { ...same, ...(timeout !== undefined && { timeout: secondsOf(timeout, "webhook.timeout") }) };
}
