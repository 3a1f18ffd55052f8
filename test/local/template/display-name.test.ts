import { expect, test } from "vitest";
import { displayName } from "../../../local/template/display-name.ts";
import { functionSpec } from "../stacks.ts";

const fed = (queue: string) => ({
  uuid: queue,
  enabled: true,
  functionArn: functionSpec("ShopJobsHandlerordertimeoutFunction01ABCDEF").arn,
  queueArn: `arn:aws:sqs:us-east-1:000000000000:${queue}`,
  batchSize: 10,
  maximumConcurrency: undefined,
  reportsFailures: true,
});
const handler = {
  ...functionSpec("ShopJobsHandlerordertimeoutFunction01ABCDEF"),
  environment: { MINUTEHAND_QUEUE_URL_PREFIX: "http://127.0.0.1:1/000000000000/shop-" },
};

test("a function that runs the jobs of one topic has the topic's name", () => {
  const eventSources = [fed("shop-order-timeout")];
  expect(displayName(handler, { eventSources })).toBe("order-timeout");
  expect(displayName({ ...handler, arn: "another" }, { eventSources })).toBe("ShopJobsHandlerordertimeout");
});

test.each([
  ["jobs of several topics", handler, ["shop-order-timeout", "shop-reminders"]],
  ["messages of another queue", handler, ["shop_events"]],
  [
    "jobs, but has no queue prefix in its environment",
    { ...handler, environment: {} },
    ["shop-order-timeout"],
  ],
])("a function that runs %s has its logical id as its name", (_, spec, queues) => {
  expect(displayName(spec, { eventSources: queues.map(fed) })).toBe("ShopJobsHandlerordertimeout");
});
