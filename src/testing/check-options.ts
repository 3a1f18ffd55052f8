import { LONGEST_TIMER } from "../core/constants.ts";
import { type Names, unknownNames } from "../general/unknown-names.ts";
import { PREFIX, PREFIX_RULE } from "../settings/prefix.ts";
import { SETTINGS } from "../settings/topic-settings.ts";
import { unknownSettings } from "../settings/unknown-settings.ts";
import type { TestQueueOptions } from "./test-queue.ts";

const QUEUE_OPTIONS = {
  topics: true,
  schemas: true,
  now: true,
  seed: true,
  handlerTimeout: true,
  prefix: true,
} satisfies Names<TestQueueOptions<never>>;

const TOPIC_OPTIONS = ["handler", "receiver", ...SETTINGS.map(([name]) => name)];

const FUNCTIONS = {
  handler: "a function, or the result of consumer(…)",
  receiver: "a function",
};

const NUMBERS = [
  ["seed", "a whole number", (value: number) => Number.isSafeInteger(value)],
  [
    "handlerTimeout",
    `a number of ms from 1 to ${LONGEST_TIMER.toLocaleString("en")}`,
    (value: number) => value >= 1 && value <= LONGEST_TIMER,
  ],
] as const;

/**
 * For plain JavaScript. Throws a `RangeError` for an unknown option, a number out of range, and a handler or receiver that is no function.
 */
export function checkOptions(options: unknown): void {
  const { topics, ...others } = objectOf("the options of the test queue", options, "an object");
  refuse(unknownNames("the test queue", "option", others, Object.keys(QUEUE_OPTIONS)));
  for (const [name, allowed, allows] of NUMBERS) {
    const value = others[name];
    if (value === undefined || (typeof value === "number" && allows(value))) continue;
    throw new RangeError(`${name} must be ${allowed}, got ${shown(value)}`);
  }
  const { prefix } = others;
  if (prefix !== undefined && !(typeof prefix === "string" && PREFIX.test(prefix)))
    throw new RangeError(`prefix must be ${PREFIX_RULE}, got ${shown(prefix)}`);
  for (const [name, topic] of Object.entries(
    objectOf("topics", topics, "an object with a topic for each name"),
  )) {
    const given = objectOf(`the options of topic ${name}`, topic, "an object");
    refuse(unknownSettings(`topics.${name}`, given, TOPIC_OPTIONS));
    for (const [option, allowed] of Object.entries(FUNCTIONS)) {
      const value = given[option];
      if (value === undefined || typeof value === "function") continue;
      throw new RangeError(`${name}.${option} must be ${allowed}, got ${shown(value)}`);
    }
  }
}

function refuse(unknown: readonly string[]): void {
  if (unknown.length > 0) throw new RangeError(unknown.join("\n"));
}

function objectOf(at: string, value: unknown, allowed: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw new RangeError(`${at} must be ${allowed}, got ${shown(value)}`);
}

export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  // JSON writes NaN and infinite numbers as null.
  if (typeof value === "number") return String(value);
  return JSON.stringify(value) ?? String(value);
}
