import { attemptsOf, type Backoff, DEFAULT_BACKOFF } from "./backoff.ts";

/** What differs between topics. Durations are seconds. */
export type TopicPolicy = {
  /** Who empties the ready queue: a Lambda function, or callers of `receive`. */
  readonly consumer: "lambda" | "pull";
  /** `none` gives up claims, retries and the audit for a third of the writes. */
  readonly tracking: "full" | "none";
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
  /** How long a done, cancelled or expired job can be read. */
  readonly retention: number;
  /** How long a dead job can be read and redriven. */
  readonly deadRetention: number;
  readonly topics: Readonly<Record<string, Partial<TopicPolicy>>>;
};

export const DEFAULT_SHARDS = 8;
export const DEFAULT_RETENTION_S = 7 * 86_400;
export const DEFAULT_DEAD_RETENTION_S = 90 * 86_400;

/** A topic's whole policy: what is configured over the defaults. */
export function topicPolicy(configured: Partial<TopicPolicy>): TopicPolicy {
  const consumer = configured.consumer ?? "lambda";
  const backoff = configured.backoff ?? DEFAULT_BACKOFF;
  return {
    consumer,
    tracking: "full",
    precision: "second",
    pack: consumer === "pull" ? 1 : 10,
    concurrency: 10,
    maxAttempts: attemptsOf(backoff),
    ttr: 30,
    ...configured,
    backoff,
  };
}
