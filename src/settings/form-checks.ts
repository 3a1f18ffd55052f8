import type { Check } from "../core/check.ts";
import { insteadOfDuration } from "../general/times.ts";
import { eventRulesOf } from "./event-settings.ts";
import { inSeconds, type TopicSettings } from "./topic-settings.ts";

type Given<Duration> = TopicSettings<Duration>;

/**
 * Answers the rules about the forms of a topic's durations and of its backoff. If one is broken, the settings cannot be read, so the other rules
 * are not asked. `isDuration`: whether a value is a duration in a form that only the caller knows.
 */
export function formChecks<Duration>(
  at: string,
  topic: Given<Duration>,
  isDuration: (value: unknown) => boolean = () => false,
): Check[] {
  const backoff = backoffCheck(`${at}.backoff`, topic.backoff);
  if (!backoff.holds) return [backoff];
  return durationsOf(topic).map(({ name, value }) => {
    const allowed = isDuration(value) ? undefined : insteadOfDuration(value);
    return durationCheck(`${at}.${name}`, value, allowed);
  });
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
