import type { Backoff } from "../core/backoff.ts";
import { callbackUrlRule } from "../core/callback-url.ts";
import { LONGEST_LEASE, LONGEST_SPREAD, MAX_SHARDS, READY_RETENTION } from "../core/constants.ts";
import { webhookPolicy } from "../core/policy.ts";
import { parseWindow } from "../cron/window.ts";
import {
  type Check,
  days,
  LONGEST_WAIT_S,
  number,
  oneOf,
  onlyFor,
  seconds,
  shown,
  trackedOnly,
  wholeNumber,
} from "./check.ts";
import { webhookOf } from "./policy.ts";
import type { ApiProps, DelayQueueProps, TopicProps } from "./props.ts";
import { eventChecks } from "./validate-events.ts";

const LONGEST_RETENTION_DAYS = 3650;
const LONGEST_TTR_S = LONGEST_LEASE / 1000;
const LONGEST_CALL_S = 30;

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
    seconds(`${at}.spread`, topic.spread, 0, LONGEST_SPREAD / 1000),
    ...eventChecks(at, topic),
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
    trackedOnly(`${at} needs homes, which say what became of late jobs`, ifLate, tracking),
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
    // Nothing of an untracked job outlasts its call: a receiver that is down for an hour would lose it.
    trackedOnly(`${at} needs homes, which keep retries and deaths`, webhook, topic.tracking),
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
