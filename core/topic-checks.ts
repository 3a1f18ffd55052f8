import { callbackUrlRule } from "./callback-url.ts";
import {
  type Check,
  LONGEST_WAIT_S,
  number,
  oneOf,
  onlyFor,
  trackedOnly,
  wholeNumber,
  wholeSeconds,
} from "./check.ts";
import { LONGEST_LEASE, LONGEST_SPREAD, LONGEST_UNTRACKED_WAIT } from "./constants.ts";
import { type TopicPolicy, webhookPolicy } from "./policy.ts";
import type { TopicSettings } from "./topic-settings.ts";

const LONGEST_TTR_S = LONGEST_LEASE / 1000;
const LONGEST_CALL_S = 30;

/** What is said of a topic but for events, by whoever says it. */
export type CheckedTopic = Pick<
  Partial<TopicPolicy>,
  "webhook" | "maxPerSecond" | "tracking" | "window" | "backoff" | "maxAttempts"
> &
  Pick<TopicSettings<number>, "ttr" | "spread" | "ifLate"> & { readonly consumer?: "lambda" | "pull" };

/** What must hold of a topic wherever it is. `windowFault`: why a text is no window. */
export function topicChecks(
  name: string,
  topic: CheckedTopic,
  windowFault: (text: string) => string | undefined,
): Check[] {
  const at = `topics.${name}`;
  const pull = topic.consumer === "pull";
  const { webhook, window } = topic;
  const fault = window === undefined ? undefined : windowFault(window);
  return [
    {
      holds: /^[a-z0-9-]{1,50}$/.test(name),
      rule: "a topic's name must fit into a queue's name and a URL",
      actual: name,
      allowed: "1 to 50 characters of a-z, 0-9 and -",
    },
    oneOf(`${at}.consumer`, topic.consumer, ["lambda", "pull"]),
    onlyFor("topics without a webhook", webhook === undefined, `${at}.consumer`, topic.consumer),
    ...webhookChecks(`${at}.webhook`, topic),
    oneOf(`${at}.tracking`, topic.tracking, ["full", "none"]),
    {
      holds: topic.maxPerSecond === undefined || isLimit(topic.maxPerSecond),
      rule: `${at}.maxPerSecond must be a number of starts a second`,
      actual: topic.maxPerSecond,
      allowed: "a whole number from 1 to 1000, or a number from 1/60 to 1",
    },
    {
      holds: fault === undefined,
      rule: `${at}.window must be a range of hours`,
      actual: window,
      allowed: `two different times of day and an IANA zone, such as "09:00-18:00 Asia/Shanghai" (${fault})`,
    },
    ...ifLateChecks(`${at}.ifLate`, topic),
    wholeNumber(`${at}.maxAttempts`, topic.maxAttempts, 1, 100),
    onlyFor("a pull topic", pull, `${at}.ttr`, topic.ttr),
    wholeSeconds(`${at}.ttr`, topic.ttr, 1, LONGEST_TTR_S),
    ...backoffChecks(`${at}.backoff`, topic),
    wholeSeconds(`${at}.spread`, topic.spread, 0, LONGEST_SPREAD / 1000),
  ];
}

function ifLateChecks(at: string, { ifLate, tracking }: CheckedTopic): Check[] {
  if (ifLate === undefined) return [];
  return [
    trackedOnly(`${at} needs a tracked topic, which records late jobs`, ifLate, tracking),
    wholeSeconds(`${at}.after`, ifLate.after, 1, LONGEST_WAIT_S),
    oneOf(`${at}.do`, ifLate.do, ["run", "skip", "expire"]),
  ];
}

function webhookChecks(at: string, { webhook, tracking }: CheckedTopic): Check[] {
  if (webhook === undefined) return [];
  const { url, timeout, allowHosts = [], onlyHosts = [], ports = [], mostAttempts } = webhook;
  const rule = url === undefined ? undefined : callbackUrlRule(url, webhookPolicy({ webhook }));
  return [
    // Nothing of an untracked job outlasts its call: a receiver that is down for an hour would lose it.
    trackedOnly(`${at} needs a tracked topic, which records retries and dead jobs`, webhook, tracking),
    {
      holds: rule === undefined,
      rule: `${at}.url ${rule}`,
      actual: url,
      allowed: "a URL that the webhook topic may call",
    },
    wholeSeconds(`${at}.timeout`, timeout, 1, LONGEST_CALL_S),
    ...allowHosts.map((host, index) => hostCheck(`${at}.allowHosts[${index}]`, host, host)),
    ...onlyHosts.map((host, index) =>
      hostCheck(`${at}.onlyHosts[${index}]`, host, host.replace(/^\*\./, "")),
    ),
    ...ports.map((port, index) => wholeNumber(`${at}.ports[${index}]`, port, 1, 65_535)),
    wholeNumber(`${at}.mostAttempts`, mostAttempts, 1, 100),
  ];
}

/** `name`: the host without what stands for those below it. */
function hostCheck(at: string, host: string, name: string): Check {
  return {
    holds: URL.parse(`https://${name}`)?.hostname === name && !name.includes("*"),
    rule: `${at} must be a host`,
    actual: host,
    allowed: "a name or an IP address, as new URL(…).hostname gives it",
  };
}

function isLimit(perSecond: number): boolean {
  if (typeof perSecond !== "number") return false;
  if (perSecond >= 1) return Number.isInteger(perSecond) && perSecond <= 1000;
  return perSecond >= 1 / 60;
}

function backoffChecks(
  at: string,
  { backoff, tracking }: Pick<CheckedTopic, "backoff" | "tracking">,
): Check[] {
  if (backoff === undefined) return [];
  // SQS alone keeps an untracked job.
  const longest = tracking === "none" ? LONGEST_UNTRACKED_WAIT / 1000 : LONGEST_WAIT_S;
  // Plain JavaScript may give anything.
  if (typeof backoff !== "object" || backoff === null) {
    const allowed = "waits, or initial, factor, max and jitter";
    return [{ holds: false, rule: `${at} must be an object`, actual: backoff, allowed }];
  }
  if ("waits" in backoff) {
    const waits: readonly number[] = Array.isArray(backoff.waits) ? backoff.waits : [];
    return [
      {
        holds: waits.length >= 1 && waits.length <= 100,
        rule: `${at}.waits must be a list of waits in seconds`,
        actual: Array.isArray(backoff.waits) ? `${waits.length} waits` : backoff.waits,
        allowed: "1 to 100 waits",
      },
      // Spread, as a ladder may have holes.
      ...[...waits].map((wait, index) => number(`${at}.waits[${index}]`, wait, 0, longest)),
    ];
  }
  const { initial, factor, max, jitter } = backoff;
  return [
    number(`${at}.initial`, initial, 0, longest),
    number(`${at}.factor`, factor, 1, 100),
    number(`${at}.max`, max, initial, longest),
    number(`${at}.jitter`, jitter, 0, 1),
  ];
}
