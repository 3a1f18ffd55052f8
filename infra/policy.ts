import { DEFAULT_BACKOFF } from "../src/core/backoff.ts";
import type { EventRule } from "../src/settings/event-rules.ts";
import { eventRulesOf } from "../src/settings/event-settings.ts";
import {
  configuredPolicy,
  DEFAULT_DEAD_RETENTION_S,
  DEFAULT_LONG_DELAY_S,
  DEFAULT_RETENTION_S,
  DEFAULT_SHARDS,
  type Policy,
  type TopicPolicy,
  topicPolicy,
} from "../src/settings/policy.ts";
import { type AppDuration, secondsOf } from "./app-duration.ts";
import type { DelayQueueProps, TopicProps } from "./props.ts";

/** Each topic has only the values that differ from the defaults. */
export function queuePolicy(props: DelayQueueProps): Policy {
  const topics = Object.entries(props.topics).map(([name, topic]) => [name, differences(topic)] as const);
  const { longDelay, maxFiledPerChain } = props;
  return {
    ...(longDelay === false ? {} : { longDelay: inSeconds(longDelay, DEFAULT_LONG_DELAY_S) }),
    shards: props.shards ?? DEFAULT_SHARDS,
    retention: inSeconds(props.retention, DEFAULT_RETENTION_S),
    deadRetention: inSeconds(props.deadRetention, DEFAULT_DEAD_RETENTION_S),
    ...(maxFiledPerChain === undefined ? {} : { maxFiledPerChain: maxFiledPerChain || 0 }),
    topics: Object.fromEntries(topics),
  };
}

function inSeconds(duration: AppDuration | undefined, ifAbsent: number): number {
  return duration === undefined ? ifAbsent : secondsOf(duration);
}

function differences(props: TopicProps): Partial<TopicPolicy> {
  const configured = configuredPolicy(props, secondsOf);
  const { consumer, backoff } = configured;
  // Some defaults follow from the consumer and the backoff, so take these two first and then compare the other values.
  const followed = topicPolicy({ ...(consumer && { consumer }), ...(backoff && { backoff }) });
  const defaults: TopicPolicy = { ...followed, consumer: "lambda", backoff: DEFAULT_BACKOFF };
  const kept = Object.entries(configured).filter(
    ([name, value]) => value !== undefined && !isSame(value, defaults[name as keyof TopicPolicy]),
  );
  return Object.fromEntries(kept);
}

export function rulesOf(topics: DelayQueueProps["topics"]): EventRule[] {
  return Object.entries(topics).flatMap(([topic, settings]) => eventRulesOf(topic, settings, secondsOf));
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
