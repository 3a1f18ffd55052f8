import { App, CfnResource, NestedStack, Stack } from "aws-cdk-lib";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import { Key } from "aws-cdk-lib/aws-kms";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { roomForTopics } from "../../infra/checks/room-for-topics.ts";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { DelayQueueProps, TopicProps } from "../../infra/props.ts";
import { resourcesOf, type StackTemplate } from "./resources.ts";
import { shopWith, someFunction, templateOf } from "./shop-stack.ts";

type Json = Record<string, unknown>;

const TOPICS = { mail: {}, work: { consumer: "pull" }, notice: { webhook: {} } } as const;

/** Reserved concurrency by function; those that have none are left out. */
function reservedBy(props: Partial<DelayQueueProps>): Record<string, unknown> {
  const template = templateOf(shopWith({ topics: TOPICS, ...props }).stack);
  const functions = resourcesOf(template, "AWS::Lambda::Function").map(([id, { Properties }]) => [
    id.replace(/Function\w{8}$/, ""),
    Properties.ReservedConcurrentExecutions,
  ]);
  return Object.fromEntries(functions.filter(([, reserved]) => reserved !== undefined));
}

function statementsOf(template: StackTemplate): Json[] {
  return resourcesOf(template, "AWS::IAM::Policy").flatMap(
    ([, { Properties }]) => (Properties.PolicyDocument as { Statement: Json[] }).Statement,
  );
}

/** `MaximumConcurrency` of the event sources of a queue with two Lambda consumers, one of which has a value of its own. */
function mostAtOnce(props: Partial<DelayQueueProps>): unknown[] {
  const { stack, queue } = shopWith({ topics: { mail: {}, own: { maximumConcurrency: 7 } }, ...props });
  for (const topic of ["mail", "own"]) queue.addConsumer(topic, someFunction(stack, topic));
  return resourcesOf(templateOf(stack), "AWS::Lambda::EventSourceMapping")
    .map(
      ([, { Properties }]) => (Properties.ScalingConfig as { MaximumConcurrency: number }).MaximumConcurrency,
    )
    .sort((a, b) => a - b);
}

describe("concurrency", () => {
  it("is reserved for the tick and for receive only if the props ask for it", () => {
    expect(reservedBy({})).toEqual({});
    expect(reservedBy({ tickConcurrency: 2, api: { receiveConcurrency: 50 } })).toEqual({
      JobsTickSweeper: 2,
      JobsApiReceive: 50,
    });
  });

  it("that is reserved for the tick bounds how many further invocations a tick starts", () => {
    const sweepersOf = (props: object) => {
      const template = templateOf(shopWith({ topics: TOPICS, ...props }).stack);
      const functions = resourcesOf(template, "AWS::Lambda::Function");
      const ticks = functions.filter(([id]) => id.startsWith("JobsTickSweeper"));
      return ticks.map(
        ([, { Properties }]) =>
          (Properties.Environment as { Variables: Record<string, string> }).Variables.MINUTEHAND_SWEEPERS,
      );
    };
    expect(sweepersOf({ tickConcurrency: 4 })).toEqual(["3"]);
    expect(sweepersOf({})).toEqual([undefined]);
  });

  it("of a consumer is at most its topic's `maximumConcurrency`, else the queue's, else 100", () => {
    expect(mostAtOnce({})).toEqual([7, 100]);
    expect(mostAtOnce({ maximumConcurrency: 3 })).toEqual([3, 7]);
  });

  it("of a consumer with `pollers` is limited by its pollers only, also in a webhook topic", () => {
    const pollers = { min: 2, max: 20 };
    const topics = { mail: { pollers }, calls: { webhook: {}, pollers }, plain: {} };
    const { stack, queue } = shopWith({ topics, maximumConcurrency: 3 });
    for (const topic of ["mail", "plain"] as const) queue.addConsumer(topic, someFunction(stack, topic));
    const scaling = resourcesOf(templateOf(stack), "AWS::Lambda::EventSourceMapping").map(
      ([, { Properties }]) => [Properties.ScalingConfig, Properties.ProvisionedPollerConfig],
    );
    const reserved = [undefined, { MinimumPollers: 2, MaximumPollers: 20 }];
    expect(scaling.filter(([limit]) => limit === undefined)).toEqual([reserved, reserved]);
    expect(scaling.filter(([limit]) => limit !== undefined)).toEqual([
      [{ MaximumConcurrency: 3 }, undefined],
    ]);
  });
});

describe("the table", () => {
  it("has the ceilings that the props ask for, and none without them", () => {
    const ceiling = (props: Partial<DelayQueueProps>) =>
      resourcesOf(templateOf(shopWith({ topics: TOPICS, ...props }).stack), "AWS::DynamoDB::Table").map(
        ([, { Properties }]) => Properties.OnDemandThroughput,
      );
    expect(ceiling({})).toEqual([undefined]);
    expect(ceiling({ maxThroughput: { write: 1000 } })).toEqual([{ MaxWriteRequestUnits: 1000 }]);
    expect(ceiling({ maxThroughput: { read: 500, write: 600 } })).toEqual([
      { MaxReadRequestUnits: 500, MaxWriteRequestUnits: 600 },
    ]);
  });

  it("may be an existing one: then no table is made, and all functions use the existing table and its key", () => {
    const stack = new Stack(new App(), "Shop");
    const encryptionKey = new Key(stack, "Key");
    const tableName = "Shop-JobsPoolTable-1ABC";
    const table = Table.fromTableAttributes(stack, "Survivor", { tableName, encryptionKey });
    new DelayQueue(stack, "Jobs", { topics: TOPICS, table });
    const template = templateOf(stack);
    expect(resourcesOf(template, "AWS::DynamoDB::Table")).toEqual([]);

    const variables = resourcesOf(template, "AWS::Lambda::Function").map(
      ([, { Properties }]) => (Properties.Environment as { Variables: Json }).Variables.MINUTEHAND_TABLE,
    );
    expect(new Set(variables)).toEqual(new Set([tableName]));
    const statements = statementsOf(template);
    const onTables = statements.filter(({ Action }) => `${Action}`.includes("dynamodb:"));
    expect(onTables.length).toBeGreaterThanOrEqual(5);
    for (const { Resource } of onTables) expect(JSON.stringify(Resource)).toContain(`:table/${tableName}"`);
    const onKey = statements.filter(({ Action }) => `${Action}`.includes("kms:ReEncryptFrom"));
    expect(onKey.length).toBe(onTables.length);
  });
});

describe("the stack's 500 resources", () => {
  const many = (count: number, topic: TopicProps = {}) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, topic]));
  const countOf = (topics: DelayQueueProps["topics"], handlers: readonly string[] = []) => {
    const { stack, queue } = shopWith({ topics });
    for (const topic of handlers) queue.addHandler(topic, "examples/order-timeout/close-order.ts");
    return Object.keys(templateOf(stack).Resources).length;
  };

  it("include 3 for each further pull topic, and 8 for each further topic with a handler", () => {
    const pull = { consumer: "pull" } as const;
    expect(countOf(many(3, pull)) - countOf(many(2, pull))).toBe(3);
    expect(countOf(many(2), ["t0", "t1"]) - countOf(many(1), ["t0"])).toBe(8);
  });

  it("cause a warning when they are nearly used up, with the number of topics that still fit", () => {
    const warned = (count: number) => {
      const { stack } = shopWith({ topics: many(count, { consumer: "pull" }) });
      const warnings = Annotations.fromStack(stack).findWarning(
        "*",
        Match.stringLikeRegexp("CloudFormation allows 500"),
      );
      const resources = Object.keys(templateOf(stack).Resources).length;
      return { resources, said: warnings.map(({ entry }) => String(entry.data)) };
    };
    expect(warned(20).said).toEqual([]);
    const { resources, said } = warned(120);
    expect(resources).toBeGreaterThan(400);
    expect(said).toHaveLength(1);
    const left = 500 - resources;
    expect(said[0]).toContain(`has ${resources} resources`);
    expect(said[0]).toContain(
      `${Math.floor(left / 8)} more topics with handlers fit, or ${Math.floor(left / 3)} pull topics`,
    );
  });
});

describe("the room for further topics", () => {
  const fill = (stack: Stack, count: number) => {
    for (let i = 0; i < count; i++) new CfnResource(stack, `R${i}`, { type: "AWS::SQS::Queue" });
  };

  it("is none, and not below none, in a stack with too many resources", () => {
    const stack = new Stack(new App(), "Shop");
    fill(stack, 520);
    expect(roomForTopics(stack)).toContain("0 more topics with handlers fit, or 0 pull topics");
  });

  it("does not shrink by the resources of nested stacks, which have 500 of their own", () => {
    const stack = new Stack(new App(), "Shop");
    fill(new NestedStack(stack, "Nested"), 450);
    expect(roomForTopics(stack)).toBeUndefined();
  });
});

describe("tracing", () => {
  const traced = (props: Partial<DelayQueueProps>) => {
    const { stack, queue } = shopWith({ topics: TOPICS, ...props });
    queue.addHandler("mail", "examples/order-timeout/close-order.ts");
    return templateOf(stack);
  };

  it("is off by default. If the props ask for it, each function has it and may write its traces", () => {
    const modes = (template: StackTemplate) =>
      resourcesOf(template, "AWS::Lambda::Function").map(([, { Properties }]) => Properties.TracingConfig);
    expect(new Set(modes(traced({})))).toEqual(new Set([undefined]));
    const template = traced({ tracing: true });
    expect(modes(template).length).toBeGreaterThanOrEqual(6);
    expect(
      modes(template).filter((mode) => (mode as { Mode: string } | undefined)?.Mode !== "Active"),
    ).toEqual([]);
    const writing = statementsOf(template).filter(({ Action }) => `${Action}`.includes("xray:"));
    expect(writing).toHaveLength(modes(template).length);
  });

  it("has nothing that cdk-nag objects to", () => {
    const app = new App();
    const queue = new DelayQueue(new Stack(app, "Shop"), "Jobs", { topics: TOPICS, tracing: true });
    expect(new AwsSolutionsChecks(app).validateScope(queue).violations).toEqual([]);
  });
});
