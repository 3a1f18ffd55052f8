import { Stack } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Alias, type IVersion, Function as LambdaFunction, Version } from "aws-cdk-lib/aws-lambda";
import { describe, expect, it } from "vitest";
import { resourcesOf, type StackTemplate } from "./resources.ts";
import { shopWith, someFunction, templateOf } from "./shop-stack.ts";

const MAIL = { topics: { mail: {}, work: { consumer: "pull" } } } as const;

function shop() {
  const { stack, queue } = shopWith(MAIL);
  return { stack, queue, fn: someFunction(stack, "Mail") };
}

function onlyOf(template: StackTemplate, type: string, prefix = ""): [string, Record<string, unknown>] {
  const found = resourcesOf(template, type).filter(([id]) => id.startsWith(prefix));
  expect(found).toHaveLength(1);
  const [[id, { Properties }] = ["", { Properties: {} }]] = found;
  return [id, Properties];
}

describe("a consumer that is an alias", () => {
  it("gets the event source, and its function the environment, the rights and the visibility timeout", () => {
    const { stack, queue, fn } = shop();
    const alias = fn.addAlias("live", { provisionedConcurrentExecutions: 2 });
    queue.addConsumer("mail", alias);
    const template = templateOf(stack);
    const [aliasId] = onlyOf(template, "AWS::Lambda::Alias");
    const [mapping, source] = onlyOf(template, "AWS::Lambda::EventSourceMapping");
    expect(source.FunctionName).toEqual({
      "Fn::Join": ["", [{ "Fn::Select": [6, { "Fn::Split": [":", { Ref: aliasId }] }] }, ":live"]],
    });
    const [functionId, { Environment }] = onlyOf(template, "AWS::Lambda::Function", "Mail");
    expect(Environment).toMatchObject({ Variables: { MINUTEHAND_POLICY: expect.any(String) } });
    const [, policy] = onlyOf(template, "AWS::IAM::Policy", "Mail");
    expect(JSON.stringify(policy)).toContain("sqs:ReceiveMessage");
    Template.fromStack(stack).hasResourceProperties("AWS::SQS::Queue", {
      QueueName: "minutehand-mail",
      VisibilityTimeout: 70,
    });
    // A function that becomes the consumer in place of its alias changes the mapping, and replaces nothing.
    const plain = shop();
    plain.queue.addConsumer("mail", plain.fn);
    expect(onlyOf(templateOf(plain.stack), "AWS::Lambda::EventSourceMapping")[0]).toBe(mapping);

    const arn = { "Fn::GetAtt": [functionId, "Arn"] };
    Template.fromStack(stack).hasResourceProperties("AWS::IAM::ManagedPolicy", {
      PolicyDocument: {
        Statement: [
          Match.objectLike({
            Action: "lambda:UpdateEventSourceMapping",
            Condition: {
              ArnEqualsIfExists: { "lambda:FunctionArn": [arn, { "Fn::Join": ["", [arn, ":*"]] }] },
            },
          }),
        ],
      },
    });
  });

  it("is published anew if the policy of the queue changes", () => {
    const published = (maxAttempts: number) => {
      const { stack, queue } = shopWith({ topics: { mail: { maxAttempts } } });
      queue.addConsumer("mail", someFunction(stack, "Mail").addAlias("live"));
      return onlyOf(templateOf(stack), "AWS::Lambda::Version")[0];
    };
    expect(published(2)).not.toBe(published(3));
    expect(published(2)).toBe(published(2));
  });
});

it("a consumer may be its function's current version", () => {
  const { stack, queue, fn } = shop();
  queue.addConsumer("mail", fn.currentVersion);
  const template = templateOf(stack);
  const [version] = onlyOf(template, "AWS::Lambda::Version");
  const [, { FunctionName }] = onlyOf(template, "AWS::Lambda::EventSourceMapping");
  expect(JSON.stringify(FunctionName)).toContain(`["${version}","Version"]`);
});

it("a producer or a worker that is an alias gets the environment of its function", () => {
  for (const grant of ["grantEnqueue", "grantPull"] as const) {
    const { stack, queue, fn } = shop();
    const alias = fn.addAlias("live");
    if (grant === "grantPull") queue.grantPull("work", alias);
    else queue.grantEnqueue(alias);
    const [, { Environment }] = onlyOf(templateOf(stack), "AWS::Lambda::Function", "Mail");
    expect(Environment).toMatchObject({ Variables: { MINUTEHAND_TABLE: expect.anything() } });
  }
});

describe("warns, and grants the role, if the queue cannot set the environment of", () => {
  const variables =
    "or set these variables of `queue.environment` yourself: MINUTEHAND_TABLE, MINUTEHAND_QUEUE_URL_PREFIX, MINUTEHAND_POLICY, " +
    "MINUTEHAND_PROMOTIONS";

  it("an alias of a fixed version", () => {
    for (const grant of ["grantEnqueue", "grantPull"] as const) {
      const { stack, queue, fn } = shop();
      const version = new Version(stack, "First", { lambda: fn });
      const alias = new Alias(stack, "Live", { aliasName: "live", version: version as IVersion });
      if (grant === "grantPull") queue.grantPull("work", alias);
      else queue.grantEnqueue(alias);
      const template = templateOf(stack);
      expect(JSON.stringify(onlyOf(template, "AWS::IAM::Policy", "Mail"))).toContain("dynamodb:PutItem");
      expect(onlyOf(template, "AWS::Lambda::Function", "Mail")[1].Environment).toBeUndefined();
      const warning = `Shop/First keeps the environment that it was first published with: .*; ${variables}`;
      Annotations.fromStack(stack).hasWarning("/Shop/Jobs", Match.stringLikeRegexp(warning));
    }
  });

  it("an imported function, version or alias", () => {
    const { stack, queue } = shop();
    const arn = "arn:aws:lambda:eu-west-1:123456789012:function:mail";
    const role = new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    const version = Version.fromVersionArn(stack, "Version", `${arn}:3`);
    const imported = LambdaFunction.fromFunctionAttributes(stack, "Function", { functionArn: arn, role });
    const alias = new Alias(stack, "Live", { aliasName: "live", version });
    for (const grantee of [version, imported, alias]) {
      queue.grantEnqueue(grantee);
      const warning = `${grantee.node.path} is imported, so .*; ${variables}`;
      Annotations.fromStack(stack).hasWarning("/Shop/Jobs", Match.stringLikeRegexp(warning));
    }
    expect(JSON.stringify(onlyOf(templateOf(stack), "AWS::IAM::Policy", "Role"))).toContain(
      "dynamodb:PutItem",
    );
  });
});

it("36 aliases fit into the policies that let functions stop their polling", () => {
  const names = Array.from({ length: 36 }, (_, i) => `topic-${i}`);
  const { stack, queue } = shopWith({ topics: Object.fromEntries(names.map((name) => [name, {}])) });
  for (const name of names) queue.addConsumer(name, someFunction(stack, name).addAlias("live"));
  const policies = resourcesOf(templateOf(stack), "AWS::IAM::ManagedPolicy").flatMap(
    ([, { Properties }]) =>
      (Properties.PolicyDocument as { Statement: { Action: unknown; Resource: unknown }[] }).Statement,
  );
  const polling = policies.filter(({ Action }) => Action === "lambda:UpdateEventSourceMapping");
  expect(polling.map(({ Resource }) => [Resource].flat().length)).toEqual([16, 16, 4]);
});

describe("refuses", () => {
  it("what is imported, because its environment cannot be set", () => {
    const { stack, queue } = shop();
    const arn = "arn:aws:lambda:eu-west-1:123456789012:function:mail:3";
    const version = Version.fromVersionArn(stack, "Imported", arn);
    const refusal =
      "is imported, so the queue cannot set its environment: give a Function of this app, its currentVersion, or an alias of its " +
      "currentVersion";
    expect(() => queue.addConsumer("mail", version as Version)).toThrow(
      `DelayQueue Shop/Jobs: Shop/Imported ${refusal}`,
    );
    const alias = new Alias(stack, "Live", { aliasName: "live", version });
    expect(() => queue.addConsumer("mail", alias)).toThrow(`Shop/Live ${refusal}`);
    const imported = LambdaFunction.fromFunctionName(stack, "Name", "mail");
    expect(() => queue.addConsumer("mail", imported as LambdaFunction)).toThrow(`Shop/Name ${refusal}`);
  });

  it("a version that does not follow the environment of its function", () => {
    const { stack, queue, fn } = shop();
    const version = new Version(stack, "First", { lambda: fn });
    expect(() => queue.addConsumer("mail", version)).toThrow(
      "DelayQueue Shop/Jobs: Shop/First keeps the environment that it was first published with: give the currentVersion of Shop/Mail, " +
        "or an alias of it",
    );
  });

  it("the latest version, because it is the function itself", () => {
    const { queue, fn } = shop();
    expect(() => queue.addConsumer("mail", fn.latestVersion as Version)).toThrow(
      "DelayQueue Shop/Jobs: Shop/Mail/$LATEST is not a published version: give Shop/Mail, its currentVersion, or an alias of its " +
        "currentVersion",
    );
  });
});

it("an alias in another stack is a consumer there", () => {
  const { stack, queue } = shop();
  const other = new Stack(stack.node.root as never, "Other");
  queue.addConsumer("mail", someFunction(other, "Mail").addAlias("live"));
  Template.fromStack(other).resourceCountIs("AWS::Lambda::EventSourceMapping", 1);
});
