import { type Check, LONGEST_WAIT_S, oneOf, onlyFor, trackedOnly, wholeSeconds } from "../core/check.ts";
import { DAY } from "../core/constants.ts";
import { isEventPath } from "./event-rules.ts";
import type {
  CancelSetting,
  EnqueueSetting,
  EventMatch,
  SecondsOf,
  TopicSettings,
} from "./topic-settings.ts";

const LONGEST_TOMBSTONE_S = DAY / 1000;
/** What a rule of EventBridge can match ("PutEvents", Amazon EventBridge API Reference; "Creating event patterns"). */
const LONGEST_SOURCE = 256;
const LONGEST_DETAIL_TYPE = 128;

type CheckedEvents<Duration> = Pick<TopicSettings<Duration>, "cancelOn" | "enqueueOn"> & {
  readonly tracking?: string;
  readonly webhook?: { readonly url?: string };
};

/**
 * `secondsOf`: how long a duration is. `isKnown`: whether the value of a text is known when the app is synthesised. The value of a
 * CloudFormation token is not known then.
 */
type Reading<Duration> = {
  readonly secondsOf: SecondsOf<Duration>;
  readonly isKnown: (text: string) => boolean;
};

/** Makes the rules about a topic's events. `at`: the topic's path, such as `topics.orders`. */
export function eventChecks<Duration>(
  at: string,
  topic: CheckedEvents<Duration>,
  reading: Reading<Duration>,
): Check[] {
  const { cancelOn, enqueueOn, tracking, webhook } = topic;
  const cancels = withPaths(`${at}.cancelOn`, cancelOn);
  const enqueues = withPaths(`${at}.enqueueOn`, enqueueOn);
  return [
    trackedOnly(`${at}.cancelOn`, cancelOn, tracking),
    trackedOnly(`${at}.enqueueOn`, enqueueOn, tracking),
    {
      holds: enqueueOn === undefined || webhook === undefined || webhook.url !== undefined,
      rule: `${at}.enqueueOn needs webhook.url, because an event names no receiver`,
      actual: webhook?.url,
      allowed: "a URL in webhook.url",
    },
    ...cancels.flatMap((cancel) => cancelChecks(cancel.at, cancel.event, reading)),
    ...enqueues.flatMap((enqueue, index) => [
      ...enqueueChecks(enqueue.at, enqueue.event, reading),
      ...cancels.map((cancel) =>
        sharesNoEvent(enqueue, cancel.event, `not file a job that ${cancel.at} cancels by the same event`),
      ),
      ...enqueues
        .slice(0, index)
        .map((first) =>
          sharesNoEvent(enqueue, first.event, `not file the same job as ${first.at} by the same event`),
        ),
    ]),
  ];
}

/** One match of a setting, and its path. */
type Placed<T> = { readonly at: string; readonly event: T };

function withPaths<T>(at: string, events: T | readonly T[] | undefined): Placed<T>[] {
  if (events === undefined) return [];
  if (!Array.isArray(events)) return [{ at, event: events as T }];
  return (events as readonly T[]).map((event, index) => ({ at: `${at}[${index}]`, event }));
}

/**
 * Makes the rule that no event fits both matches with the same key. Of two enqueues only the first would file its job. A cancel would
 * cancel the job that the enqueue files.
 */
function sharesNoEvent({ at, event }: Placed<EventMatch>, other: EventMatch, rule: string): Check {
  const { source, detailType, key } = event;
  const haveSameSource = source === undefined || other.source === undefined || source === other.source;
  return {
    holds: !(haveSameSource && detailType === other.detailType && key === other.key),
    rule: `${at} must ${rule}`,
    actual: { source, detailType, key },
    allowed: "another detailType or key, or two different sources",
  };
}

function cancelChecks<Duration>(
  at: string,
  event: CancelSetting<Duration>,
  reading: Reading<Duration>,
): Check[] {
  const tombstone =
    event.tombstone === undefined ? 0 : reading.secondsOf(event.tombstone, "cancelOn.tombstone");
  return [
    ...matchChecks(at, event, reading.isKnown),
    wholeSeconds(`${at}.tombstone`, tombstone, 0, LONGEST_TOMBSTONE_S),
  ];
}

function enqueueChecks<Duration>(
  at: string,
  event: EnqueueSetting<Duration>,
  { secondsOf, isKnown }: Reading<Duration>,
): Check[] {
  const { body, onDuplicate } = event;
  const postpones = onDuplicate === "postpone";
  const maxDelay = event.maxDelay === undefined ? undefined : secondsOf(event.maxDelay, "enqueueOn.maxDelay");
  return [
    ...matchChecks(at, event, isKnown),
    wholeSeconds(`${at}.delay`, secondsOf(event.delay, "enqueueOn.delay"), 0, LONGEST_WAIT_S),
    ...(body === undefined ? [] : [pathCheck(`${at}.body`, body)]),
    oneOf(`${at}.onDuplicate`, onDuplicate, ["keep", "replace", "postpone"]),
    {
      holds: !postpones || maxDelay !== undefined,
      rule: `${at}.maxDelay must be given with onDuplicate "postpone"`,
      actual: maxDelay,
      allowed: `1 to ${LONGEST_WAIT_S} seconds`,
    },
    onlyFor('onDuplicate "postpone"', postpones, `${at}.maxDelay`, maxDelay),
    wholeSeconds(`${at}.maxDelay`, maxDelay, 1, LONGEST_WAIT_S),
  ];
}

function matchChecks(
  at: string,
  { source, detailType, key }: EventMatch,
  isKnown: (text: string) => boolean,
): Check[] {
  return [
    ...(source === undefined ? [] : [textCheck(`${at}.source`, source, LONGEST_SOURCE, isKnown)]),
    textCheck(`${at}.detailType`, detailType, LONGEST_DETAIL_TYPE, isKnown),
    pathCheck(`${at}.key`, key),
  ];
}

function textCheck(
  at: string,
  actual: string | undefined,
  max: number,
  isKnown: (text: string) => boolean,
): Check {
  const holds = typeof actual === "string" && isKnown(actual) && actual.length >= 1 && actual.length <= max;
  return { holds, rule: `${at} must be text`, actual, allowed: `1 to ${max} characters` };
}

function pathCheck(at: string, actual: string | undefined): Check {
  return {
    holds: typeof actual === "string" && isEventPath(actual),
    rule: `${at} must be a path into the event`,
    actual,
    allowed: "$.name or $.name.name…, with names of A-Z, a-z, 0-9, _ and -",
  };
}
