import { portOf } from "../general/port.ts";
import { attemptsOf, DEFAULT_BACKOFF } from "./backoff.ts";
import { eventRulesOf, heedsTombstones } from "./event-settings.ts";
import {
  inSeconds,
  SETTINGS,
  type SecondsOf,
  type SettingsWith,
  TOPIC_SETTINGS,
  type TopicSetting,
  type TopicSettings,
} from "./topic-settings.ts";

/** Whom a webhook topic may call, and how. */
export type WebhookPolicy = {
  /** Where jobs without a `callbackUrl` of their own go. */
  readonly url?: string;
  /** Of one call, from looking its host up to reading the answer, in seconds, 1 to 30. */
  readonly timeout: number;
  /** Whether `http:` may be called, not only `https:`. */
  readonly allowHttp: boolean;
  /** Hosts that may be called wherever they are, on every port: names or literal addresses as `new URL(…).hostname` has them. */
  readonly allowHosts: readonly string[];
  /** The only hosts that may be called; `*.example.com` stands for all below `example.com`. Absent: any. */
  readonly onlyHosts?: readonly string[];
  /** The ports that may be called, 1 to 65,535. */
  readonly ports: readonly number[];
  /** Whether the topic's own secret signs calls too, which then all receivers share. */
  readonly sharedSecret: boolean;
  /** What a job may ask for as its `maxAttempts` at most, 1 to 100. Absent: its topic's. */
  readonly mostAttempts?: number;
};

type Own = SettingsWith<{ readBy: "events" | "deployment" }> | "consumer" | "webhook" | "ifLate";
type Defaulted = SettingsWith<{ ifAbsent: unknown }> | "backoff" | "maxAttempts";

/** A topic as functions go by it: its settings with their defaults. Durations are seconds. */
export type TopicPolicy = Readonly<Omit<TopicSettings<number>, Own | Defaulted>> &
  Readonly<Required<Pick<TopicSettings<number>, Defaulted>>> & {
    /** Who empties the ready queue: a Lambda function, callers of `receive`, or the built-in webhook consumer. */
    readonly consumer: "lambda" | "pull" | "webhook";
    /** Of a webhook topic: what differs from the defaults of `webhookPolicy`. */
    readonly webhook?: Partial<WebhookPolicy>;
    /** What becomes of a job that would start more than `after` seconds late; absent: it is run. */
    readonly ifLate?: { readonly after: number; readonly do: "skip" | "expire" };
    /** Events cancel its jobs by key, also those that are filed shortly after. */
    readonly cancelledByEvents?: true;
  };

/** All topics by name, and what holds for every one. Durations are seconds. */
export type Policy = {
  /** Hash partitions of each minute, 1 to 1,024; it can only grow. */
  readonly shards: number;
  /** Jobs due later than this get a schedule that promotes them; absent: none do. */
  readonly longDelay?: number;
  /** How long a done, cancelled or expired job can be read. */
  readonly retention: number;
  /** How long a dead job can be redriven. */
  readonly deadRetention: number;
  readonly topics: Readonly<Record<string, Partial<TopicPolicy>>>;
};

export const DEFAULT_SHARDS = 8;
export const DEFAULT_LONG_DELAY_S = 7 * 86_400;
export const DEFAULT_RETENTION_S = 7 * 86_400;
export const DEFAULT_DEAD_RETENTION_S = 90 * 86_400;

const DEFAULTS = Object.fromEntries(
  SETTINGS.flatMap(([name, { ifAbsent }]) => (ifAbsent === undefined ? [] : [[name, ifAbsent]])),
) as Pick<TopicPolicy, SettingsWith<{ ifAbsent: unknown }>>;

/** A topic's whole policy: what is configured over the defaults. */
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

/** What the policy of functions says of a topic with these settings. */
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
    ...(heedsTombstones(eventRulesOf("", settings, secondsOf)) && { cancelledByEvents: true }),
    // Running late jobs all the same is what happens anyway.
    ...(ifLate && ifLate.do !== "run" && { ifLate: { after: ifLate.after, do: ifLate.do } }),
  };
}

/** A webhook topic's whole policy of calls. The port of its own `url` may be called without being named again. */
export function webhookPolicy({ webhook = {} }: Pick<TopicPolicy, "webhook">): WebhookPolicy {
  const url = webhook.url === undefined ? null : URL.parse(webhook.url);
  const ports = [...new Set([80, 443, ...(url ? [portOf(url)] : [])])];
  return { timeout: 15, allowHttp: false, allowHosts: [], ports, sharedSecret: false, ...webhook };
}
