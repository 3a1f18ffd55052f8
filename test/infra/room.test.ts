import { App, Stack } from "aws-cdk-lib";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import { Key } from "aws-cdk-lib/aws-kms";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { DelayQueueProps } from "../../infra/props.ts";
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

/** `ScalingConfig` of the event sources of topics: of `mail`, of `own` and `free`, which have values of their own, and of a webhook topic. */
function limitsOf(props: Partial<DelayQueueProps>, webhook = {}): Record<string, unknown> {
  const own = { own: { maximumConcurrency: 7 }, free: { maximumConcurrency: false } } as const;
  const topics = { mail: {}, ...own, calls: { webhook: {}, ...webhook } };
  const { stack, queue } = shopWith({ topics, ...props });
  for (const topic of ["mail", "own", "free"]) queue.addConsumer(topic, someFunction(stack, topic));
  const mappings = resourcesOf(templateOf(stack), "AWS::Lambda::EventSourceMapping");
  return Object.fromEntries(
    mappings.map(([id, { Properties }]) => [
      /Topic(mail|own|free|calls)/.exec(id)?.[1],
      Properties.ScalingConfig,
    ]),
  );
}

describe("concurrency", () => {
  it("is reserved for the tick and for receive only if the props ask for it", () => {
    expect(reservedBy({})).toEqual({});
    expect(reservedBy({ tickConcurrency: 2, api: { receiveConcurrency: 50 } })).toEqual({
      JobsTickSweeper: 2,
      JobsApiReceive: 50,
    });
  });

  it("that is reserved for the tick, and `tickSweepers`, bound how many further invocations a tick starts", () => {
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
    expect(sweepersOf({ tickSweepers: 0 })).toEqual(["0"]);
    expect(sweepersOf({ tickSweepers: 5, tickConcurrency: 4 })).toEqual(["3"]);
    expect(sweepersOf({ tickSweepers: 2, tickConcurrency: 4 })).toEqual(["2"]);
    expect(reservedBy({ tickSweepers: 2 })).toEqual({});
  });

  it("rings an alarm if ticks divide their work for an hour, unless they never do or must do it for their many shards", () => {
    const alarms = (props: object) =>
      resourcesOf(templateOf(shopWith({ topics: TOPICS, ...props }).stack), "AWS::CloudWatch::Alarm").filter(
        ([id]) => id.includes("TickDivided"),
      ).length;
    expect([{}, { tickSweepers: 1 }, { shards: 256 }].map(alarms)).toEqual([1, 1, 1]);
    expect([{ tickSweepers: 0 }, { tickConcurrency: 1 }, { shards: 257 }].map(alarms)).toEqual([0, 0, 0]);
  });

  it("of a consumer is at most its topic's `maximumConcurrency`, else the queue's, else as much as Lambda takes", () => {
    const [own, calls] = [{ MaximumConcurrency: 7 }, { MaximumConcurrency: 5 }];
    // CloudFormation removes a limit if the value is empty.
    expect(limitsOf({})).toEqual({ mail: undefined, own, free: {}, calls });
    expect(limitsOf({ maximumConcurrency: false })).toEqual({ mail: {}, own, free: {}, calls });
    const mail = { MaximumConcurrency: 3 };
    expect(limitsOf({ maximumConcurrency: 3 })).toEqual({ mail, own, free: {}, calls });
    expect(limitsOf({}, { maximumConcurrency: false })).toMatchObject({ calls: {} });
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

it("the tick turns off the pollers of the topics that ask for it, and no limit stands beside them until then", () => {
  const topics = { mail: { pollers: false }, calls: { webhook: {}, pollers: false }, plain: {} } as const;
  const { stack, queue } = shopWith({ topics, maximumConcurrency: 3 });
  for (const topic of ["mail", "plain"] as const) queue.addConsumer(topic, someFunction(stack, topic));
  const template = templateOf(stack);
  const limits = resourcesOf(template, "AWS::Lambda::EventSourceMapping").map(([, { Properties }]) => [
    Properties.ScalingConfig,
    Properties.ProvisionedPollerConfig,
  ]);
  expect(limits.filter(([limit]) => limit !== undefined)).toEqual([[{ MaximumConcurrency: 3 }, undefined]]);
  expect(limits).toHaveLength(3);
  const told = resourcesOf(template, "AWS::Lambda::Function").flatMap(([id, { Properties }]) => {
    const { MINUTEHAND_NO_POLLERS: names } = (Properties.Environment as { Variables: Json }).Variables;
    return names === undefined ? [] : [[id.slice(0, 15), names]];
  });
  expect(told).toEqual([["JobsTickSweeper", "mail,calls"]]);
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
