import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { configFaults, type PlainConfig } from "../../../infra/plain/config.ts";
import { plainTemplate } from "../../../infra/plain/template.ts";
import { ROOT } from "../../deploy/environment.ts";

type Template = {
  Parameters?: Record<string, { Type: string }>;
  Resources: Record<string, { Type: string; Properties: Record<string, unknown>; Metadata?: unknown }>;
  Outputs: Record<string, { Description: string; Value: unknown }>;
};

const ALARM_TOPIC = "arn:aws:sns:eu-west-1:123456789012:on-call";
const FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:mail";
const PULL: PlainConfig = { topics: { work: { consumer: "pull" } }, alarmTopic: ALARM_TOPIC };

function made(config: PlainConfig) {
  const { files, ...others } = plainTemplate(config, ROOT);
  const text = Buffer.from(files.get("template.json") ?? []).toString();
  return { files, text, template: JSON.parse(text) as Template, ...others };
}
const codesOf = ({ Resources }: Template): unknown[] =>
  Object.values(Resources).flatMap(({ Type, Properties }) =>
    Type === "AWS::Lambda::Function" ? [Properties.Code] : [],
  );

describe("a template", () => {
  const { files, text, template, parameters, warnings } = made(PULL);

  test("has the code of each function in a folder beside it", () => {
    const names = ["tick", "promote", "api", "receive", "occurrence"];
    expect(codesOf(template)).toEqual(names.map((name) => `./functions/${name}`));
    for (const name of names) expect(files.has(`functions/${name}/index.mjs`)).toBe(true);
  });

  test("has nothing of the CDK: no metadata, no parameter or rule for its bucket, no custom resource, no local path", () => {
    expect(Object.keys(template).sort()).toEqual(["Description", "Outputs", "Resources"]);
    expect(text).not.toMatch(/cdk|Custom::/i);
    expect(text).not.toContain(ROOT);
    expect(Object.values(template.Resources).filter(({ Metadata }) => Metadata !== undefined)).toEqual([]);
  });

  test("needs no capability for named roles, no parameter, and warns of nothing", () => {
    expect(text).not.toMatch(/"(RoleName|ManagedPolicyName)"/);
    expect({ parameters, warnings }).toEqual({ parameters: [], warnings: [] });
  });

  test("names its outputs without a hash", () => {
    expect(Object.entries(template.Outputs).map(([name, { Description }]) => [name, Description])).toEqual([
      ["ApiUrl", "Minutehand API"],
      ["TableName", "Minutehand table"],
      ["ApiArn", "What a policy names to allow execute-api:Invoke for all calls of the API"],
    ]);
  });

  test("has the same bytes each time", () => {
    expect(made(PULL).files).toEqual(files);
  });
});

test("parameters take the place of ARNs and names, and may be shared", () => {
  const alarmTopic = { parameter: "AlarmTopicArn" };
  const arn = { parameter: "ThumbnailArn" };
  const config: PlainConfig = {
    alarmTopic,
    eventBus: { parameter: "Bus" },
    table: { parameter: "Table" },
    topics: {
      thumbnail: { cancelOn: { detailType: "Deleted", key: "$.detail.id" } },
      large: {},
      calls: { webhook: {} },
    },
    targets: { thumbnail: { arn, timeout: "1m" }, large: { arn, timeout: 120 } },
  };
  const { template, parameters } = made(config);
  expect([...parameters].sort()).toEqual(["AlarmTopicArn", "Bus", "Table", "ThumbnailArn"]);
  expect(Object.values(template.Parameters ?? {})).toEqual(parameters.map(() => ({ Type: "String" })));
  const texts = Object.values(template.Resources).map((resource) => JSON.stringify(resource));
  for (const name of parameters) expect(texts.some((text) => text.includes(`{"Ref":"${name}"}`))).toBe(true);
  // One target for two topics: both callers have the same code.
  expect(codesOf(template).filter((code) => code === "./functions/target")).toHaveLength(2);
  expect(template.Outputs.CallsSecretArn?.Description).toBe("The secret of webhook topic calls");
});

test("each output has a name of letters and digits, which it shares with no other", () => {
  const webhook = {};
  const { template } = made({
    ...PULL,
    topics: { "a--b": { webhook }, "a-1": { webhook }, a1: { webhook } },
  });
  const names = Object.entries(template.Outputs).flatMap(([name, { Description }]) =>
    Description.startsWith("The secret of webhook topic") ? [[Description.split(" ").at(-1), name]] : [],
  );
  expect(Object.fromEntries(names)).toEqual({
    "a--b": "ABSecretArn",
    "a-1": expect.stringMatching(/^OutputsSecreta1[0-9A-F]{8}$/),
    a1: expect.stringMatching(/^OutputsSecreta1[0-9A-F]{8}$/),
  });
});

test("code that only this machine runs is no part of the template", () => {
  const target = { arn: FUNCTION, timeout: "1m" } as const;
  const config: PlainConfig = { topics: { mail: {} }, targets: { mail: target } };
  const targets = { mail: { ...target, localHandler: "nowhere/mail.handler" } };
  expect(made({ ...config, targets }).text).toBe(made(config).text);
});

test("functions may use the key of a table that was restored", () => {
  const encryptionKey = "arn:aws:kms:eu-west-1:123456789012:key/1ab";
  const { template, warnings } = made({ ...PULL, table: "shop-restored", encryptionKey });
  expect(warnings).toEqual([expect.stringContaining("the logs stay under CloudWatch's own key")]);
  const policies = Object.values(template.Resources).filter(({ Type }) => Type === "AWS::IAM::Policy");
  const ofTable = policies
    .map((policy) => JSON.stringify(policy))
    .filter((text) => text.includes("shop-restored"));
  expect(ofTable.length).toBeGreaterThan(3);
  // The rights to the key of the queues do not contain this one.
  for (const text of ofTable) expect(text).toContain("kms:DescribeKey");
});

test("a handler is bundled into a folder of its own", () => {
  const handlers = { "order-timeout": join("examples", "order-timeout", "close-order.ts") };
  const { files, template } = made({ ...PULL, topics: { "order-timeout": {} }, handlers });
  expect(codesOf(template)).toContain("./functions/handler-order-timeout");
  expect(files.has("functions/handler-order-timeout/index.cjs")).toBe(true);
});

test("the name of the stack is in the descriptions of the alarms", () => {
  expect(made({ ...PULL, stackName: "Shop" }).text).toContain("minutehand topics --stack Shop");
});

test("the construct's own checks and warnings are those of the CDK", () => {
  const wrong = { topics: { work: { consumer: "pull", concurrency: 3 } } } satisfies PlainConfig;
  expect(() => made(wrong)).toThrow(/topics\.work\.concurrency is allowed for/);
  expect(() => made({ ...PULL, targets: { none: { arn: ALARM_TOPIC, timeout: 1 } } })).toThrow(/"none"/);
  expect(made({ topics: { mail: {} } }).warnings).toEqual([
    "the alarms notify nobody: give an SNS topic as alarmTopic",
    expect.stringContaining(
      'topic "mail" has no consumer: give the topic an entry in "handlers" or "targets"',
    ),
  ]);
});

test.each([
  [[], "it must be a JSON object with topics"],
  [{ topics: {}, topic: {} }, 'the file has an unknown property "topic" (did you mean "topics"?)'],
  [{ topics: { a: null } }, "topics.a must be an object, is null; allowed: { … }"],
  [{ topics: [] }, "topics must be an object, is []; allowed: { … }"],
  [{ topics: {}, api: { authorizer: {} } }, 'api has an unknown property "authorizer"; allowed are auth'],
  [{ topics: {}, topicsFile: "x" }, 'the file has an unknown property "topicsFile"'],
  [
    { topics: {}, targets: { a: { arn: 1, timeout: "1m" } } },
    "targets.a.arn must be text, or name a parameter",
  ],
  [
    { topics: {}, targets: { a: { arn: FUNCTION, timeout: "1m", localHandler: 1 } } },
    "targets.a.localHandler must name a file",
  ],
  [{ topics: {}, targets: { a: { lambda: "x" } } }, 'targets.a has an unknown property "lambda"'],
  [{ topics: {}, alarmTopic: { parameter: "a-b" } }, "alarmTopic must be text, or name a parameter"],
  [{ topics: {}, handlers: { a: {} } }, "handlers.a must be the path of a file, is {}; allowed: text"],
  [{ topics: {}, stackName: "a b" }, 'stackName must be the name of a stack, is "a b"'],
  [{ topics: {}, table: "a b" }, 'table must be the name of a DynamoDB table, is "a b"; allowed: 3 to 255'],
  [{ topics: {}, table: "" }, 'table must be the name of a DynamoDB table, is ""'],
  [{ topics: {}, eventBus: "arn:x" }, 'eventBus must be the name of an event bus, is "arn:x"; allowed: 1 to'],
  [{ topics: {}, alarmTopic: "arn:aws:sns:eu-west-1:1:a" }, "alarmTopic must be the ARN of an SNS topic, is"],
  [
    { topics: {}, encryptionKey: "arn:aws:kms:eu-west-1:123456789012:alias/a" },
    "encryptionKey must be the ARN of",
  ],
  [
    { topics: {}, targets: { a: { arn: `${FUNCTION} 2`, timeout: 1 } } },
    "targets.a.arn must be the ARN of a Lambda function, is",
  ],
])("the file %j is refused: %s", (config, fault) => {
  expect(configFaults(config)).toEqual([expect.stringContaining(fault)]);
});

test("a file with everything that it may have is not refused", () => {
  expect(configFaults({ ...PULL, $schema: "x", targets: {}, handlers: {}, table: "tab" })).toEqual([]);
});
