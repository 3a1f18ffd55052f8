import { SETTINGS } from "../core/topic-settings.ts";
import type { TestQueueOptions } from "./test-queue.ts";

const QUEUE_OPTIONS = { topics: true, now: true, seed: true, handlerTimeout: true } satisfies {
  [Option in keyof TestQueueOptions<never>]-?: true;
};

const TOPIC_OPTIONS = {
  ...{ handler: true, receiver: true },
  ...Object.fromEntries(SETTINGS.flatMap(([name, { isInTests }]) => (isInTests ? [[name, true]] : []))),
};

const FUNCTIONS = {
  handler: "a function, or the result of consumer(…)",
  receiver: "a function",
};

/**
 * Checks the options as TypeScript does, for callers in plain JavaScript. Throws a `RangeError` for an unknown option, and for a handler
 * or a receiver that is not a function.
 */
export function checkOptions(options: unknown): void {
  const { topics } = known("the test queue", options, QUEUE_OPTIONS);
  for (const [name, topic] of Object.entries(
    objectOf("topics", topics, "an object with a topic for each name"),
  )) {
    const given = known(`topic ${name}`, topic, TOPIC_OPTIONS);
    for (const [option, allowed] of Object.entries(FUNCTIONS)) {
      const value = given[option];
      if (value === undefined || typeof value === "function") continue;
      throw new RangeError(`${name}.${option} must be ${allowed}, got ${shown(value)}`);
    }
  }
}

function known(whose: string, value: unknown, options: object): Record<string, unknown> {
  const given = objectOf(`the options of ${whose}`, value, "an object");
  const stranger = Object.keys(given).find((option) => !Object.hasOwn(options, option));
  if (stranger === undefined) return given;
  throw new RangeError(
    `${whose} has an unknown option ${shown(stranger)}; allowed are ${Object.keys(options).join(", ")}`,
  );
}

function objectOf(at: string, value: unknown, allowed: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw new RangeError(`${at} must be ${allowed}, got ${shown(value)}`);
}

/** Formats a value for an error text. */
export function shown(value: unknown): string {
  return value === undefined ? "nothing" : (JSON.stringify(value) ?? String(value));
}
