import { expect, test } from "vitest";
import { leaveOutRefused } from "../../../local/template/left-out.ts";
import { functionSpec, stackWith } from "../stacks.ts";

const queue = (name: string) => ({
  name,
  url: `http://127.0.0.1:1/0/${name}`,
  arn: `arn:aws:sqs:us-east-1:0:${name}`,
  attributes: {},
});
const mail = functionSpec("Mail");
const source = (name: string) => ({
  uuid: name,
  enabled: true,
  functionArn: mail.arn,
  queueArn: queue(name).arn,
  batchSize: 10,
  maximumConcurrency: undefined,
  reportsFailures: true,
});
const stack = stackWith({
  queues: [queue("shop-mail"), queue("logs")],
  functions: [mail],
  eventSources: [source("shop-mail"), source("logs")],
  required: ["shop-mail"],
});
const refusalOf = (name: string) => [{ kind: "queue" as const, name, reason: "no such attribute" }];

test("a rejected queue is left out with the event source that leads to it, and both are named", () => {
  const { queues, eventSources, leftOut } = leaveOutRefused(stack, refusalOf("logs"));
  expect([queues, eventSources]).toEqual([[queue("shop-mail")], [source("shop-mail")]]);
  expect(leftOut).toEqual([
    "queue logs: no such attribute",
    `the event source of ${mail.arn}: it leads to arn:aws:sqs:us-east-1:0:logs, which is not played`,
  ]);
});

test("a delay queue whose ready queue was rejected does not start", () => {
  expect(() => leaveOutRefused(stack, refusalOf("shop-mail"))).toThrow(
    "the delay queue cannot run without shop-mail: queue shop-mail: no such attribute",
  );
});
