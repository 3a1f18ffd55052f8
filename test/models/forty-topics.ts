import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { TopicProps } from "../../infra/props.ts";

/** An app with 40 topics of all kinds: 30 with handlers, 8 that are pulled, 2 webhooks. It has a dashboard of them all. */
const handled = names("orders", 30);
const topics: Record<string, TopicProps> = {
  ...Object.fromEntries(handled.map((name) => [name, { maxPerSecond: 10, backoff: [15, 180, 600] }])),
  ...Object.fromEntries(
    names("work", 8).map((name) => [name, { consumer: "pull" as const, tracking: "none" as const }]),
  ),
  ...Object.fromEntries(
    names("notice", 2).map((name) => [
      name,
      {
        webhook: { onlyHosts: ["shop.example"] },
        cancelOn: { detailType: "OrderPaid", key: "$.detail.orderId" },
      },
    ]),
  ),
};
const stack = new Stack(new App(), "Forty");
const queue = new DelayQueue(stack, "Jobs", {
  topics,
  topicsFile: join(tmpdir(), "minutehand-forty.json"),
  dashboard: true,
});
for (const name of handled) queue.addHandler(name, join(import.meta.dirname, "../life/handler.ts"));

function names(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${kind}-${i}`);
}
