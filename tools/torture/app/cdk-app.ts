import { join } from "node:path";
import { App, Duration, Stack } from "aws-cdk-lib";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import type { TopicProps } from "../../../infra/props.ts";
import type { Topic } from "../load.ts";

/** Uses the construct as any app does. Leases and waits are short, so that crashed jobs run again within some minutes. */
const app = new App();
const stack = new Stack(app, "Torture");
const tracked: TopicProps = { backoff: [1, 2, 5, 10], maxAttempts: 50 };
const queue = new DelayQueue(stack, "Jobs", {
  prefix: "torture",
  removable: true,
  topics: {
    reminders: tracked,
    precise: { ...tracked, precision: "millisecond" },
    work: { ...tracked, consumer: "pull", ttr: Duration.seconds(10) },
    events: { consumer: "pull", tracking: "none", ttr: Duration.seconds(10) },
  } satisfies Record<Topic, TopicProps>,
});
for (const topic of ["reminders", "precise"] satisfies Topic[])
  queue.addHandler(topic, join(import.meta.dirname, "torture-handler.ts"), { timeout: Duration.seconds(20) });
