import { type Duration, Token } from "aws-cdk-lib";
import { brokenIn, type Check, oneOf, onlyFor, wholeNumber } from "../core/check.ts";
import { MAX_SHARDS } from "../core/constants.ts";
import { eventChecks } from "../core/event-checks.ts";
import { topicChecks } from "../core/topic-checks.ts";
import { inSeconds } from "../core/topic-settings.ts";
import { windowFault } from "../cron/window.ts";
import { days, shown } from "./check.ts";
import type { ApiProps, DelayQueueProps } from "./props.ts";

const LONGEST_RETENTION_DAYS = 3650;
/** Far more than the 40,000 units that AWS allows for a table by default. */
const MOST_WARM_UNITS = 1_000_000;
const READING = { secondsOf: exact, isKnown: (text: string) => !Token.isUnresolved(text) };

/** Throws one error that names each broken rule, the value and what is allowed. */
export function validate(path: string, props: DelayQueueProps): void {
  const checks = [...queueChecks(props), ...apiChecks(props.api ?? {})];
  for (const [name, topic] of Object.entries(props.topics)) {
    const at = `topics.${name}`;
    checks.push(
      ...topicChecks(name, inSeconds(topic, exact), windowFault),
      ...eventChecks(at, topic, READING),
    );
  }
  const broken = brokenIn(checks, shown).map((line) => `  ${line}`);
  if (broken.length > 0) {
    throw new Error(`DelayQueue ${path} has invalid props:\n${broken.join("\n")}`);
  }
}

function queueChecks(props: DelayQueueProps): Check[] {
  const { prefix, shards, retention, deadRetention, longDelay, topics, table, warmThroughput } = props;
  return [
    {
      holds: Object.keys(topics).length > 0,
      rule: "topics must name at least one topic",
      actual: topics,
      allowed: "1 or more",
    },
    {
      holds: prefix === undefined || /^[A-Za-z0-9-]{1,24}$/.test(prefix),
      rule: "prefix must fit into the name of a queue",
      actual: prefix,
      allowed: "1 to 24 letters, digits and -",
    },
    wholeNumber("shards", shards, 1, MAX_SHARDS),
    onlyFor("a new table", table === undefined, "warmThroughput", warmThroughput),
    wholeNumber("warmThroughput.read", warmThroughput?.read, 12_000, MOST_WARM_UNITS),
    wholeNumber("warmThroughput.write", warmThroughput?.write, 4_000, MOST_WARM_UNITS),
    wholeNumber("tickConcurrency", props.tickConcurrency, 1, 10),
    wholeNumber("maximumConcurrency", props.maximumConcurrency, 2, 1000),
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
    wholeNumber("api.receiveConcurrency", api.receiveConcurrency, 1, 1_000),
  ];
}

/** A duration in seconds. Fractions and tokens stay as they are, so that the checks can refuse them. */
function exact(duration: Duration): number {
  return duration.toSeconds({ integral: false });
}
