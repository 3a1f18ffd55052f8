import { expect, test } from "vitest";
import { readStack } from "../../local/resources.ts";
import type { JsonObject, Resource } from "../../local/template.ts";

const SITE = {
  account: "000000000000",
  region: "us-east-1",
  stackName: "Demo",
  sqsEndpoint: "http://127.0.0.1:1",
  apiUrl: "http://127.0.0.1:2",
};
const read = (resources: Record<string, Resource>) =>
  readStack(
    { stackName: "Demo", template: { Resources: resources }, assets: new Map([["code.zip", "/code"]]) },
    SITE,
  );

const FUNCTION: Resource = {
  Type: "AWS::Lambda::Function",
  Properties: { Handler: "index.handler", Code: { S3Key: "code.zip" } },
};

test("a function without settings has Lambda's defaults and a name of its own", () => {
  expect(read({ F: FUNCTION }).functions).toMatchObject([
    {
      name: "Demo-F",
      arn: "arn:aws:lambda:us-east-1:000000000000:function:Demo-F",
      timeoutMs: 3000,
      memoryMb: 128,
    },
  ]);
});

test("a queue's attributes are SQS's own, as text", () => {
  const { queues } = read({
    Q: {
      Type: "AWS::SQS::Queue",
      Properties: {
        QueueName: "q",
        VisibilityTimeout: 90,
        RedrivePolicy: { maxReceiveCount: 20 },
        SqsManagedSseEnabled: true,
      },
    },
  });
  expect(queues).toEqual([
    {
      name: "q",
      url: "http://127.0.0.1:1/000000000000/q",
      arn: "arn:aws:sqs:us-east-1:000000000000:q",
      attributes: { VisibilityTimeout: "90", RedrivePolicy: '{"maxReceiveCount":20}' },
    },
  ]);
});

test("an event source has an id of its own, the same at each start", () => {
  const source = (enabled: boolean): Resource => ({
    Type: "AWS::Lambda::EventSourceMapping",
    Properties: {
      FunctionName: "Demo-F",
      EventSourceArn: "arn",
      Enabled: enabled,
      ScalingConfig: { MaximumConcurrency: 2 },
    },
  });
  const uuids = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  const { eventSources } = read({ On: source(true), Off: source(false) });
  expect(eventSources).toEqual(read({ On: source(true), Off: source(false) }).eventSources);
  expect(new Set(eventSources.map(({ uuid }) => uuid)).size).toBe(2);
  expect(eventSources.map(({ enabled }) => enabled)).toEqual([true, false]);
  expect(eventSources.slice(0, 1)).toEqual([
    {
      uuid: uuids,
      enabled: true,
      functionArn: "arn:aws:lambda:us-east-1:000000000000:function:Demo-F",
      queueArn: "arn",
      batchSize: 10,
      maximumConcurrency: 2,
      reportsFailures: false,
    },
  ]);
});

test("a rule by cron is refused by its expression", () => {
  const rule = { Type: "AWS::Events::Rule", Properties: { ScheduleExpression: "cron(0 0 * * ? *)" } };
  expect(() => read({ R: rule })).toThrow(/cron\(0 0 \* \* \? \*\)/);
});

const RULE: JsonObject = {
  EventPattern: { "detail-type": ["OrderPaid"] },
  Targets: [{ Id: "Target0", Arn: { "Fn::GetAtt": ["Q", "Arn"] } }],
};
const withRule = (properties: JsonObject) =>
  read({
    Q: { Type: "AWS::SQS::Queue", Properties: { QueueName: "q" } },
    Bus: { Type: "AWS::Events::EventBus", Properties: { Name: "shop" } },
    R: { Type: "AWS::Events::Rule", Properties: { ...RULE, ...properties } },
  });

test("a rule with a pattern brings events of the default bus, or of its own, to queues", () => {
  const { rules, eventRules, eventBuses } = withRule({});
  expect([rules, eventBuses]).toEqual([[], ["shop"]]);
  expect(eventRules).toEqual([
    {
      arn: "arn:aws:events:us-east-1:000000000000:rule/Demo-R",
      bus: "default",
      sources: undefined,
      detailTypes: ["OrderPaid"],
      queueArns: ["arn:aws:sqs:us-east-1:000000000000:q"],
    },
  ]);
  const EventPattern = { source: ["shop", "till"] };
  for (const EventBusName of [{ Ref: "Bus" }, { "Fn::GetAtt": ["Bus", "Arn"] }] satisfies JsonObject[])
    expect(withRule({ EventBusName, EventPattern }).eventRules).toMatchObject([
      { bus: "shop", sources: ["shop", "till"], detailTypes: undefined },
    ]);
  expect(withRule({ State: "DISABLED" }).eventRules).toEqual([]);
});

test.each<[JsonObject, string]>([
  [
    { EventPattern: { detail: { total: [17] } } },
    "has detail; the local stack knows source, detail-type only",
  ],
  [
    { EventPattern: { source: [{ prefix: "shop" }] } },
    'the source of rule arn:aws:events:us-east-1:000000000000:rule/Demo-R is [{"prefix":"shop"}]',
  ],
  [{ EventPattern: { source: [] } }, "knows lists of exact values only"],
  [
    { Targets: [{ Arn: "arn:aws:lambda:us-east-1:000000000000:function:f" }] },
    "brings events to queues only",
  ],
  [
    { Targets: [{ Arn: "arn:aws:sqs:us-east-1:000000000000:q.fifo" }] },
    "is arn:aws:sqs:us-east-1:000000000000:q.fifo",
  ],
  [{ Targets: [{ Arn: "arn:aws:sqs:us-east-1:000000000000:q", InputPath: "$.detail" }] }, "has InputPath"],
])("a rule with %j is refused by name", (properties, message) => {
  expect(() => withRule(properties)).toThrow(message);
});

test("a resource whose condition does not hold is left out", () => {
  const template = {
    Conditions: { Never: { "Fn::Equals": ["a", "b"] } },
    Resources: { F: { ...FUNCTION, Condition: "Never" } },
  };
  expect(readStack({ stackName: "Demo", template, assets: new Map() }, SITE).functions).toEqual([]);
});

test("unknown types are named, known ones without effect are not", () => {
  const { unknownTypes } = read({
    A: { Type: "AWS::IAM::Role" },
    B: { Type: "AWS::S3::Bucket" },
    C: { Type: "AWS::S3::Bucket" },
  });
  expect(unknownTypes).toEqual(["AWS::S3::Bucket"]);
});

test("functions find schedule groups, secrets and roles by what AWS calls them", () => {
  const variables = {
    GROUP: { Ref: "Group" },
    SECRET: { Ref: "Secret" },
    ROLE: { "Fn::GetAtt": ["Role", "Arn"] },
    SOURCE: { Ref: "Source" },
  };
  const stack = read({
    F: { ...FUNCTION, Properties: { ...FUNCTION.Properties, Environment: { Variables: variables } } },
    Group: { Type: "AWS::Scheduler::ScheduleGroup", Properties: { Name: "jobs" } },
    Secret: { Type: "AWS::SecretsManager::Secret", Properties: { GenerateSecretString: {} } },
    Role: { Type: "AWS::IAM::Role" },
    Source: { Type: "AWS::Lambda::EventSourceMapping", Properties: { FunctionName: "Demo-F" } },
  });
  expect(stack.functions[0]?.environment).toEqual({
    GROUP: "jobs",
    SECRET: "arn:aws:secretsmanager:us-east-1:000000000000:secret:Demo-Secret",
    ROLE: "arn:aws:iam::000000000000:role/Role",
    SOURCE: stack.eventSources[0]?.uuid,
  });
  expect(stack.scheduleGroups).toEqual(["jobs"]);
  expect(stack.secrets).toMatchObject([{ name: "Demo-Secret" }]);
});
