import type { CancelRule, EnqueueRule, EventRule } from "../core/event-rules.ts";
import type { CancelOn, EnqueueOn, TopicProps } from "./props.ts";

const DEFAULT_TOMBSTONE_S = 300;
const DEFAULT_BODY = "$.detail";

/** What the function that events reach is told of the topics. */
export function eventRules(topics: Readonly<Record<string, TopicProps>>): EventRule[] {
  return Object.entries(topics).flatMap(([topic, { cancelOn, enqueueOn }]) => [
    ...cancelRules(topic, cancelOn),
    ...enqueueRules(topic, enqueueOn),
  ]);
}

export function cancelRules(topic: string, cancelOn: TopicProps["cancelOn"] = []): CancelRule[] {
  return [cancelOn].flat().map(({ tombstone, ...match }: CancelOn) => ({
    topic,
    do: "cancel",
    ...match,
    tombstone: tombstone?.toSeconds() ?? DEFAULT_TOMBSTONE_S,
  }));
}

function enqueueRules(topic: string, enqueueOn: TopicProps["enqueueOn"] = []): EnqueueRule[] {
  return [enqueueOn].flat().map(({ delay, maxDelay, ...match }: EnqueueOn) => ({
    topic,
    do: "enqueue",
    body: DEFAULT_BODY,
    onDuplicate: "keep",
    ...match,
    delay: delay.toSeconds(),
    ...(maxDelay && { maxDelay: maxDelay.toSeconds() }),
  }));
}
