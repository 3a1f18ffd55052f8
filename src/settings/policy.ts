import { type Backoff, DEFAULT_BACKOFF } from "../core/backoff.ts";
import { MOST_ATTEMPTS } from "../core/constants.ts";
import { portOf } from "../general/port.ts";
import { eventRulesOf, readsTombstones } from "./event-settings.ts";
import {
  inSeconds,
  SETTINGS,
  type SecondsOf,
  type SettingsInSeconds,
  type SettingsWith,
  TOPIC_SETTINGS,
  type TopicSetting,
  type TopicSettings,
} from "./topic-settings.ts";

/** Which URLs a webhook topic may call, and how. */
export type WebhookPolicy = {
  /** The URL of jobs without a `callbackUrl`. */
  readonly url?: string;
  /** How long one call may take, from the look-up of its host to the end of the answer. 1 to 30 seconds. */
  readonly timeout: number;
  /** Whether a URL may begin with `http:` too. */
  readonly allowHttp: boolean;
  /** Hosts that may be called on every port, even if they are private: names or addresses as `new URL(…).hostname` gives them. */
  readonly allowHosts: readonly string[];
  /** The only public hosts that may be called. `*.example.com` stands for all hosts below `example.com`. Absent: every host. */
  readonly onlyHosts?: readonly string[];
  /** The ports that may be called, 1 to 65,535. */
  readonly ports: readonly number[];
  /** Whether the topic's own secret signs each call too. All receivers share that secret. */
  readonly sharedSecret: boolean;
  /** The greatest `maxAttempts` that a job may ask for, 1 to 100. Absent: the topic's `maxAttempts`. */
  readonly mostAttempts?: number;
};

type Own = SettingsWith<{ readBy: "events" | "deployment" }> | "consumer" | "webhook" | "ifLate";
type Defaulted = SettingsWith<{ ifAbsent: unknown }> | "backoff" | "maxAttempts";

/** The policy of a topic that functions follow: its settings with their defaults. Durations are seconds. */
export type TopicPolicy = Readonly<Omit<TopicSettings<number>, Own | Defaulted>> &
  Readonly<Required<Pick<SettingsInSeconds, Defaulted>>> & {
    /** Who receives from the ready queue: a Lambda function, callers of `receive`, or the built-in webhook consumer. */
    readonly consumer: "lambda" | "pull" | "webhook";
    /** Of a webhook topic: the parts that differ from the defaults of `webhookPolicy`. */
    readonly webhook?: Partial<WebhookPolicy>;
    /** What happens to a job that would start more than `after` seconds late. Absent: it runs. */
    readonly ifLate?: { readonly after: number; readonly do: "skip" | "expire" };
    /** Events may cancel jobs that are filed after them, so filing a job with a key must read the key's tombstone. */
    readonly cancelledByEvents?: true;
  };

/** The policies of all topics by name, and what holds for all of them. Durations are seconds. */
export type Policy = {
  /** Into how many shards the jobs of each minute are filed, 1 to 1,024. If the number is lowered, the other shards are still swept. */
  readonly shards: number;
  /** A tracked job that is due in more than this gets a schedule that promotes it. Absent: no job does. */
  readonly longDelay?: number;
  /** How long a done, cancelled or expired job can be read. */
  readonly retention: number;
  /** How long a dead job can be redriven. */
  readonly deadRetention: number;
  /**
   * How many jobs the handlers of one chain may file on a day, and how many runs of one job its handler may ask for. Absent:
   * `CHAIN_JOBS_A_DAY`. 0: there is no bound.
   */
  readonly maxFiledPerChain?: number;
  readonly topics: Readonly<Record<string, Partial<TopicPolicy>>>;
};

export const DEFAULT_SHARDS = 8;
export const DEFAULT_LONG_DELAY_S = 7 * 86_400;
export const DEFAULT_RETENTION_S = 7 * 86_400;
export const DEFAULT_DEAD_RETENTION_S = 90 * 86_400;

const DEFAULTS = Object.fromEntries(
  SETTINGS.flatMap(([name, { ifAbsent }]) => (ifAbsent === undefined ? [] : [[name, ifAbsent]])),
) as Pick<TopicPolicy, SettingsWith<{ ifAbsent: unknown }>>;

/** Completes a topic's configured policy with the defaults. */
export function topicPolicy(configured: Partial<TopicPolicy>): TopicPolicy {
  const consumer = configured.consumer ?? (configured.webhook === undefined ? "lambda" : "webhook");
  const backoff = configured.backoff ?? DEFAULT_BACKOFF;
  return {
    ...DEFAULTS,
    ...(consumer === "pull" && { pack: 1 }),
    maxAttempts: attemptsOf(backoff),
    ...configured,
    consumer,
    backoff,
  };
}

const ATTEMPTS_WITHOUT_WAITS = 10;

/** Answers how often a job runs if its topic sets no `maxAttempts`: once, and once more after each of the `waits`. */
export function attemptsOf(backoff: Backoff): number {
  return "waits" in backoff ? Math.min(backoff.waits.length + 1, MOST_ATTEMPTS) : ATTEMPTS_WITHOUT_WAITS;
}

/**
 * Converts a topic's settings to the policy that functions read. Adds no defaults, and leaves out a `spread` of 0 and an `ifLate` that
 * runs the job, because the policy must fit into the environment.
 */
export function configuredPolicy<Duration>(
  settings: TopicSettings<Duration>,
  secondsOf: SecondsOf<Duration>,
): Partial<TopicPolicy> {
  const { ifLate, spread, ...all } = inSeconds(settings, secondsOf);
  const read = Object.entries(all).filter(
    ([name]) => TOPIC_SETTINGS[name as TopicSetting].readBy === "functions",
  );
  return {
    ...Object.fromEntries(read),
    ...(spread && { spread }),
    ...(readsTombstones(eventRulesOf("", settings, secondsOf)) && { cancelledByEvents: true }),
    // `run` is the default.
    ...(ifLate && ifLate.do !== "run" && { ifLate: { after: ifLate.after, do: ifLate.do } }),
  };
}

/** Completes a webhook topic's policy of calls with the defaults. Without `ports`, the port of the topic's own `url` is allowed too. */
export function webhookPolicy({ webhook = {} }: Pick<TopicPolicy, "webhook">): WebhookPolicy {
  const url = webhook.url === undefined ? null : URL.parse(webhook.url);
  const ports = [...new Set([80, 443, ...(url ? [portOf(url)] : [])])];
  return { timeout: 15, allowHttp: false, allowHosts: [], ports, sharedSecret: false, ...webhook };
}
