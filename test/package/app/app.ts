import { App, Duration, Stack } from "aws-cdk-lib";
import { DelayQueue } from "minutehand/cdk";

const app = new App();
const stack = new Stack(app, "Shop");
const queue = new DelayQueue(stack, "Jobs", {
  topics: {
    "order-timeout": { maxPerSecond: 100 },
    refund: { consumer: "pull", ttr: Duration.minutes(1) },
  },
});
queue.addHandler("order-timeout", "handlers/order-timeout.ts");
