import { expect, test } from "vitest";
import type { NamedTemplate } from "../../../local/template/naming.ts";
import { readStack } from "../../../local/template/resources.ts";
import type { Json, JsonObject, Resource, Template } from "../../../local/template/template.ts";

const SITE = {
  account: "000000000000",
  region: "us-east-1",
  stackName: "Demo",
  sqsEndpoint: "http://127.0.0.1:1",
  apiUrl: "http://127.0.0.1:2",
};
const read = (
  Resources: Record<string, Resource>,
  more: Partial<Template> = {},
  others: NamedTemplate[] = [],
) =>
  readStack(
    {
      stackName: "Demo",
      template: { Resources, ...more },
      assets: new Map([["code.zip", "/code"]]),
      others,
      warnings: [],
    },
    SITE,
  );

const FUNCTION: Resource = {
  Type: "AWS::Lambda::Function",
  Properties: { Runtime: "nodejs24.x", Handler: "index.handler", Code: { S3Key: "code.zip" } },
};

const QUEUE: Resource = { Type: "AWS::SQS::Queue", Properties: { QueueName: "q" } };

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

test("a queue's attributes are those of SQS, as text", () => {
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

test("each event source has its own id, which is the same at each start", () => {
  const source = (enabled: boolean): Resource => ({
    Type: "AWS::Lambda::EventSourceMapping",
    Properties: {
      FunctionName: "Demo-F",
      EventSourceArn: { "Fn::GetAtt": ["Q", "Arn"] },
      Enabled: enabled,
      ScalingConfig: { MaximumConcurrency: 2 },
    },
  });
  const uuids = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  const sources = { On: source(true), Off: source(false), F: FUNCTION, Q: QUEUE };
  const { eventSources } = read(sources);
  expect(eventSources).toEqual(read(sources).eventSources);
  expect(new Set(eventSources.map(({ uuid }) => uuid)).size).toBe(2);
  expect(eventSources.map(({ enabled }) => enabled)).toEqual([true, false]);
  expect(eventSources.slice(0, 1)).toEqual([
    {
      uuid: uuids,
      enabled: true,
      functionArn: "arn:aws:lambda:us-east-1:000000000000:function:Demo-F",
      queueArn: "arn:aws:sqs:us-east-1:000000000000:q",
      batchSize: 10,
      maximumConcurrency: 2,
      reportsFailures: false,
    },
  ]);
});

test("an authorizer of the API is left out, and the line says that the local API takes every call", () => {
  const { leftOut, unknownTypes } = read({
    Login: { Type: "AWS::ApiGatewayV2::Authorizer", Properties: {} },
  });
  expect(unknownTypes).toEqual([]);
  expect(leftOut).toEqual([
    "Login: the local API asks no authorizer, and takes every call from this machine",
  ]);
});

test("an event source of an alias or a version leads to its function, of which the local stack has one version", () => {
  const source = (FunctionName: Json): Resource => ({
    Type: "AWS::Lambda::EventSourceMapping",
    Properties: { FunctionName, EventSourceArn: { "Fn::GetAtt": ["Q", "Arn"] } },
  });
  const name = { "Fn::Select": [6, { "Fn::Split": [":", { Ref: "Live" }] }] };
  const { eventSources, leftOut, unknownTypes } = read({
    F: FUNCTION,
    Q: QUEUE,
    V: { Type: "AWS::Lambda::Version", Properties: { FunctionName: { Ref: "F" } } },
    Live: {
      Type: "AWS::Lambda::Alias",
      Properties: {
        FunctionName: { Ref: "F" },
        FunctionVersion: { "Fn::GetAtt": ["V", "Version"] },
        Name: "live",
      },
    },
    OfAlias: source({ "Fn::Join": ["", [name, ":live"]] }),
    OfVersion: source({ "Fn::Join": ["", [{ Ref: "F" }, ":", { "Fn::GetAtt": ["V", "Version"] }]] }),
    OfArn: source({ Ref: "V" }),
  });
  const arn = "arn:aws:lambda:us-east-1:000000000000:function:Demo-F";
  expect(eventSources.map(({ functionArn }) => functionArn)).toEqual([arn, arn, arn]);
  expect({ leftOut, unknownTypes }).toEqual({ leftOut: [], unknownTypes: [] });
});

test("a rule with cron is left out, and named with its expression", () => {
  const rule = { Type: "AWS::Events::Rule", Properties: { ScheduleExpression: "cron(0 0 * * ? *)" } };
  const { rules, leftOut } = read({ R: rule });
  expect(rules).toEqual([]);
  expect(leftOut).toEqual([expect.stringMatching(/^R: .*cron\(0 0 \* \* \? \*\)/)]);
});

test("if a function is not played, whatever leads to it is left out too, and the rest is played", () => {
  const ruby = { ...FUNCTION, Properties: { ...FUNCTION.Properties, Runtime: "ruby3.4" } };
  const inline = { ...FUNCTION, Properties: { Runtime: "nodejs24.x", Code: { ZipFile: "" } } };
  const every = { ScheduleExpression: "rate(1 minute)" };
  const rule = (name: string): Resource => ({
    Type: "AWS::Events::Rule",
    Properties: { ...every, Targets: [{ Arn: { "Fn::GetAtt": [name, "Arn"] } }] },
  });
  const stream: Resource = {
    Type: "AWS::Lambda::EventSourceMapping",
    Properties: {
      FunctionName: { Ref: "F" },
      EventSourceArn: "arn:aws:kinesis:us-east-1:000000000000:stream/s",
    },
  };
  const { functions, rules, eventSources, leftOut } = read({
    F: FUNCTION,
    Ruby: ruby,
    Inline: inline,
    OfF: rule("F"),
    OfRuby: rule("Ruby"),
    stream,
  });
  expect(functions.map(({ logicalId }) => logicalId)).toEqual(["F"]);
  expect(rules.map(({ arn }) => arn)).toEqual(["arn:aws:events:us-east-1:000000000000:rule/Demo-OfF"]);
  expect(eventSources).toEqual([]);
  expect(leftOut).toEqual([
    "Ruby: the function's runtime is ruby3.4; the local stack runs only Node.js and Python",
    "Inline: the function's code is not among the app's assets",
    expect.stringContaining("stream/s, which is not played"),
    expect.stringMatching(/Demo-OfRuby: .*function:Demo-Ruby, which is not played/),
  ]);
});

const RULE: JsonObject = {
  EventPattern: { "detail-type": ["OrderPaid"] },
  Targets: [{ Id: "Target0", Arn: { "Fn::GetAtt": ["Q", "Arn"] } }],
};
const withRule = (properties: JsonObject) =>
  read({
    Q: QUEUE,
    Bus: { Type: "AWS::Events::EventBus", Properties: { Name: "shop" } },
    R: { Type: "AWS::Events::Rule", Properties: { ...RULE, ...properties } },
  });

test("a rule with a pattern sends events of the default bus, or of its own bus, to queues", () => {
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
    "has detail; the local stack supports only source, detail-type",
  ],
  [
    { EventPattern: { source: [{ prefix: "shop" }] } },
    'the source of rule arn:aws:events:us-east-1:000000000000:rule/Demo-R is [{"prefix":"shop"}]',
  ],
  [{ EventPattern: { source: [] } }, "supports only lists of exact values"],
  [{ Targets: [{ Arn: "arn:aws:lambda:us-east-1:000000000000:function:f" }] }, "sends events only to queues"],
  [
    { Targets: [{ Arn: "arn:aws:sqs:us-east-1:000000000000:q.fifo" }] },
    "is arn:aws:sqs:us-east-1:000000000000:q.fifo",
  ],
  [{ Targets: [{ Arn: "arn:aws:sqs:us-east-1:000000000000:q", InputPath: "$.detail" }] }, "has InputPath"],
])("a rule with %j is left out by name", (properties, message) => {
  const { eventRules, leftOut } = withRule(properties);
  expect(eventRules).toEqual([]);
  expect(leftOut).toEqual([expect.stringContaining(message)]);
});

test("a resource whose condition does not hold is left out", () => {
  const Conditions = { Never: { "Fn::Equals": ["a", "b"] } };
  expect(read({ F: { ...FUNCTION, Condition: "Never" } }, { Conditions }).functions).toEqual([]);
});

test("unknown types are named, but not types that have no local effect", () => {
  const { unknownTypes } = read({
    A: { Type: "AWS::IAM::Role" },
    B: { Type: "AWS::S3::Bucket" },
    C: { Type: "AWS::S3::Bucket" },
  });
  expect(unknownTypes).toEqual(["AWS::S3::Bucket"]);
});

test("functions get schedule groups, secrets and roles by AWS's names and ARNs", () => {
  const variables = {
    GROUP: { Ref: "Group" },
    SECRET: { Ref: "Secret" },
    ROLE: { "Fn::GetAtt": ["Role", "Arn"] },
    SOURCE: { Ref: "Source" },
  };
  const stack = read({
    F: {
      ...FUNCTION,
      Properties: { ...FUNCTION.Properties, Environment: { Variables: variables } },
    },
    Group: { Type: "AWS::Scheduler::ScheduleGroup", Properties: { Name: "jobs" } },
    Secret: { Type: "AWS::SecretsManager::Secret", Properties: { GenerateSecretString: {} } },
    Role: { Type: "AWS::IAM::Role" },
    Q: QUEUE,
    Source: {
      Type: "AWS::Lambda::EventSourceMapping",
      Properties: { FunctionName: "Demo-F", EventSourceArn: { "Fn::GetAtt": ["Q", "Arn"] } },
    },
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

/** A delay queue of one topic, as the construct has it. */
const DELAY_QUEUE: Record<string, Resource> = {
  Table: { Type: "AWS::DynamoDB::Table", Properties: { TableName: "jobs" } },
  Ready: { Type: "AWS::SQS::Queue", Properties: { QueueName: "shop-mail" } },
  Tick: {
    ...FUNCTION,
    Properties: {
      ...FUNCTION.Properties,
      Environment: {
        Variables: {
          MINUTEHAND_TABLE: { Ref: "Table" },
          MINUTEHAND_QUEUE_URL_PREFIX: "https://sqs.us-east-1.amazonaws.com/000000000000/shop-",
          MINUTEHAND_POLICY: '{"topics":{"mail":{}}}',
        },
      },
    },
  },
};
const OUTPUTS = { Outputs: { TableName: { Description: "Minutehand table", Value: { Ref: "Table" } } } };
const withProperties = (id: string, properties: JsonObject) => ({
  ...DELAY_QUEUE,
  [id]: { ...DELAY_QUEUE[id], Properties: { ...DELAY_QUEUE[id]?.Properties, ...properties } } as Resource,
});

test("a property that is not played may use an unsupported intrinsic function", () => {
  const resources = {
    ...withProperties("Table", { SSESpecification: { KMSMasterKeyId: { "Fn::Base64": "x" } } }),
    ...withProperties("Tick", { VpcConfig: { SubnetIds: { "Fn::GetAZs": "" } } }),
  };
  const { tables, functions, leftOut } = read(resources, OUTPUTS);
  expect([tables.map(({ name }) => name), functions.length, leftOut]).toEqual([["jobs"], 1, []]);
});

test("an import has the value of another stack's export; without such an export it has the export's name", () => {
  const bus: NamedTemplate = {
    stackName: "Events",
    template: {
      Resources: { Bus: { Type: "AWS::Events::EventBus" } },
      Outputs: {
        Bus: { Value: { Ref: "Bus" }, Export: { Name: { "Fn::Sub": `\${AWS::StackName}:Bus` } } },
      },
    },
  };
  const rule: Resource = {
    Type: "AWS::Events::Rule",
    Properties: { ...RULE, EventBusName: { "Fn::ImportValue": "Events:Bus" } },
  };
  const environment = { Variables: { TABLE: { "Fn::ImportValue": "Elsewhere:Table" } } };
  const calling = { ...FUNCTION, Properties: { ...FUNCTION.Properties, Environment: environment } };
  const { eventRules, functions } = read({ Q: QUEUE, R: rule, F: calling }, {}, [bus]);
  expect(eventRules).toMatchObject([{ bus: "Events-Bus" }]);
  expect(functions[0]?.environment).toEqual({ TABLE: "Elsewhere:Table" });
});

test.each<[string, JsonObject, string]>([
  ["Table", { KeySchema: { "Fn::Base64": "x" } }, "jobs: Table: the template uses Fn::Base64"],
  ["Ready", { VisibilityTimeout: { "Fn::Base64": "x" } }, "shop-mail: Ready: the template uses Fn::Base64"],
])("a delay queue whose %s cannot be played does not start", (id, properties, message) => {
  expect(() => read(withProperties(id, properties), OUTPUTS)).toThrow(
    `the delay queue cannot run without ${message}`,
  );
  // Without a delay queue the same resource is only left out.
  expect(read(withProperties(id, properties)).leftOut).toHaveLength(1);
});

test("of several HTTP APIs only the delay queue's is played, and each other one is reported with its routes as left out", () => {
  const integration: Resource = {
    Type: "AWS::ApiGatewayV2::Integration",
    Properties: { IntegrationUri: { "Fn::GetAtt": ["F", "Arn"] }, PayloadFormatVersion: "2.0" },
  };
  const route = (api: string, key: string): Resource => ({
    Type: "AWS::ApiGatewayV2::Route",
    Properties: { ApiId: { Ref: api }, RouteKey: key, Target: "integrations/Integration" },
  });
  const resources: Record<string, Resource> = {
    F: FUNCTION,
    Integration: integration,
    Shop: { Type: "AWS::ApiGatewayV2::Api" },
    Jobs: { Type: "AWS::ApiGatewayV2::Api" },
    Orders: route("Shop", "GET /orders"),
    Health: route("Jobs", "GET /health"),
  };
  const Outputs = {
    Url: { Description: "Minutehand API", Value: { "Fn::GetAtt": ["Jobs", "ApiEndpoint"] } },
  };
  const { routes, leftOut } = read(resources, { Outputs });
  expect(routes.map(({ key }) => key)).toEqual(["GET /health"]);
  expect(leftOut).toEqual([
    "the API Shop with GET /orders: the local stack has one address, so it plays only the API Jobs",
  ]);
  expect(read(resources).routes.map(({ key }) => key)).toEqual(["GET /orders"]);
});
