import { type Duration, Token } from "aws-cdk-lib";
import type { Backoff } from "../core/backoff.ts";
import { callbackUrlRule } from "../core/callback-url.ts";
import { DAY, LONGEST_DELAY, LONGEST_LEASE, MAX_SHARDS, READY_RETENTION } from "../core/constants.ts";
import { isEventPath } from "../core/event-rules.ts";
import { webhookPolicy } from "../core/policy.ts";
import { parseWindow } from "../cron/window.ts";
import { webhookOf } from "./policy.ts";
import type { ApiProps, CancelOn, DelayQueueProps, EnqueueOn, EventMatch, TopicProps } from "./props.ts";

/** One rule about one value: what it must be, what it is, what is allowed. */
type Check = {
  readonly holds: boolean;
  readonly rule: string;
  readonly actual: unknown;
  readonly allowed: string;
};

const DAY_S = DAY / 1000;
const LONGEST_RETENTION_DAYS = 3650;
const LONGEST_WAIT_S = LONGEST_DELAY / 1000;
const LONGEST_TTR_S = LONGEST_LEASE / 1000;
const LONGEST_CALL_S = 30;
const LONGEST_SPREAD_S = DAY_S;
const LONGEST_TOMBSTONE_S = DAY_S;
/** "PutEvents", Amazon EventBridge API Reference, and "Creating event patterns": what a rule can match. */
const LONGEST_SOURCE = 256;
const LONGEST_DETAIL_TYPE = 128;

/** Throws one error that names each broken rule, the value met and what is allowed. */
export function validate(path: string, props: DelayQueueProps): void {
  const checks = [...queueChecks(props), ...apiChecks(props.api ?? {})];
  for (const [name, topic] of Object.entries(props.topics)) checks.push(...topicChecks(name, topic));
  const broken = checks.filter(({ holds }) => !holds);
  if (broken.length === 0) return;
  const lines = broken.map(
    ({ rule, actual, allowed }) => `  ${rule}, is ${shown(actual)}; allowed: ${allowed}`,
  );
  throw new Error(`DelayQueue ${path} has props that cannot be:\n${lines.join("\n")}`);
}

function queueChecks(props: DelayQueueProps): Check[] {
  const { prefix, shards, retention, deadRetention, longDelay, topics } = props;
  return [
    {
      holds: Object.keys(topics).length > 0,
      rule: "topics must name at least one topic",
      actual: topics,
      allowed: "1 or more",
    },
    {
      holds: prefix === undefined || /^[A-Za-z0-9-]{1,24}$/.test(prefix),
      rule: "prefix must be short and fit into a queue's name",
      actual: prefix,
      allowed: "1 to 24 letters, digits and -",
    },
    wholeNumber("shards", shards, 1, MAX_SHARDS),
    days("retention", retention, 1, LONGEST_RETENTION_DAYS),
    days("deadRetention", deadRetention, 14, LONGEST_RETENTION_DAYS),
    days("longDelay", longDelay === false ? undefined : longDelay, 1, LONGEST_RETENTION_DAYS),
  ];
}

function apiChecks(api: ApiProps): Check[] {
  return [
    oneOf("api.auth", api.auth, ["iam", "none"]),
    wholeNumber("api.throttlingRate", api.throttlingRate, 1, 10_000),
    wholeNumber("api.throttlingBurst", api.throttlingBurst, 1, 5_000),
  ];
}

function topicChecks(name: string, topic: TopicProps): Check[] {
  const at = `topics.${name}`;
  const pull = topic.consumer === "pull";
  const { webhook } = topic;
  return [
    {
      holds: /^[a-z0-9-]{1,50}$/.test(name),
      rule: "a topic's name must fit into a queue's name and a URL",
      actual: name,
      allowed: "1 to 50 of a-z, 0-9 and -",
    },
    oneOf(`${at}.consumer`, topic.consumer, ["lambda", "pull"]),
    onlyFor("topics without a webhook", webhook === undefined, `${at}.consumer`, topic.consumer),
    ...webhookChecks(`${at}.webhook`, topic),
    oneOf(`${at}.tracking`, topic.tracking, ["full", "none"]),
    oneOf(`${at}.precision`, topic.precision, ["second", "millisecond"]),
    wholeNumber(`${at}.pack${pull ? " of a pull topic" : ""}`, topic.pack, 1, pull ? 1 : 10),
    onlyFor("a Lambda consumer", !pull, `${at}.concurrency`, topic.concurrency),
    wholeNumber(`${at}.concurrency`, topic.concurrency, 1, 25),
    onlyFor("a Lambda consumer", !pull, `${at}.maximumConcurrency`, topic.maximumConcurrency),
    wholeNumber(`${at}.maximumConcurrency`, topic.maximumConcurrency, 2, 1000),
    {
      holds: topic.maxPerSecond === undefined || isLimit(topic.maxPerSecond),
      rule: `${at}.maxPerSecond must be a number of starts a second`,
      actual: topic.maxPerSecond,
      allowed: "whole from 1 to 1000, or 1/60 to 1",
    },
    ...windowChecks(`${at}.window`, topic.window),
    ...ifLateChecks(`${at}.ifLate`, topic),
    wholeNumber(`${at}.maxAttempts`, topic.maxAttempts, 1, 100),
    onlyFor("a pull topic", pull, `${at}.ttr`, topic.ttr?.toHumanString()),
    seconds(`${at}.ttr`, topic.ttr, 1, LONGEST_TTR_S),
    seconds(`${at}.oldestMessageAge`, topic.oldestMessageAge, 60, READY_RETENTION / 1000),
    ...backoffChecks(`${at}.backoff`, topic.backoff),
    seconds(`${at}.spread`, topic.spread, 0, LONGEST_SPREAD_S),
    ...eventChecks(at, topic),
  ];
}

function eventChecks(at: string, topic: TopicProps): Check[] {
  const { cancelOn, enqueueOn, tracking, webhook } = topic;
  const cancels = placed(`${at}.cancelOn`, cancelOn);
  const enqueues = placed(`${at}.enqueueOn`, enqueueOn);
  const needsKeys = (name: string, value: unknown): Check => ({
    holds: value === undefined || tracking !== "none",
    rule: `${at}.${name} needs keys, which untracked jobs have not`,
    actual: tracking,
    allowed: 'tracking "full"',
  });
  return [
    needsKeys("cancelOn", cancelOn),
    needsKeys("enqueueOn", enqueueOn),
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

function windowChecks(at: string, window: string | undefined): Check[] {
  if (window === undefined) return [];
  try {
    parseWindow(window);
    return [];
  } catch {
    const allowed = 'two different times of day and an IANA zone, such as "09:00-18:00 Asia/Shanghai"';
    return [{ holds: false, rule: `${at} must be a part of the day`, actual: window, allowed }];
  }
}

function ifLateChecks(at: string, { ifLate, tracking }: TopicProps): Check[] {
  if (ifLate === undefined) return [];
  return [
    {
      // A job without a home cannot say that it was not run, nor why.
      holds: tracking !== "none",
      rule: `${at} needs homes, which say what became of late jobs`,
      actual: tracking,
      allowed: 'tracking "full"',
    },
    seconds(`${at}.after`, ifLate.after, 1, LONGEST_WAIT_S),
    oneOf(`${at}.do`, ifLate.do, ["run", "skip", "expire"]),
  ];
}

function webhookChecks(at: string, topic: TopicProps): Check[] {
  const { webhook } = topic;
  if (webhook === undefined) return [];
  const { url, timeout, allowHosts = [] } = webhook;
  const rule = url === undefined ? undefined : callbackUrlRule(url, webhookPolicy(webhookOf(topic)));
  return [
    {
      // Nothing of an untracked job outlasts its call: a receiver that is down for an hour would lose it.
      holds: topic.tracking !== "none",
      rule: `${at} needs homes, which keep retries and deaths`,
      actual: topic.tracking,
      allowed: 'tracking "full"',
    },
    {
      holds: rule === undefined,
      rule: `${at}.url ${rule}`,
      actual: url,
      allowed: "a URL that can be called",
    },
    seconds(`${at}.timeout`, timeout, 1, LONGEST_CALL_S),
    ...allowHosts.map((host, index) => ({
      holds: URL.parse(`https://${host}`)?.hostname === host,
      rule: `${at}.allowHosts[${index}] must be a host`,
      actual: host,
      allowed: "a name or a literal address as a URL's hostname has it",
    })),
  ];
}

function isLimit(perSecond: number): boolean {
  if (perSecond >= 1) return Number.isInteger(perSecond) && perSecond <= 1000;
  return perSecond >= 1 / 60;
}

function backoffChecks(at: string, backoff: Backoff | undefined): Check[] {
  if (backoff === undefined) return [];
  if ("waits" in backoff) {
    const { length } = backoff.waits;
    return [
      {
        holds: length >= 1 && length <= 100,
        rule: `${at}.waits must be a ladder`,
        actual: `${length} waits`,
        allowed: "1 to 100 waits",
      },
      ...backoff.waits.map((wait, index) => number(`${at}.waits[${index}]`, wait, 0, LONGEST_WAIT_S)),
    ];
  }
  const { initial, factor, max, jitter } = backoff;
  return [
    number(`${at}.initial`, initial, 0, LONGEST_WAIT_S),
    number(`${at}.factor`, factor, 1, 100),
    number(`${at}.max`, max, initial, LONGEST_WAIT_S),
    number(`${at}.jitter`, jitter, 0, 1),
  ];
}

function wholeNumber(at: string, actual: number | undefined, min: number, max: number): Check {
  const holds = actual === undefined || (Number.isInteger(actual) && actual >= min && actual <= max);
  return { holds, rule: `${at} must be a whole number`, actual, allowed: `${min} to ${max}` };
}

function number(at: string, actual: number, min: number, max: number): Check {
  return {
    holds: actual >= min && actual <= max,
    rule: `${at} must be a number`,
    actual,
    allowed: `${min} to ${max}`,
  };
}

function days(at: string, value: Duration | undefined, min: number, max: number): Check {
  const actual = value?.toDays({ integral: false });
  const holds = actual === undefined || (actual >= min && actual <= max);
  return { holds, rule: `${at} must be days`, actual, allowed: `${min} to ${max} days` };
}

function seconds(at: string, value: Duration | undefined, min: number, max: number): Check {
  const actual = value?.toSeconds({ integral: false });
  const holds = actual === undefined || (Number.isInteger(actual) && actual >= min && actual <= max);
  return { holds, rule: `${at} must be whole seconds`, actual, allowed: `${min} to ${max} seconds` };
}

function characters(at: string, actual: string | undefined, max: number): Check {
  const known = !Token.isUnresolved(actual);
  const holds = actual === undefined || (known && actual.length >= 1 && actual.length <= max);
  return { holds, rule: `${at} must be a name`, actual, allowed: `1 to ${max} characters` };
}

function eventPath(at: string, actual: string | undefined): Check {
  return {
    holds: actual === undefined || isEventPath(actual),
    rule: `${at} must say where in the event`,
    actual,
    allowed: "$.name or $.name.name…, names of A-Z, a-z, 0-9, _ and -",
  };
}

function oneOf(at: string, actual: string | undefined, allowed: readonly string[]): Check {
  const holds = actual === undefined || allowed.includes(actual);
  return { holds, rule: `${at} must be a known word`, actual, allowed: allowed.join(" or ") };
}

function onlyFor(whom: string, fits: boolean, at: string, value: unknown): Check {
  return {
    holds: fits || value === undefined,
    rule: `${at} is for ${whom} only`,
    actual: value,
    allowed: "nothing",
  };
}

function shown(value: unknown): string {
  if (Token.isUnresolved(value)) return "a token that only the deployment resolves";
  return typeof value === "string" ? `"${value}"` : (JSON.stringify(value) ?? String(value));
}
