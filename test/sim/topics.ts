import type { Policy } from "../../src/settings/policy.ts";

export const RECEIVER = "https://receiver.example/hook";

/** SQS refuses a message for good if a body in it contains this word. */
export const UNWANTED = "unwanted";

export const EVENTS_QUEUE = "_events";

/** The topics of every history: each kind of consumer, tracked and not, limited and not. */
export const TOPICS: Policy["topics"] = {
  orders: { backoff: { waits: [15, 180] }, maxAttempts: 3 },
  work: { consumer: "pull", backoff: { waits: [10, 60] }, ttr: 10 },
  precise: { precision: "millisecond", backoff: { waits: [5] } },
  logs: { tracking: "none", backoff: { waits: [20] } },
  events: { consumer: "pull", tracking: "none" },
  rush: { maxPerSecond: 2, backoff: { waits: [15, 60] }, maxAttempts: 3 },
  hooks: { webhook: { url: RECEIVER, timeout: 5 }, backoff: { waits: [15, 60] } },
  drip: { consumer: "pull", maxPerSecond: 0.2 },
};

const NAMES = Object.keys(TOPICS);
export const PULL_TOPICS = NAMES.filter((topic) => TOPICS[topic]?.consumer === "pull");
export const LAMBDA_TOPICS = NAMES.filter((topic) => !PULL_TOPICS.includes(topic));
export const WEBHOOK_TOPICS = NAMES.filter((topic) => TOPICS[topic]?.webhook !== undefined);
export const UNTRACKED = new Set(NAMES.filter((topic) => TOPICS[topic]?.tracking === "none"));
export const LIMITED = new Set(NAMES.filter((topic) => TOPICS[topic]?.maxPerSecond !== undefined));
