import { type Check, LONGEST_WAIT_S, oneOf, onlyFor, trackedOnly } from "../core/check.ts";
import { DAY } from "../core/constants.ts";
import { isEventPath } from "../core/event-rules.ts";
import { characters, seconds } from "./check.ts";
import type { CancelOn, EnqueueOn, EventMatch, TopicProps } from "./props.ts";

const LONGEST_TOMBSTONE_S = DAY / 1000;
/** "PutEvents", Amazon EventBridge API Reference, and "Creating event patterns": what a rule can match. */
const LONGEST_SOURCE = 256;
const LONGEST_DETAIL_TYPE = 128;

export function eventChecks(at: string, topic: TopicProps): Check[] {
  const { cancelOn, enqueueOn, tracking, webhook } = topic;
  const cancels = placed(`${at}.cancelOn`, cancelOn);
  const enqueues = placed(`${at}.enqueueOn`, enqueueOn);
  return [
    trackedOnly(`${at}.cancelOn needs keys, which untracked jobs have not`, cancelOn, tracking),
    trackedOnly(`${at}.enqueueOn needs keys, which untracked jobs have not`, enqueueOn, tracking),
    {
      holds: enqueueOn === undefined || webhook === undefined || webhook.url !== undefined,
      rule: `${at}.enqueueOn needs whom to call, as events name nobody`,
      actual: webhook?.url,
      allowed: "webhook.url",
    },
    ...cancels.flatMap((cancel) => cancelChecks(cancel.at, cancel.event)),
    ...enqueues.flatMap((enqueue, index) => [
      ...enqueueChecks(enqueue.at, enqueue.event),
      ...cancels.map((cancel) =>
        apart(enqueue, cancel.event, `file no job that ${cancel.at} cancels by the same event`),
      ),
      ...enqueues
        .slice(0, index)
        .map((first) =>
          apart(enqueue, first.event, `file a job that ${first.at} does not file by the same event`),
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

function cancelChecks(at: string, event: CancelOn): Check[] {
  return [...matchChecks(at, event), seconds(`${at}.tombstone`, event.tombstone, 0, LONGEST_TOMBSTONE_S)];
}

function enqueueChecks(at: string, event: EnqueueOn): Check[] {
  const { delay, body, onDuplicate, maxDelay } = event;
  const postpones = onDuplicate === "postpone";
  return [
    ...matchChecks(at, event),
    seconds(`${at}.delay`, delay, 0, LONGEST_WAIT_S),
    eventPath(`${at}.body`, body),
    oneOf(`${at}.onDuplicate`, onDuplicate, ["keep", "replace", "postpone"]),
    {
      holds: !postpones || maxDelay !== undefined,
      rule: `${at}.maxDelay must bound what is postponed`,
      actual: maxDelay,
      allowed: `1 to ${LONGEST_WAIT_S} seconds`,
    },
    onlyFor('onDuplicate "postpone"', postpones, `${at}.maxDelay`, maxDelay?.toHumanString()),
    seconds(`${at}.maxDelay`, maxDelay, 1, LONGEST_WAIT_S),
  ];
}

function matchChecks(at: string, { source, detailType, key }: EventMatch): Check[] {
  return [
    characters(`${at}.source`, source, LONGEST_SOURCE),
    characters(`${at}.detailType`, detailType, LONGEST_DETAIL_TYPE),
    eventPath(`${at}.key`, key),
  ];
}

function eventPath(at: string, actual: string | undefined): Check {
  return {
    holds: actual === undefined || isEventPath(actual),
    rule: `${at} must say where in the event`,
    actual,
    allowed: "$.name or $.name.name…, names of A-Z, a-z, 0-9, _ and -",
  };
}
