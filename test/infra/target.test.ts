import { App, Duration, Fn, Stack } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { Topic } from "aws-cdk-lib/aws-sns";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { TopicProps } from "../../infra/props.ts";
import { type Resource, resourcesOf, type StackTemplate } from "./resources.ts";
import { shopWith, someFunction, templateOf } from "./shop-stack.ts";

function only(template: StackTemplate, type: string, name: string): Resource {
  const found = resourcesOf(template, type).filter(([id]) => id.startsWith(name));
  expect(found).toHaveLength(1);
  return (found[0] as [string, Resource])[1];
}

function python(stack: Stack, timeout?: Duration): LambdaFunction {
  return new LambdaFunction(stack, "Thumbnail", {
    code: Code.fromInline("def handler(job, context): return None"),
    handler: "index.handler",
    runtime: Runtime.PYTHON_3_13,
    ...(timeout && { timeout }),
  });
}

/** A stack whose topic `thumbnail` has a target. */
function withTarget({ timeout, topic = {} }: { timeout?: Duration; topic?: TopicProps } = {}) {
  const { stack, queue } = shopWith({ topics: { thumbnail: topic, orders: {} } });
  const fn = python(stack, timeout);
  queue.addTarget("thumbnail", fn);
  return { stack, queue, fn, template: templateOf(stack) };
}

const CALLER = "ThumbnailTargetthumbnail";
const statementsOf = (template: StackTemplate) =>
  (
    only(template, "AWS::IAM::Policy", CALLER).Properties.PolicyDocument as {
      Statement: { Action: string | string[]; Resource: unknown }[];
    }
  ).Statement;
const invokes = (template: StackTemplate) =>
  statementsOf(template)
    .filter(({ Action }) => String(Action).includes("lambda:"))
    .map(({ Action, Resource: resource }) => [Action, resource]);

describe("a topic with a target", () => {
  const { stack, fn, template } = withTarget({ timeout: Duration.seconds(30) });
  const caller = only(template, "AWS::Lambda::Function", CALLER);
  const targetArn = stack.resolve(fn.functionArn);

  it("has a function that knows its target and the target's timeout", () => {
    const { Variables } = caller.Properties.Environment as { Variables: Record<string, unknown> };
    expect(Variables).toMatchObject({ MINUTEHAND_TARGET: targetArn, MINUTEHAND_TARGET_TIMEOUT: "30" });
  });

  it("has a function that may invoke its target and nothing else, and uses only the queues of its topic and the job pool", () => {
    expect(invokes(template)).toEqual([["lambda:InvokeFunction", targetArn]]);
    const reached = [
      ...JSON.stringify(statementsOf(template)).matchAll(/"Fn::GetAtt":\["(\w+?)[0-9A-F]{8}"/g),
    ].map(([, id]) => id);
    expect([...new Set(reached)].sort()).toEqual([
      ...["JobsPoolTable", "JobsTopicthumbnailDlq", "JobsTopicthumbnailReady", "Thumbnail"],
      `${CALLER}CallerLog`,
    ]);
  });

  it("leaves the target as it is: no environment, no permission, no event source", () => {
    const target = resourcesOf(template, "AWS::Lambda::Function").find(
      ([id]) => id === targetArn["Fn::GetAtt"][0],
    );
    expect(target?.[1].Properties.Environment).toBeUndefined();
    const role = JSON.stringify(stack.resolve(fn.role?.roleName));
    expect(
      resourcesOf(template, "AWS::IAM::Policy").filter(([, p]) => JSON.stringify(p).includes(role)),
    ).toEqual([]);
    const [, mapping] = resourcesOf(template, "AWS::Lambda::EventSourceMapping")[0] ?? [];
    expect(JSON.stringify(mapping?.Properties.FunctionName)).toContain(`${CALLER}Caller`);
  });

  it("hides messages for 30 s longer than its function may run: four rounds of runs that all take the longest time", () => {
    expect(caller.Properties.Timeout).toBe(4 * (30 + 15 + 15) + 10);
    const ready = resourcesOf(template, "AWS::SQS::Queue").find(
      ([, { Properties }]) => Properties.QueueName === "minutehand-thumbnail",
    );
    expect(ready?.[1].Properties.VisibilityTimeout).toBe(280);
  });

  it("has the alarms and the pause of a consumer", () => {
    const alarms = resourcesOf(template, "AWS::CloudWatch::Alarm").map(([, { Properties }]) =>
      JSON.stringify(Properties),
    );
    expect(alarms.some((alarm) => alarm.includes(`${CALLER}Caller`))).toBe(true);
    const tick = only(template, "AWS::Lambda::Function", "JobsTickSweeper").Properties.Environment;
    expect(JSON.stringify(tick)).toContain(`${CALLER}CallerFunctionTopicthumbnail`);
  });

  it("runs jobs in ten invocations at once, or in as many as maximumConcurrency allows", () => {
    const scaling = (topic: TopicProps) =>
      only(withTarget({ topic }).template, "AWS::Lambda::EventSourceMapping", CALLER).Properties
        .ScalingConfig;
    expect(scaling({})).toEqual({ MaximumConcurrency: 10 });
    expect(scaling({ maximumConcurrency: 40 })).toEqual({ MaximumConcurrency: 40 });
  });
});

describe("the alarm Failing of a topic with a target", () => {
  const topics = { thumbnail: { alarms: ["Failing"] } } as const;
  const failing = (template: StackTemplate) =>
    resourcesOf(template, "AWS::CloudWatch::Alarm").filter(([id]) => id.includes("Failing"));

  it("counts the errors of the caller, which is what runs the jobs", () => {
    const { template } = withTarget({ topic: topics.thumbnail });
    const caller = resourcesOf(template, "AWS::Lambda::Function").find(([id]) => id.startsWith(CALLER))?.[0];
    expect(caller).toBeDefined();
    const [[id, { Properties }]] = failing(template) as [[string, Resource]];
    expect(failing(template)).toHaveLength(1);
    expect(id).toMatch(/^JobsAlarmsthumbnailFailing/);
    expect(Properties).toMatchObject({
      ...{ Namespace: "AWS/Lambda", MetricName: "Errors", Statistic: "Sum" },
      ...{ Threshold: 1, EvaluationPeriods: 15, DatapointsToAlarm: 3 },
      Dimensions: [{ Name: "FunctionName", Value: { Ref: caller } }],
    });
    expect(JSON.stringify(Properties.AlarmDescription)).toContain(`{"Ref":"${caller}"}`);
  });

  it("is in the target's stack, which refers to that of the queue, and notifies the same topic", () => {
    const app = new App();
    const [base, images] = [new Stack(app, "Base"), new Stack(app, "Images")];
    const alarmTopic = new Topic(base, "Alarms");
    const queue = new DelayQueue(base, "Jobs", { topics, alarmTopic });
    queue.addTarget("thumbnail", python(images));
    const [[, { Properties }]] = failing(templateOf(images)) as [[string, Resource]];
    expect(failing(templateOf(base))).toEqual([]);
    expect(Properties.AlarmActions).toEqual([{ "Fn::ImportValue": expect.stringContaining("Alarms") }]);
    expect(Properties.OKActions).toBeUndefined();
  });

  it("is left out by default, as the alarm of a consumer is", () => {
    expect(failing(withTarget().template)).toEqual([]);
  });
});

describe("the timeout of a target", () => {
  it("is 3 s if the function has none, and 860 s at most, for which the caller runs 15 minutes", () => {
    const timeoutWith = (timeout?: Duration) => {
      const { template } = withTarget(timeout && { timeout });
      return only(template, "AWS::Lambda::Function", CALLER).Properties.Timeout;
    };
    expect(timeoutWith()).toBe(4 * 33 + 10);
    expect(timeoutWith(Duration.seconds(860))).toBe(900);
    expect(() => timeoutWith(Duration.seconds(861))).toThrow(
      "the timeout of the target Shop/Thumbnail must be a whole number of seconds from 1 to 860",
    );
  });

  it("must be given for an imported function, whose alias may then be invoked", () => {
    const { stack, queue } = shopWith({ topics: { thumbnail: {} } });
    const arn = "arn:aws:lambda:us-east-1:123456789012:function:thumbnail:live";
    const fn = LambdaFunction.fromFunctionArn(stack, "Thumbnail", arn);
    expect(() => queue.addTarget("thumbnail", fn)).toThrow(
      "the timeout of Shop/Thumbnail is not known, because the function is imported",
    );
    expect(() => queue.addTarget("thumbnail", fn, { timeout: "1 minute" as "1m" })).toThrow(
      "the timeout of the target Shop/Thumbnail must be a number of seconds (0 or more), or a text such as",
    );
    queue.addTarget("thumbnail", fn, { timeout: 60 });
    expect(invokes(templateOf(stack))).toEqual([["lambda:InvokeFunction", arn]]);
  });

  it.each([
    [Duration.seconds(2), "must be at least its own of 3 s, got 2 s"],
    [Duration.millis(4500), "got 4.5"],
    [Duration.minutes(15), "got 900"],
  ])("may not be %s for a function with 3 s", (timeout, said) => {
    const { stack, queue } = shopWith({ topics: { thumbnail: {} } });
    expect(() => queue.addTarget("thumbnail", python(stack), { timeout })).toThrow(said);
  });
});

describe("a target of another place", () => {
  const env = { account: "123456789012", region: "eu-central-1" };
  const timeout = Duration.seconds(60);
  const added = (arn: string, stackEnv: { account?: string; region?: string } = env) => {
    const stack = new Stack(new App(), "Shop", { env: stackEnv });
    const queue = new DelayQueue(stack, "Jobs", { topics: { thumbnail: {} } });
    return () =>
      queue.addTarget("thumbnail", LambdaFunction.fromFunctionArn(stack, "Thumbnail", arn), { timeout });
  };

  it.each([
    ["arn:aws:lambda:eu-central-1:210987654321:function:thumbnail", "is in account 210987654321"],
    ["arn:aws:lambda:us-east-1:123456789012:function:thumbnail:live", "is in region us-east-1"],
  ])("is refused: %s", (arn, said) => {
    expect(added(arn)).toThrow(
      `the target Shop/Thumbnail ${said}: a target must be in the account and region of the queue, so give a function of ` +
        "123456789012 and eu-central-1 that invokes this one",
    );
  });

  it("is refused by its form before", () => {
    expect(added("arn:aws:lambda:eu-central-1:123456789012:function:two words")).toThrow(
      'the functionArn of Shop/Thumbnail must be the ARN of a Lambda function, is "arn:aws:lambda:eu-central-1:123456789012:function:two words"; allowed: such as arn:aws:lambda:',
    );
  });

  it("is refused too if it is a function of another stack of the app", () => {
    const app = new App();
    const queue = new DelayQueue(new Stack(app, "Shop", { env }), "Jobs", { topics: { thumbnail: {} } });
    const images = new Stack(app, "Images", { env: { ...env, region: "eu-west-1" } });
    expect(() => queue.addTarget("thumbnail", python(images))).toThrow(
      "Images/Thumbnail is in region eu-west-1",
    );
  });

  it("is not seen if the stack does not know its own place, and the same place is taken", () => {
    const arn = "arn:aws:lambda:eu-central-1:123456789012:function:thumbnail";
    expect(added(arn)).not.toThrow();
    expect(added(arn, {})).not.toThrow();
    expect(added(Fn.importValue("ThumbnailArn"))).not.toThrow();
  });
});

it.each(["alias", "version"] as const)(
  "the %s of a function may be a target, and its caller may invoke nothing else",
  (kind) => {
    const { stack, queue } = shopWith({ topics: { thumbnail: {} } });
    const fn = python(stack, Duration.seconds(20));
    const version = fn.currentVersion;
    const target = kind === "version" ? version : fn.addAlias("live");
    queue.addTarget("thumbnail", target);
    const template = templateOf(stack);
    const [[, policy]] = resourcesOf(template, "AWS::IAM::Policy").filter(([id]) =>
      /Targetthumbnail/.test(id),
    ) as [[string, Resource]];
    expect(JSON.stringify(policy)).toContain(
      JSON.stringify({
        ...{ Action: "lambda:InvokeFunction", Effect: "Allow" },
        Resource: stack.resolve(target.functionArn),
      }),
    );
    expect(JSON.stringify(template)).toContain('"MINUTEHAND_TARGET_TIMEOUT":"20"');
  },
);

it.each<[string, TopicProps, string]>([
  ["work", { consumer: "pull" }, 'topic "work" is a pull topic'],
  ["mail", { webhook: {} }, 'topic "mail" is a webhook topic'],
  ["other", {}, 'topic "orders" is not declared'],
])("a topic like %s takes no target", (topic, props, said) => {
  const { stack, queue } = shopWith({ topics: { [topic]: props } });
  expect(() => queue.addTarget(topic === "other" ? "orders" : topic, python(stack))).toThrow(said);
});

it("a topic takes one consumer or one target", () => {
  const { stack, queue } = shopWith({ topics: { a: {}, b: {} } });
  const fn = python(stack);
  queue.addTarget("a", fn);
  queue.addTarget("b", fn);
  expect(() => queue.addConsumer("a", someFunction(stack, "Other"))).toThrow(
    'topic "a" already has the consumer',
  );
  const options: object = { timeOut: Duration.seconds(5) };
  expect(() => queue.addTarget("a", fn, options)).toThrow('addTarget has an unknown option "timeOut"');
});

it("one function may be the target of two queues, also if their topics have the same name", () => {
  const alone = resourcesOf(withTarget().template, "AWS::Lambda::Function");
  const idAlone = alone.find(([id]) => id.startsWith(CALLER))?.[0];
  const { stack, queue } = shopWith({ topics: { thumbnail: {} } });
  const fn = python(stack);
  queue.addTarget("thumbnail", fn);
  const other = new DelayQueue(stack, "Other", { prefix: "other", topics: { thumbnail: {} } });
  other.addTarget("thumbnail", fn);
  const functions = resourcesOf(templateOf(stack), "AWS::Lambda::Function");
  const callers = functions.filter(([id]) => id.startsWith(CALLER));
  // The first caller keeps the id that it has in a stack with one queue.
  expect(callers.map(([id]) => id)).toContain(idAlone);
  const prefixes = callers.map(
    ([, { Properties }]) => JSON.stringify(Properties).match(/\/(minutehand|other)-"/)?.[1],
  );
  expect(prefixes.sort()).toEqual(["minutehand", "other"]);
});

it("a target may be in a stack that depends on the queue's, and its caller's log has the queue's key", () => {
  const app = new App();
  const [base, images] = [new Stack(app, "Base"), new Stack(app, "Images")];
  const encryptionKey = new Key(base, "Key", { enableKeyRotation: true });
  const queue = new DelayQueue(base, "Jobs", { topics: { thumbnail: {} }, encryptionKey });
  const fn = python(images);
  queue.grantEnqueue(fn);
  queue.addTarget("thumbnail", fn);
  const log = only(templateOf(images), "AWS::Logs::LogGroup", `${CALLER}CallerLog`);
  expect(log.Properties.KmsKeyId).toBeDefined();
  expect(new AwsSolutionsChecks(app).validateScope(queue).violations).toEqual([]);
});
