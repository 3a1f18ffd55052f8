import { App, Stack } from "aws-cdk-lib";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { EventBus } from "aws-cdk-lib/aws-events";
import { describe, expect, it } from "vitest";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { DelayQueueProps } from "../../infra/props.ts";
import { policyIn } from "../../src/settings/policy-text.ts";
import { policiesOf, resourcesOf, type StackTemplate } from "./resources.ts";
import { shopWith, someFunction, templateOf } from "./shop-stack.ts";

const DEFAULT_BUS = {
  "Fn::Join": [
    "",
    [
      "arn:",
      { Ref: "AWS::Partition" },
      ":events:",
      { Ref: "AWS::Region" },
      ":",
      { Ref: "AWS::AccountId" },
      ":event-bus/default",
    ],
  ],
};

/** The beginnings of the logical ids of the roles that may put events, each with the resource. */
function putters(template: StackTemplate): [string, unknown][] {
  return policiesOf(template).flatMap(([, { Properties }]) => {
    const { Statement } = Properties.PolicyDocument as {
      Statement: { Action: unknown; Resource: unknown }[];
    };
    const roles = (Properties.Roles as { Ref: string }[]).map(({ Ref }) =>
      Ref.replace(/(?:Service)?Role\w+$/, ""),
    );
    return Statement.filter(({ Action }) => [Action].flat().includes("events:PutEvents")).flatMap(
      ({ Action, Resource }) => {
        expect(Action).toBe("events:PutEvents");
        return roles.map((role): [string, unknown] => [role, Resource]);
      },
    );
  });
}

function variablesIn(template: StackTemplate): Record<string, unknown>[] {
  return resourcesOf(template, "AWS::Lambda::Function").flatMap(([, { Properties }]) => {
    const { Variables } = (Properties.Environment ?? {}) as { Variables?: Record<string, unknown> };
    return Variables && "MINUTEHAND_POLICY" in Variables ? [Variables] : [];
  });
}

function shop(topics: DelayQueueProps["topics"]): StackTemplate {
  const { stack, queue } = shopWith({ topics });
  for (const topic of ["orders", "quiet"]) queue.addConsumer(topic, someFunction(stack, `Run${topic}`));
  queue.addTarget("images", someFunction(stack, "Resize"));
  queue.grantPull("work", someFunction(stack, "Worker"));
  queue.grantEnqueue(someFunction(stack, "Producer"));
  return templateOf(stack);
}

const QUIET = {
  orders: {},
  quiet: {},
  images: {},
  hooks: { webhook: {} },
  work: { consumer: "pull" },
} as const;

describe("a topic with notify", () => {
  it.each([
    ["orders", ["completed"], ["Runorders"]],
    ["orders", ["completed", "dead"], ["JobsTickSweeper", "Runorders"]],
    ["images", ["failed"], ["ResizeTargetimagesCaller"]],
    ["hooks", ["failed"], ["JobsWebhookhooksCaller"]],
    ["work", ["failed"], ["JobsApiHandler", "JobsApiReceive", "Worker"]],
  ] as const)("%s with %j lets only the roles put events that end its attempts", (topic, notify, roles) => {
    const template = shop({ ...QUIET, [topic]: { ...QUIET[topic], notify } });
    expect(putters(template).sort()).toEqual(roles.map((role) => [role, DEFAULT_BUS]));
    const variables = variablesIn(template);
    expect(variables.length).toBeGreaterThan(5);
    for (const { MINUTEHAND_EVENT_BUS: bus, MINUTEHAND_POLICY: policy } of variables) {
      expect(bus).toBe("default");
      expect(policyIn(String(policy)).topics[topic]).toMatchObject({ notify });
    }
  });

  it("puts its events on the queue's eventBus", () => {
    const stack = new Stack(new App(), "Shop");
    const eventBus = new EventBus(stack, "Bus");
    const queue = new DelayQueue(stack, "Jobs", { eventBus, topics: { orders: { notify: ["completed"] } } });
    queue.addConsumer("orders", someFunction(stack, "Run"));
    const template = templateOf(stack);
    const [[id] = [""]] = resourcesOf(template, "AWS::Events::EventBus");
    expect(putters(template)).toEqual([["Run", { "Fn::GetAtt": [id, "Arn"] }]]);
    expect(variablesIn(template).map((one) => one.MINUTEHAND_EVENT_BUS)).toContainEqual({ Ref: id });
  });
});

describe("an event bus of another place", () => {
  const env = { account: "123456789012", region: "eu-central-1" };
  const onBus = (place: string, stackEnv: object = { env }) => {
    const stack = new Stack(new App(), "Shop", stackEnv);
    const eventBus = EventBus.fromEventBusArn(stack, "Bus", `arn:aws:events:${place}:event-bus/shop`);
    return () => new DelayQueue(stack, "Jobs", { eventBus, topics: { orders: { notify: ["completed"] } } });
  };

  it.each([
    ["eu-central-1:210987654321", "account 210987654321"],
    ["us-east-1:123456789012", "region us-east-1"],
  ])("is refused: %s", (place, said) => {
    expect(onBus(place)).toThrow(
      `eventBus must be in the account and region of the queue, is in ${said}: give`,
    );
  });

  it("is taken if it is that of the queue, or if synth does not know the queue's", () => {
    expect(onBus("eu-central-1:123456789012")).not.toThrow();
    expect(onBus("eu-central-1:210987654321", {})).not.toThrow();
  });
});

it("without notify no function knows of a bus or may put events", () => {
  const template = shop(QUIET);
  expect(putters(template)).toEqual([]);
  for (const variables of variablesIn(template)) expect(variables).not.toHaveProperty("MINUTEHAND_EVENT_BUS");
});

describe("events of notify that file jobs", () => {
  const file = (detailType: string, source?: string) => ({
    ...{ detailType, key: "$.detail.id", delay: 0 },
    ...(source !== undefined && { source }),
  });
  const warnings = (topics: DelayQueueProps["topics"]): string[] =>
    Annotations.fromStack(shopWith({ topics }).stack)
      .findWarning("*", Match.stringLikeRegexp("can file jobs without end"))
      .map(({ entry }) => String(entry.data));

  it.each([
    [
      "by their own events",
      { a: { notify: ["completed"], enqueueOn: file("JobCompleted") } },
      ['"a" to "a"'],
    ],
    [
      "by way of another topic",
      {
        a: { notify: ["failed"], enqueueOn: file("JobDead", "minutehand.minutehand.b") },
        b: { notify: ["dead"], enqueueOn: [file("Other"), file("JobFailed", "minutehand.minutehand.a")] },
      },
      ['"a" to "b" to "a"', '"b" to "a" to "b"'],
    ],
  ] as [string, DelayQueueProps["topics"], string[]][])("%s are warned of", (_, topics, ways) => {
    const found = warnings(topics);
    expect(found).toHaveLength(ways.length);
    for (const [i, way] of ways.entries()) expect(found[i]).toContain(way);
  });

  it.each([
    ["another end", { a: { notify: ["dead"], enqueueOn: file("JobCompleted") } }],
    ["another source", { a: { notify: ["completed"], enqueueOn: file("JobCompleted", "shop") } }],
    [
      "a cancel",
      { a: { notify: ["completed"], cancelOn: { detailType: "JobCompleted", key: "$.detail.key" } } },
    ],
    [
      "a chain with an end",
      { a: { notify: ["completed"] }, b: { enqueueOn: file("JobCompleted", "minutehand.minutehand.a") } },
    ],
  ] as [string, DelayQueueProps["topics"]][])("%s is no loop", (_, topics) => {
    expect(warnings(topics)).toEqual([]);
  });
});
