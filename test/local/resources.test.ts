import { expect, test } from "vitest";
import { readStack } from "../../local/resources.ts";
import type { Resource } from "../../local/template.ts";

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
