import { portOf } from "../general/port.ts";
import { attemptsOf, type Backoff, DEFAULT_BACKOFF } from "./backoff.ts";

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

/** What differs between topics. Durations are seconds. */
export type TopicPolicy = {
  /** Who empties the ready queue: a Lambda function, callers of `receive`, or the built-in webhook consumer. */
  readonly consumer: "lambda" | "pull" | "webhook";
  /** Of a webhook topic: what differs from the defaults of `webhookPolicy`. */
  readonly webhook?: Partial<WebhookPolicy>;
  /** How many of its jobs may start in a second: whole from 1 to 1,000, or 1 / n for one each n seconds up to 60. */
  readonly maxPerSecond?: number;
  /** `none` gives up claims, retries and the audit for a third of the writes. */
  readonly tracking: "full" | "none";
  /** What becomes of a job that would start more than `after` seconds late; absent: it is run. */
  readonly ifLate?: { readonly after: number; readonly do: "skip" | "expire" };
  /** When its jobs may start, such as "09:00-18:00 Asia/Shanghai"; absent: always. */
  readonly window?: string;
  /** Its jobs are due up to so many seconds after what was asked, evenly drawn, unless they say themselves how many. */
  readonly spread?: number;
  /** Events cancel its jobs by key, also those that are filed shortly after. */
  readonly cancelledByEvents?: true;
  /** `millisecond` releases messages early and holds them in the consumer. */
  readonly precision: "second" | "millisecond";
  /** How many jobs of one second may share a message, 1 to 10. */
  readonly pack: number;
  /** How many jobs one Lambda invocation runs at a time, 1 to 25. */
  readonly concurrency: number;
  readonly backoff: Backoff;
  /** Runs before a job is dead, 1 to 100. */
  readonly maxAttempts: number;
  /** How long a pulled job's lease lasts, in seconds, 1 to 43,200. */
  readonly ttr: number;
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

/** A topic's whole policy: what is configured over the defaults. */
export function topicPolicy(configured: Partial<TopicPolicy>): TopicPolicy {
  const consumer = configured.consumer ?? (configured.webhook === undefined ? "lambda" : "webhook");
  const backoff = configured.backoff ?? DEFAULT_BACKOFF;
  return {
    tracking: "full",
    precision: "second",
    pack: consumer === "pull" ? 1 : 10,
    concurrency: 10,
    maxAttempts: attemptsOf(backoff),
    ttr: 30,
    ...configured,
    consumer,
    backoff,
  };
}

/** A webhook topic's whole policy of calls. The port of its own `url` may be called without being named again. */
export function webhookPolicy({ webhook = {} }: Pick<TopicPolicy, "webhook">): WebhookPolicy {
  const url = webhook.url === undefined ? null : URL.parse(webhook.url);
  const ports = [...new Set([80, 443, ...(url ? [portOf(url)] : [])])];
  return { timeout: 15, allowHttp: false, allowHosts: [], ports, sharedSecret: false, ...webhook };
}
