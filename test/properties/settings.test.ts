import fc from "fast-check";
import { describe, expect } from "vitest";
import { queuePolicy } from "../../infra/policy.ts";
import type { TopicProps } from "../../infra/props.ts";
import { type Backoff, DEFAULT_BACKOFF } from "../../src/core/backoff.ts";
import { type TopicPolicy, topicPolicy } from "../../src/settings/policy.ts";
import { topic } from "./kinds.ts";
import { property } from "./property.ts";

const backoff = fc.oneof(
  fc.constant(DEFAULT_BACKOFF),
  fc.record({ waits: fc.array(fc.nat(100), { minLength: 1, maxLength: 12 }) }),
  fc.record({
    initial: fc.nat(100),
    factor: fc.constant(2),
    max: fc.integer({ min: 100, max: 1000 }),
    jitter: fc.constant(0.5),
  }),
);
/** Values near the defaults, so that many are the default of some other consumer or backoff. */
const configured: fc.Arbitrary<Partial<TopicPolicy>> = fc.record(
  {
    consumer: fc.constantFrom("lambda" as const, "pull" as const),
    tracking: fc.constantFrom("full" as const, "none" as const),
    precision: fc.constantFrom("second" as const, "millisecond" as const),
    pack: fc.constantFrom(1, 2, 10),
    concurrency: fc.constantFrom(1, 10, 25),
    maxAttempts: fc.constantFrom(1, 10, 13, 100),
    ttr: fc.constantFrom(1, 30, 43_200),
    backoff,
  },
  { requiredKeys: [], noNullPrototype: true },
);

/** The backoff as an app sets it. */
function settingOf(given: Backoff): TopicProps["backoff"] {
  return "waits" in given ? given.waits : { exponential: given };
}

describe("a topic's policy", () => {
  property("is what was configured, and defaults for the rest", [configured], (given) => {
    expect(topicPolicy(given)).toEqual({
      consumer: "lambda",
      tracking: "full",
      precision: "second",
      pack: given.consumer === "pull" ? 1 : 10,
      concurrency: 10,
      maxAttempts: topicPolicy({ backoff: given.backoff ?? DEFAULT_BACKOFF }).maxAttempts,
      ttr: 30,
      backoff: DEFAULT_BACKOFF,
      ...given,
    });
  });

  property(
    "is the same after a deployment, which writes only the values that differ from the defaults",
    [topic, configured],
    (name, given) => {
      const props = { ...given, ...(given.backoff && { backoff: settingOf(given.backoff) }) } as TopicProps;
      const { topics } = queuePolicy({ topics: { [name]: props } });
      expect(topicPolicy(topics[name] ?? {})).toEqual(topicPolicy(given));
    },
  );
});
