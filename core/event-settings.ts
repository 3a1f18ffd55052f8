import type { CancelRule, EnqueueRule, EventRule } from "./event-rules.ts";

/** What a topic says about events, in the durations of whoever says it. Absent values have their defaults here. */
export type EventSettings<Duration> = {
  readonly cancelOn?: OneOrMany<CancelSetting<Duration>>;
  readonly enqueueOn?: OneOrMany<EnqueueSetting<Duration>>;
};

type OneOrMany<T> = T | readonly T[];
type Match = { readonly source?: string; readonly detailType: string; readonly key: string };
type CancelSetting<Duration> = Match & { readonly tombstone?: Duration };
type EnqueueSetting<Duration> = Match & {
  readonly delay: Duration;
  readonly body?: string;
  readonly onDuplicate?: EnqueueRule["onDuplicate"];
  readonly maxDelay?: Duration;
};

const DEFAULT_TOMBSTONE_S = 300;
const DEFAULT_BODY = "$.detail";

/** A topic's rules; `secondsOf` says how long a duration is. */
export function eventRulesOf<Duration>(
  topic: string,
  { cancelOn = [], enqueueOn = [] }: EventSettings<Duration>,
  secondsOf: (duration: Duration) => number,
): EventRule[] {
  const cancels = [cancelOn].flat().map(
    ({ tombstone, ...match }: CancelSetting<Duration>): CancelRule => ({
      topic,
      do: "cancel",
      ...match,
      tombstone: tombstone === undefined ? DEFAULT_TOMBSTONE_S : secondsOf(tombstone),
    }),
  );
  const enqueues = [enqueueOn].flat().map(
    ({ delay, maxDelay, ...match }: EnqueueSetting<Duration>): EnqueueRule => ({
      topic,
      do: "enqueue",
      body: DEFAULT_BODY,
      onDuplicate: "keep",
      ...match,
      delay: secondsOf(delay),
      ...(maxDelay === undefined ? {} : { maxDelay: secondsOf(maxDelay) }),
    }),
  );
  return [...cancels, ...enqueues];
}

/** Whether jobs of a topic with these rules have to look for a tombstone as they are filed. */
export function heedsTombstones(rules: readonly EventRule[]): boolean {
  const enqueues = rules.some((rule) => rule.do === "enqueue");
  return rules.some((rule) => rule.do === "cancel" && (enqueues || rule.tombstone > 0));
}
