import type { CancelRule, EnqueueRule, EventRule } from "./event-rules.ts";
import type { CancelSetting, EnqueueSetting, SecondsOf, TopicSettings } from "./topic-settings.ts";

const DEFAULT_TOMBSTONE_S = 300;
const DEFAULT_BODY = "$.detail";

/** Converts a topic's settings of events to rules. */
export function eventRulesOf<Duration>(
  topic: string,
  { cancelOn = [], enqueueOn = [] }: TopicSettings<Duration>,
  secondsOf: SecondsOf<Duration>,
): EventRule[] {
  const cancels = [cancelOn].flat().map(
    ({ tombstone, ...match }: CancelSetting<Duration>): CancelRule => ({
      topic,
      do: "cancel",
      ...match,
      tombstone: tombstone === undefined ? DEFAULT_TOMBSTONE_S : secondsOf(tombstone, "cancelOn.tombstone"),
    }),
  );
  const enqueues = [enqueueOn].flat().map(
    ({
      body = DEFAULT_BODY,
      onDuplicate = "keep",
      delay,
      maxDelay,
      ...match
    }: EnqueueSetting<Duration>): EnqueueRule => ({
      topic,
      do: "enqueue",
      body,
      onDuplicate,
      ...match,
      delay: secondsOf(delay, "enqueueOn.delay"),
      ...(maxDelay === undefined ? {} : { maxDelay: secondsOf(maxDelay, "enqueueOn.maxDelay") }),
    }),
  );
  return [...cancels, ...enqueues];
}

/** Says whether an enqueue to a topic with these rules must read the tombstone of the job's key. */
export function readsTombstones(rules: readonly EventRule[]): boolean {
  const enqueues = rules.some((rule) => rule.do === "enqueue");
  return rules.some((rule) => rule.do === "cancel" && (enqueues || rule.tombstone > 0));
}
