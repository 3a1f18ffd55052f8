import type { CancelRule, EnqueueRule, EventRule } from "./event-rules.ts";
import type { TopicPolicy } from "./policy.ts";

/** What a topic says in durations, in those of whoever says it. What it leaves out of its events has its defaults here. */
export type TopicSettings<Duration> = {
  readonly ttr?: Duration;
  readonly spread?: Duration;
  readonly ifLate?: { readonly after: Duration; readonly do: "run" | "skip" | "expire" };
  readonly cancelOn?: OneOrMany<CancelSetting<Duration>>;
  readonly enqueueOn?: OneOrMany<EnqueueSetting<Duration>>;
};

type OneOrMany<T> = T | readonly T[];
export type Match = { readonly source?: string; readonly detailType: string; readonly key: string };
export type CancelSetting<Duration> = Match & { readonly tombstone?: Duration };
export type EnqueueSetting<Duration> = Match & {
  readonly delay: Duration;
  readonly body?: string;
  readonly onDuplicate?: EnqueueRule["onDuplicate"];
  readonly maxDelay?: Duration;
};

/** How long a duration is; `at`: which of the settings it is. */
type SecondsOf<Duration> = (duration: Duration, at: string) => number;

const DEFAULT_TOMBSTONE_S = 300;
const DEFAULT_BODY = "$.detail";

/** Its settings but those of events, in seconds. */
export function timedSettings<Duration>(
  { ttr, spread, ifLate }: TopicSettings<Duration>,
  secondsOf: SecondsOf<Duration>,
): Pick<TopicSettings<number>, "ttr" | "spread" | "ifLate"> {
  return {
    ...(ttr !== undefined && { ttr: secondsOf(ttr, "ttr") }),
    ...(spread !== undefined && { spread: secondsOf(spread, "spread") }),
    ...(ifLate && { ifLate: { after: secondsOf(ifLate.after, "ifLate.after"), do: ifLate.do } }),
  };
}

/** What its policy says of them. */
export function timedPolicy<Duration>(
  topic: TopicSettings<Duration>,
  secondsOf: SecondsOf<Duration>,
): Pick<Partial<TopicPolicy>, "ttr" | "spread" | "ifLate" | "cancelledByEvents"> {
  const { ttr, spread, ifLate } = timedSettings(topic, secondsOf);
  return {
    ...(ttr !== undefined && { ttr }),
    ...(spread && { spread }),
    ...(heedsTombstones(eventRulesOf("", topic, secondsOf)) && { cancelledByEvents: true }),
    // Running late jobs all the same is what happens anyway.
    ...(ifLate && ifLate.do !== "run" && { ifLate: { after: ifLate.after, do: ifLate.do } }),
  };
}

/** A topic's rules about events. */
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

/** Whether jobs of a topic with these rules have to look for a tombstone as they are filed. */
function heedsTombstones(rules: readonly EventRule[]): boolean {
  const enqueues = rules.some((rule) => rule.do === "enqueue");
  return rules.some((rule) => rule.do === "cancel" && (enqueues || rule.tombstone > 0));
}
