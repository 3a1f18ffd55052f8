import type { Check } from "../core/check.ts";
import { insteadOfDuration } from "../general/times.ts";
import { eventRulesOf } from "./event-settings.ts";
import { inSeconds, type JsonForm, SETTINGS, type TopicSettings } from "./topic-settings.ts";

type Given<Duration> = TopicSettings<Duration>;

const TYPES: Readonly<Record<JsonForm["types"][number], string>> = {
  object: "an object",
  array: "a list",
  string: "text",
  number: "a number",
  boolean: "true or false",
};
const HOSTS: JsonForm = { types: ["array"], allowed: 'such as ["hooks.example.com"]' };
const HOST: JsonForm = { types: ["string"], allowed: 'such as "hooks.example.com"' };
const EVENT: JsonForm = { types: ["object"], allowed: "{ … }" };
const FLAG: JsonForm = { types: ["boolean"], allowed: "a value without quotes" };
const IN_WEBHOOK: Readonly<Record<string, JsonForm>> = {
  url: { types: ["string"], allowed: 'such as "https://example.com/hook"' },
  ...{ allowHttp: FLAG, sharedSecret: FLAG, allowHosts: HOSTS, onlyHosts: HOSTS },
  ports: { types: ["array"], allowed: "such as [443]" },
};

/**
 * Answers the rules about the JSON types of a topic's settings, and about the forms of its durations and of its backoff. If one is broken, the settings cannot be read, so the other rules
 * are not asked. `isDuration`: whether a value is a duration in a form that only the caller knows.
 */
export function formChecks<Duration>(
  at: string,
  topic: Given<Duration>,
  isDuration: (value: unknown) => boolean = () => false,
): Check[] {
  const broken = typeChecks(at, topic).filter(({ holds }) => !holds);
  if (broken.length > 0) return broken;
  const backoff = backoffCheck(`${at}.backoff`, topic.backoff);
  if (!backoff.holds) return [backoff];
  return durationsOf(topic).map(({ name, value }) => {
    const allowed = isDuration(value) ? undefined : insteadOfDuration(value);
    return durationCheck(`${at}.${name}`, value, allowed);
  });
}

/** Plain JavaScript and a JSON file can give a value of any type. */
function typeChecks(at: string, topic: object): Check[] {
  const given = topic as Readonly<Record<string, unknown>>;
  const webhook = Object(given.webhook) as Readonly<Record<string, unknown>>;
  const eachOf = (path: string, list: unknown, form: JsonForm) =>
    Array.isArray(list) ? list.map((value, i) => typeCheck(`${path}[${i}]`, value, form)) : [];
  return [
    ...SETTINGS.flatMap(([name, declared]) =>
      declared.kind === "own" ? [typeCheck(`${at}.${name}`, given[name], declared)] : [],
    ),
    ...Object.entries(IN_WEBHOOK).map(([name, form]) =>
      typeCheck(`${at}.webhook.${name}`, webhook[name], form),
    ),
    ...["allowHosts", "onlyHosts"].flatMap((name) => eachOf(`${at}.webhook.${name}`, webhook[name], HOST)),
    ...["cancelOn", "enqueueOn"].flatMap((name) => eachOf(`${at}.${name}`, given[name], EVENT)),
  ];
}

export function typeCheck(at: string, actual: unknown, { types, allowed }: JsonForm): Check {
  const type = Array.isArray(actual) ? "array" : actual === null ? "null" : typeof actual;
  return {
    holds: allowed === undefined || actual === undefined || types.some((one) => one === type),
    rule: `${at} must be ${types.map((one) => TYPES[one]).join(" or ")}`,
    actual,
    allowed: `${allowed}`,
  };
}

/** `allowed`: what is allowed in place of the value. `undefined`: the value is a duration. */
export function durationCheck(at: string, actual: unknown, allowed: string | undefined): Check {
  return { holds: allowed === undefined, rule: `${at} must be a duration`, actual, allowed: `${allowed}` };
}

function backoffCheck(at: string, backoff: unknown): Check {
  const { exponential } = Object(backoff);
  return {
    holds:
      backoff === undefined ||
      Array.isArray(backoff) ||
      (typeof exponential === "object" && exponential !== null),
    rule: `${at} must be a list of waits, or exponential`,
    actual: backoff,
    allowed: 'such as ["15s", "3m"], or { exponential: { initial: "15s", max: "1h" } }',
  };
}

/** Answers all durations of a topic's settings as they were given. */
function durationsOf<Duration>(topic: Given<Duration>): { name: string; value: Duration }[] {
  const found: { name: string; value: Duration }[] = [];
  const note = (value: Duration, name: string): number => found.push({ name, value });
  inSeconds(topic, note);
  eventRulesOf("", topic, note);
  return found;
}
