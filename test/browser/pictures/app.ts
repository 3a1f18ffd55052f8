import { join } from "node:path";
import { App, Duration, Stack } from "aws-cdk-lib";
import { DelayQueue } from "../../../infra/delay-queue.ts";

/** The app of a shop, whose queue the pictures show. */
const stack = new Stack(new App(), "Shop");
const queue = new DelayQueue(stack, "Jobs", {
  prefix: "shop",
  removable: true,
  topicsFile: join(import.meta.dirname, "topics.json"),
  topics: {
    "order-timeout": {},
    refund: { maxAttempts: 3, backoff: [1, 2] },
    "payment-notice": { maxPerSecond: 1 },
    reminder: {},
    thumbnail: { consumer: "pull", ttr: Duration.minutes(5) },
  },
});
for (const topic of ["order-timeout", "refund", "payment-notice", "reminder"])
  queue.addHandler(topic, join(import.meta.dirname, "handler.ts"));
