import { App, Duration, Stack } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { EventBus } from "aws-cdk-lib/aws-events";
import { Key } from "aws-cdk-lib/aws-kms";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { DelayQueueProps } from "../../infra/props.ts";
import { policyIn } from "../../src/settings/policy-text.ts";
import { type Resource, resourcesOf, type StackTemplate } from "./resources.ts";
import { shopWith, templateOf } from "./shop-stack.ts";

const KEY = "$.detail.orderId";
const TOPICS: DelayQueueProps["topics"] = {
  "order-timeout": {
    cancelOn: [
      { source: "shop", detailType: "OrderPaid", key: KEY },
      { source: "till", detailType: "OrderPaid", key: KEY, tombstone: Duration.hours(1) },
    ],
  },
  reminders: {
    cancelOn: { source: "shop", detailType: "OrderPaid", key: KEY, tombstone: Duration.seconds(0) },
    enqueueOn: [
      { detailType: "OrderPlaced", key: KEY, delay: Duration.minutes(30) },
      {
        source: "shop",
        detailType: "OrderPlaced",
        key: "$.detail.customer.id",
        body: "$.detail.customer",
        delay: Duration.seconds(0),
        onDuplicate: "postpone",
        maxDelay: Duration.hours(2),
      },
    ],
  },
  work: { consumer: "pull" },
};

const RULES = [
  {
    topic: "order-timeout",
    do: "cancel",
    source: "shop",
    detailType: "OrderPaid",
    key: KEY,
    tombstone: 300,
  },
  {
    topic: "order-timeout",
    do: "cancel",
    source: "till",
    detailType: "OrderPaid",
    key: KEY,
    tombstone: 3600,
  },
  { topic: "reminders", do: "cancel", source: "shop", detailType: "OrderPaid", key: KEY, tombstone: 0 },
  {
    topic: "reminders",
    do: "enqueue",
    detailType: "OrderPlaced",
    key: KEY,
    body: "$.detail",
    delay: 1800,
    onDuplicate: "keep",
  },
  {
    topic: "reminders",
    do: "enqueue",
    source: "shop",
    detailType: "OrderPlaced",
    key: "$.detail.customer.id",
    body: "$.detail.customer",
    delay: 0,
    onDuplicate: "postpone",
    maxDelay: 7200,
  },
];

function only(template: StackTemplate, type: string, name: string): [string, Resource] {
  const found = resourcesOf(template, type).filter(([id]) => id.startsWith(name));
  expect(found).toHaveLength(1);
  return found[0] as [string, Resource];
}

function variablesOf({ Properties }: Resource): Record<string, string> {
  return (Properties.Environment as { Variables: Record<string, string> }).Variables;
}

function allowedInto(template: StackTemplate, name: string): { Principal: unknown; Condition: unknown }[] {
  const [, { Properties }] = only(template, "AWS::SQS::QueuePolicy", name);
  const { Statement } = Properties.PolicyDocument as {
    Statement: { Effect: string; Principal: unknown; Condition: unknown }[];
  };
  return Statement.filter(({ Effect }) => Effect === "Allow");
}

/** The alarms on what EventBridge could not put into the events' queue. */
function undelivered(template: StackTemplate): Resource["Properties"][] {
  const alarms = resourcesOf(template, "AWS::CloudWatch::Alarm").map(([, { Properties }]) => Properties);
  return alarms.filter(({ Namespace }) => Namespace === "AWS/Events");
}

describe("topics with events", () => {
  const template = templateOf(shopWith({ topics: TOPICS }).stack);
  const [queueId, queue] = only(template, "AWS::SQS::Queue", "JobsEventsQueue");
  const rules = resourcesOf(template, "AWS::Events::Rule").filter(([id]) => id.startsWith("JobsEvents"));
  const [, fn] = only(template, "AWS::Lambda::Function", "JobsEvents");

  it("have one rule for each kind of event, on the default bus, which brings the whole event to one queue", () => {
    expect(rules.map(([, { Properties }]) => Properties)).toEqual(
      [
        { source: ["shop"], "detail-type": ["OrderPaid"] },
        { source: ["till"], "detail-type": ["OrderPaid"] },
        // This rule has no source, so it matches the shop's events too.
        { "detail-type": ["OrderPlaced"] },
      ].map((EventPattern) => ({
        Description: expect.any(String),
        EventPattern,
        State: "ENABLED",
        Targets: [{ Id: "Target0", Arn: { "Fn::GetAtt": [queueId, "Arn"] } }],
      })),
    );
  });

  it("have a queue that only these rules may send to", () => {
    expect(allowedInto(template, "JobsEventsQueue")).toEqual([
      {
        Action: "sqs:SendMessage",
        Effect: "Allow",
        Principal: { Service: "events.amazonaws.com" },
        Resource: { "Fn::GetAtt": [queueId, "Arn"] },
        Condition: { ArnEquals: { "aws:SourceArn": rules.map(([id]) => ({ "Fn::GetAtt": [id, "Arn"] })) } },
      },
    ]);
    expect(allowedInto(template, "JobsEventsDlq")).toEqual([]);
  });

  it("try an event for an hour, keep it for 10 days, and have a DLQ", () => {
    const [dlqId, dlq] = only(template, "AWS::SQS::Queue", "JobsEventsDlq");
    expect(dlq.Properties.QueueName).toBe("minutehand_events_dlq");
    expect(queue.Properties).toMatchObject({
      QueueName: "minutehand_events",
      MessageRetentionPeriod: 864_000,
      VisibilityTimeout: 60,
      RedrivePolicy: { deadLetterTargetArn: { "Fn::GetAtt": [dlqId, "Arn"] }, maxReceiveCount: 60 },
    });
    expect(queue.DeletionPolicy).toBe("RetainExceptOnCreate");
  });

  it("have a function that knows what each topic does about which event", () => {
    const { MINUTEHAND_EVENTS = "", ...others } = variablesOf(fn);
    expect(JSON.parse(MINUTEHAND_EVENTS)).toEqual(RULES);
    expect(others).toHaveProperty("MINUTEHAND_PROMOTIONS");
  });

  it("tell the other functions only whether new jobs of a topic must look for tombstones, also if events file them", () => {
    const [, tick] = only(template, "AWS::Lambda::Function", "JobsTick");
    expect(variablesOf(tick)).not.toHaveProperty("MINUTEHAND_EVENTS");
    expect(policyIn(variablesOf(tick).MINUTEHAND_POLICY ?? "").topics).toEqual({
      "order-timeout": { cancelledByEvents: true },
      reminders: { cancelledByEvents: true },
      work: { consumer: "pull" },
    });
  });

  it("apply ten batches of events at once, and report failures message by message", () => {
    expect(only(template, "AWS::Lambda::EventSourceMapping", "JobsEvents")[1].Properties).toMatchObject({
      BatchSize: 10,
      EventSourceArn: { "Fn::GetAtt": [queueId, "Arn"] },
      FunctionResponseTypes: ["ReportBatchItemFailures"],
      ScalingConfig: { MaximumConcurrency: 10 },
    });
  });

  it("have alarms for events that could not be applied, and for events that wait", () => {
    const alarms = resourcesOf(template, "AWS::CloudWatch::Alarm").filter(
      ([id, { Properties }]) => id.startsWith("JobsAlarmsEvents") && Properties.Namespace === "AWS/SQS",
    );
    const seen = alarms.map(([, { Properties }]) => {
      const { MetricName, Threshold, Dimensions } = Properties;
      return [MetricName, Threshold, JSON.stringify(Dimensions).includes("Dlq")];
    });
    expect(seen).toEqual([
      ["ApproximateNumberOfMessagesVisible", 1, true],
      ["ApproximateAgeOfOldestMessage", 900, false],
    ]);
  });

  it("have an alarm for each rule whose events EventBridge could not deliver", () => {
    expect(undelivered(template)).toMatchObject(
      rules.map(([id]) => ({
        MetricName: "FailedInvocations",
        Dimensions: [{ Name: "RuleName", Value: { Ref: id } }],
        Statistic: "Sum",
        Period: 300,
        Threshold: 1,
        EvaluationPeriods: 1,
        ComparisonOperator: "GreaterThanOrEqualToThreshold",
        TreatMissingData: "notBreaching",
      })),
    );
  });
});

it("topics without events have no rule, queue or function for events", () => {
  const template = JSON.stringify(templateOf(shopWith().stack));
  expect(template).not.toMatch(/_events|MINUTEHAND_EVENTS"|JobsEvents|cancelledByEvents/);
});

it("events have different rules even if source and detail-type give the same text when they are joined", () => {
  const cancelOn = [
    { source: "shop-till", detailType: "Paid", key: KEY },
    { source: "shop", detailType: "till-Paid", key: KEY },
  ];
  const template = templateOf(shopWith({ topics: { mail: { cancelOn } } }).stack);
  expect(
    resourcesOf(template, "AWS::Events::Rule").filter(([, rule]) => rule.Properties.EventPattern),
  ).toHaveLength(2);
});

it("events may come from another bus, and the alarms there have the rule's name, which is the end of its id", () => {
  const stack = new Stack(new App(), "Shop");
  const eventBus = new EventBus(stack, "Bus");
  new DelayQueue(stack, "Jobs", { topics: TOPICS, eventBus });
  const template = templateOf(stack);
  const [[bus] = [""]] = resourcesOf(template, "AWS::Events::EventBus");
  const rules = resourcesOf(template, "AWS::Events::Rule").filter(([, rule]) => rule.Properties.EventBusName);
  expect(rules.map(([, rule]) => rule.Properties.EventBusName)).toEqual([
    { Ref: bus },
    { Ref: bus },
    { Ref: bus },
  ]);
  expect(undelivered(template).map(({ Dimensions }) => Dimensions)).toEqual(
    rules.map(([id]) => [
      { Name: "EventBusName", Value: { Ref: bus } },
      { Name: "RuleName", Value: { "Fn::Select": [1, { "Fn::Split": ["|", { Ref: id }] }] } },
    ]),
  );
});

it("the default bus may be given by its name, and then rules and metrics do not have the name", () => {
  const stack = new Stack(new App(), "Shop");
  const eventBus = EventBus.fromEventBusName(stack, "Bus", "default");
  new DelayQueue(stack, "Jobs", { topics: TOPICS, eventBus });
  const template = templateOf(stack);
  const rules = resourcesOf(template, "AWS::Events::Rule").filter(([, rule]) => rule.Properties.EventPattern);
  expect(rules.map(([, rule]) => rule.Properties.EventBusName)).toEqual(rules.map(() => undefined));
  expect(undelivered(template).map(({ Dimensions }) => Dimensions)).toEqual(
    rules.map(([id]) => [{ Name: "RuleName", Value: { Ref: id } }]),
  );
});

describe("a customer's key", () => {
  it("may be used by EventBridge of this account, and the queue's policy lets only these rules send", () => {
    const app = new App();
    const stack = new Stack(app, "Shop");
    const encryptionKey = new Key(stack, "Key", { enableKeyRotation: true });
    const queue = new DelayQueue(stack, "Jobs", { topics: TOPICS, encryptionKey });
    const template = templateOf(stack);
    const [, key] = only(template, "AWS::KMS::Key", "Key");
    const { Statement } = key.Properties.KeyPolicy as { Statement: { Principal: { Service?: unknown } }[] };
    // The other statement for a service, CloudWatch Logs, has its own test.
    expect(Statement.filter(({ Principal }) => typeof Principal.Service === "string")).toEqual([
      {
        Action: ["kms:Decrypt", "kms:GenerateDataKey"],
        Effect: "Allow",
        Principal: { Service: "events.amazonaws.com" },
        Resource: "*",
        Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
      },
    ]);
    expect(allowedInto(template, "JobsEventsQueue")).toMatchObject([
      { Condition: { ArnEquals: { "aws:SourceArn": expect.any(Array) } } },
    ]);
    for (const name of ["JobsEventsQueue", "JobsEventsDlq"])
      expect(only(template, "AWS::SQS::Queue", name)[1].Properties).toHaveProperty("KmsMasterKeyId");
    expect(new AwsSolutionsChecks(app).validateScope(queue).violations).toEqual([]);
  });

  it("from another app must itself allow EventBridge, and synth warns of it", () => {
    const warned = (topics: DelayQueueProps["topics"]) => {
      const stack = new Stack(new App(), "Shop");
      const arn = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
      new DelayQueue(stack, "Jobs", { topics, encryptionKey: Key.fromKeyArn(stack, "Key", arn) });
      return Annotations.fromStack(stack).findWarning("*", Match.stringLikeRegexp("to events.amazonaws.com"));
    };
    expect(warned(TOPICS)).toHaveLength(1);
    expect(warned({ work: { consumer: "pull" } })).toEqual([]);
  });
});

it("rules may fill the 4 KB of the function's environment and no more", () => {
  const withRules = (count: number) => {
    const cancelOn = Array.from({ length: count }, (_, i) => ({ detailType: `Event-${i}`, key: KEY }));
    return shopWith({ topics: { mail: { cancelOn } } }).stack;
  };
  expect(() => Template.fromStack(withRules(20))).not.toThrow();
  expect(() => Template.fromStack(withRules(40))).toThrow(
    /Shop\/Jobs\/Events\/Applier\/Function has \d+ bytes, and Lambda allows 4096: \d+ are taken by the policies of 1 topics and 3\d{3} by their events/,
  );
});
