import {
  type Check,
  LONGEST_WAIT_S,
  number,
  oneOf,
  onlyFor,
  trackedOnly,
  wholeNumber,
  wholeNumberOrFalse,
  wholeSeconds,
} from "../core/check.ts";
import { LONGEST_UNTRACKED_WAIT, MOST_ATTEMPTS, MOST_IN_PACK, MOST_WAITS } from "../core/constants.ts";
import { TOPIC_NAME, TOPIC_NAME_RULE } from "../core/topic-name.ts";
import { callbackUrlRule, lackingSettings } from "./callback-url.ts";
import { NOTIFIED } from "./notices.ts";
import { webhookPolicy } from "./policy.ts";
import {
  type PollersSetting,
  SETTINGS,
  type SettingsInSeconds,
  TOPIC_ALARMS,
  type TopicSetting,
} from "./topic-settings.ts";

const LONGEST_CALL_S = 30;
const MOST_PER_SECOND = 1000;
/** One start in a minute: the counters of a topic's starts lie in one item for each minute. */
const LEAST_PER_SECOND = 1 / 60;

/**
 * How many pollers a queue may have. Lambda allows a `max` of 10,000 (`ProvisionedPollerConfig` of @aws-sdk/client-lambda 3.1162), but the
 * CDK 2.276 refuses more than 2,000.
 */
const LEAST_POLLERS = 2;
const GREATEST_MIN_POLLERS = 200;
const GREATEST_MAX_POLLERS = 2000;

/** Answers the rules about a topic's settings, except the settings of events. `windowFault`: says why a text is no window. */
export function topicChecks(
  name: string,
  topic: SettingsInSeconds & { readonly [Name in TopicSetting]?: unknown },
  windowFault: (text: string) => string | undefined,
): Check[] {
  const at = `topics.${name}`;
  const pull = topic.consumer === "pull";
  const { webhook, window } = topic;
  return [
    {
      holds: TOPIC_NAME.test(name),
      rule: "a topic's name must fit into a queue's name and a URL",
      actual: name,
      allowed: TOPIC_NAME_RULE,
    },
    ...SETTINGS.flatMap(([setting, declared]) =>
      declaredChecks(`${at}.${setting}`, declared, topic[setting], pull),
    ),
    {
      holds: webhook === undefined || topic.consumer === undefined,
      rule: `${at}.consumer must be left out beside webhook`,
      actual: topic.consumer,
      allowed: "consumer or webhook, not both",
    },
    ...webhookChecks(`${at}.webhook`, topic),
    wholeNumber(`${at}.pack${pull ? " of a pull topic" : ""}`, topic.pack, 1, pull ? 1 : MOST_IN_PACK),
    ...pollersChecks(`${at}.pollers`, topic),
    limitCheck(`${at}.maxPerSecond`, topic.maxPerSecond),
    windowCheck(`${at}.window`, window, window === undefined ? undefined : windowFault(window)),
    trackedOnly(`${at}.maxPerSecond`, topic.maxPerSecond, topic.tracking),
    trackedOnly(`${at}.window`, window, topic.tracking),
    ...ifLateChecks(`${at}.ifLate`, topic),
    ...backoffChecks(`${at}.backoff`, topic),
    ...alarmChecks(`${at}.alarms`, topic),
    ...notifyChecks(`${at}.notify`, topic),
  ];
}

function declaredChecks(
  at: string,
  declared: (typeof SETTINGS)[number][1],
  value: unknown,
  isPull: boolean,
): Check[] {
  const { onlyFor: whose } = declared;
  const checks =
    whose === undefined ? [] : [onlyFor(CONSUMERS[whose], isPull === (whose === "pull"), at, value)];
  // A caller in plain JavaScript may pass any value: the checks look at its type.
  if (declared.kind === "word") {
    const check = oneOf(at, value as string, declared.words);
    const allowed = `${check.allowed}; for webhooks: "webhook": { "url": … }`;
    checks.push(value === "webhook" ? { ...check, allowed } : check);
  }
  if (declared.kind === "count") {
    const { least, most, orFalse } = declared;
    checks.push((orFalse ? wholeNumberOrFalse : wholeNumber)(at, value as number, least, most));
  }
  if (declared.kind === "duration")
    checks.push(wholeSeconds(at, value as number, declared.least, declared.most));
  return checks;
}

const CONSUMERS = { pull: "a pull topic", lambda: "a Lambda consumer" };

function pollersChecks(at: string, { pollers, maximumConcurrency }: SettingsInSeconds): Check[] {
  if (pollers === undefined) return [];
  // Lambda refuses an event source with both ("ScalingConfig", CloudFormation Template Reference).
  const alone = onlyFor("a topic without maximumConcurrency", maximumConcurrency === undefined, at, pollers);
  if (pollers === false) return [alone];
  // A caller in plain JavaScript may pass null, or leave a number out.
  const { min, max } = Object(pollers) as Partial<PollersSetting>;
  const leastMax = typeof min === "number" ? Math.max(min, LEAST_POLLERS) : LEAST_POLLERS;
  return [
    alone,
    { ...wholeNumber(`${at}.min`, min ?? Number.NaN, LEAST_POLLERS, GREATEST_MIN_POLLERS), actual: min },
    { ...wholeNumber(`${at}.max`, max ?? Number.NaN, leastMax, GREATEST_MAX_POLLERS), actual: max },
  ];
}

function alarmChecks(at: string, { alarms = [], consumer, tracking }: SettingsInSeconds): Check[] {
  const allowed = 'an array, such as ["Dead"]';
  if (!Array.isArray(alarms))
    return [{ holds: false, rule: `${at} must be a list of names`, actual: alarms, allowed }];
  if (consumer !== "pull") return alarms.map((name, i) => oneOf(`${at}[${i}]`, name, TOPIC_ALARMS));
  // SQS alone counts the runs of a pulled job that is untracked: no function sees that a run has failed.
  const isUntracked = tracking === "none";
  const known = TOPIC_ALARMS.filter((name) => name !== "Failing" && !(isUntracked && name === "Retrying"));
  const whose = isUntracked ? "an untracked pull topic" : "a pull topic";
  return alarms.map((name, i) => oneOf(`${at}[${i}] of ${whose}`, name, known));
}

function notifyChecks(at: string, { notify, tracking }: SettingsInSeconds): Check[] {
  if (notify === undefined) return [];
  const tracked = trackedOnly(at, notify, tracking);
  const allowed = `an array of 1 to ${NOTIFIED.length} names, such as ["completed"]`;
  if (!Array.isArray(notify) || notify.length === 0 || new Set(notify).size < notify.length)
    return [
      tracked,
      { holds: false, rule: `${at} must be a list of different names`, actual: notify, allowed },
    ];
  return [tracked, ...notify.map((name, i) => oneOf(`${at}[${i}]`, name, NOTIFIED))];
}

function ifLateChecks(at: string, { ifLate, tracking }: SettingsInSeconds): Check[] {
  if (ifLate === undefined) return [];
  return [
    trackedOnly(at, ifLate, tracking),
    wholeSeconds(`${at}.after`, ifLate.after, 1, LONGEST_WAIT_S),
    oneOf(`${at}.do`, ifLate.do, ["run", "skip", "expire"]),
  ];
}

function webhookChecks(at: string, { webhook, tracking }: SettingsInSeconds): Check[] {
  if (webhook === undefined) return [];
  const { url, timeout, allowHosts = [], onlyHosts = [], ports = [], mostAttempts } = webhook;
  const policy = webhookPolicy({ webhook });
  const rule = url === undefined ? undefined : callbackUrlRule(url, policy);
  const lacking = url === undefined ? undefined : lackingSettings(url, policy);
  return [
    // A receiver may be down for long, and the table records neither the retries nor the death of an untracked job.
    trackedOnly(at, webhook, tracking),
    {
      holds: rule === undefined,
      rule: `${at}.url ${rule}`,
      actual: url,
      allowed:
        lacking === undefined
          ? "a URL that the webhook topic may call: allowHttp, allowHosts, onlyHosts and ports of webhook say which"
          : `this URL too, if you add ${lacking} to webhook`,
    },
    wholeSeconds(`${at}.timeout`, timeout, 1, LONGEST_CALL_S),
    ...allowHosts.map((host, index) => hostCheck(`${at}.allowHosts[${index}]`, host, host)),
    ...onlyHosts.map((host, index) =>
      hostCheck(`${at}.onlyHosts[${index}]`, host, host.replace(/^\*\./, "")),
    ),
    ...ports.map((port, index) => wholeNumber(`${at}.ports[${index}]`, port, 1, 65_535)),
    wholeNumber(`${at}.mostAttempts`, mostAttempts, 1, MOST_ATTEMPTS),
  ];
}

/** Makes the rule that an entry is a host. `name`: the host without a leading `*.`. */
function hostCheck(at: string, host: string, name: string): Check {
  return {
    holds: URL.parse(`https://${name}`)?.hostname === name && !name.includes("*"),
    rule: `${at} must be a host`,
    actual: host,
    allowed: "a name or an IP address, as new URL(…).hostname gives it",
  };
}

function limitCheck(at: string, limit: number | undefined): Check {
  return {
    holds: limit === undefined || isLimit(limit),
    rule: `${at} must be a number of starts a second`,
    actual: limit,
    allowed: `a whole number from 1 to ${MOST_PER_SECOND}, or a number from 1/60 to 1`,
  };
}

function isLimit(perSecond: number): boolean {
  if (typeof perSecond !== "number") return false;
  if (perSecond >= 1) return Number.isInteger(perSecond) && perSecond <= MOST_PER_SECOND;
  return perSecond >= LEAST_PER_SECOND;
}

function windowCheck(at: string, window: string | undefined, fault: string | undefined): Check {
  return {
    holds: fault === undefined,
    rule: `${at} must be a range of hours`,
    actual: window,
    allowed: `two different times of day and an IANA zone, such as "09:00-18:00 Asia/Shanghai" (${fault})`,
  };
}

function backoffChecks(
  at: string,
  { backoff, tracking }: Pick<SettingsInSeconds, "backoff" | "tracking">,
): Check[] {
  if (backoff === undefined) return [];
  // An untracked job that waits for its next run exists only in SQS.
  const longest = tracking === "none" ? LONGEST_UNTRACKED_WAIT / 1000 : LONGEST_WAIT_S;
  if ("waits" in backoff) {
    const { waits } = backoff;
    return [
      {
        holds: waits.length >= 1 && waits.length <= MOST_WAITS,
        rule: `${at} must be a list of waits`,
        actual: `${waits.length} waits`,
        allowed: `1 to ${MOST_WAITS} waits`,
      },
      ...waits.map((wait, index) => waitCheck(`${at}[${index}]`, wait, 0, longest)),
    ];
  }
  const { initial, factor, max, jitter } = backoff;
  return [
    waitCheck(`${at}.exponential.initial`, initial, 0, longest),
    number(`${at}.exponential.factor`, factor, 1, 100),
    waitCheck(`${at}.exponential.max`, max, initial, longest),
    number(`${at}.exponential.jitter`, jitter, 0, 1),
  ];
}

function waitCheck(at: string, actual: number, min: number, max: number): Check {
  return number(at, actual, min, max, "a duration");
}
