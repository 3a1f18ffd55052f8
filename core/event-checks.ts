import { type Check, LONGEST_WAIT_S, oneOf, onlyFor, trackedOnly, wholeSeconds } from "./check.ts";
import { DAY } from "./constants.ts";
import { isEventPath } from "./event-rules.ts";
import type {
  CancelSetting,
  EnqueueSetting,
  EventMatch,
  SecondsOf,
  TopicSettings,
} from "./topic-settings.ts";

const LONGEST_TOMBSTONE_S = DAY / 1000;
/** "PutEvents", Amazon EventBridge API Reference, and "Creating event patterns": what a rule can match. */
const LONGEST_SOURCE = 256;
const LONGEST_DETAIL_TYPE = 128;

type CheckedEvents<Duration> = Pick<TopicSettings<Duration>, "cancelOn" | "enqueueOn"> & {
  readonly tracking?: string;
  readonly webhook?: { readonly url?: string };
};

/** How long a duration is, in seconds, and whether a text is known before the deployment. */
type Reading<Duration> = {
  readonly secondsOf: SecondsOf<Duration>;
  readonly isKnown: (text: string) => boolean;
};

/** What must hold of a topic's events, wherever it is. */
export function eventChecks<Duration>(
  at: string,
  topic: CheckedEvents<Duration>,
  reading: Reading<Duration>,
): Check[] {
  const { cancelOn, enqueueOn, tracking, webhook } = topic;
  const cancels = placed(`${at}.cancelOn`, cancelOn);
  const enqueues = placed(`${at}.enqueueOn`, enqueueOn);
  return [
    trackedOnly(`${at}.cancelOn needs keys, which untracked jobs do not have`, cancelOn, tracking),
    trackedOnly(`${at}.enqueueOn needs keys, which untracked jobs do not have`, enqueueOn, tracking),
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
        apart(enqueue, cancel.event, `not file a job that ${cancel.at} cancels by the same event`),
      ),
      ...enqueues
        .slice(0, index)
        .map((first) =>
          apart(enqueue, first.event, `not file the same job as ${first.at} by the same event`),
        ),
    ]),
  ];
}

/** One of the matches of a topic's prop, and where it stands. */
type Placed<T> = { readonly at: string; readonly event: T };

function placed<T>(at: string, events: T | readonly T[] | undefined): Placed<T>[] {
  if (events === undefined) return [];
  if (!Array.isArray(events)) return [{ at, event: events as T }];
  return (events as readonly T[]).map((event, index) => ({ at: `${at}[${index}]`, event }));
}

/** An event is told to every match that it fits, and files one job of a key. */
function apart({ at, event }: Placed<EventMatch>, other: EventMatch, rule: string): Check {
  const { source, detailType, key } = event;
  const meet = source === undefined || other.source === undefined || source === other.source;
  return {
    holds: !(meet && detailType === other.detailType && key === other.key),
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
    ...(body === undefined ? [] : [eventPath(`${at}.body`, body)]),
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
    ...(source === undefined ? [] : [characters(`${at}.source`, source, LONGEST_SOURCE, isKnown)]),
    characters(`${at}.detailType`, detailType, LONGEST_DETAIL_TYPE, isKnown),
    eventPath(`${at}.key`, key),
  ];
}

function characters(
  at: string,
  actual: string | undefined,
  max: number,
  isKnown: (text: string) => boolean,
): Check {
  const holds = typeof actual === "string" && isKnown(actual) && actual.length >= 1 && actual.length <= max;
  return { holds, rule: `${at} must be text`, actual, allowed: `1 to ${max} characters` };
}

function eventPath(at: string, actual: string | undefined): Check {
  return {
    holds: typeof actual === "string" && isEventPath(actual),
    rule: `${at} must be a path into the event`,
    actual,
    allowed: "$.name or $.name.name…, with names of A-Z, a-z, 0-9, _ and -",
  };
}
