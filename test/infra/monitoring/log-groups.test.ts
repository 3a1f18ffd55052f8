import { Duration, Stack } from "aws-cdk-lib";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { expect, test } from "vitest";
import type { DelayQueueProps } from "../../../infra/props.ts";
import { resourcesOf, type StackTemplate } from "../resources.ts";
import { shopWith, someFunction, templateOf } from "../shop-stack.ts";

const TOPICS = { mail: {}, refund: {}, hooks: { webhook: {} }, work: { consumer: "pull" } } as const;

const variablesOf = (template: StackTemplate) =>
  resourcesOf(template, "AWS::ApiGatewayV2::Stage")[0]?.[1].Properties.StageVariables;
const deadAlarmOf = (template: StackTemplate, topic: string) => alarmOf(template, `${topic}Dead`);
const alarmOf = (template: StackTemplate, alarm: string) => {
  const alarms = resourcesOf(template, "AWS::CloudWatch::Alarm");
  return JSON.stringify(
    alarms.find(([id]) => id.startsWith(`JobsAlarms${alarm}`))?.[1].Properties.AlarmDescription,
  );
};

function logging(stack: Stack, id: string, logGroupName?: string): LambdaFunction {
  const logGroup = new LogGroup(stack, `${id}Log`, logGroupName === undefined ? {} : { logGroupName });
  const code = Code.fromInline("exports.handler = async () => {}");
  return new LambdaFunction(stack, id, {
    code,
    handler: "index.handler",
    runtime: Runtime.NODEJS_24_X,
    timeout: Duration.seconds(40),
    logGroup,
  });
}

function shop(props: Partial<DelayQueueProps> = {}) {
  return shopWith({ topics: TOPICS, ...props });
}

test("the API learns the log group of each topic's function, also of those that are added after it", () => {
  const { stack, queue } = shop();
  queue.addConsumer("mail", logging(stack, "Mail"));
  queue.addConsumer("refund", logging(stack, "Refund", "/shop/refund"));
  expect(variablesOf(templateOf(stack))).toEqual({
    logRegion: { Ref: "AWS::Region" },
    log0: { "Fn::Join": ["", ["hooks=", { Ref: expect.stringMatching(/^JobsWebhookhooksCallerLog/) }]] },
    log1: { "Fn::Join": ["", ["mail=", { Ref: expect.stringMatching(/^MailLog/) }]] },
    log2: { "Fn::Join": ["", ["refund=", { Ref: expect.stringMatching(/^RefundLog/) }]] },
  });
});

test("the alarm of dead jobs leads to the log of the failed runs", () => {
  const { stack, queue } = shop();
  queue.addConsumer("mail", logging(stack, "Mail"));
  const template = templateOf(stack);
  expect(deadAlarmOf(template, "mail")).toMatch(
    /minutehand dead mail --stack Shop.*Log of the failed runs: https:.*console\.aws\.amazon\.com/,
  );
  expect(deadAlarmOf(template, "mail")).toContain('"Fn::Split":["/",{"Ref":"MailLog');
  expect(deadAlarmOf(template, "hooks")).toContain('"Ref":"JobsWebhookhooksCallerLog');
  for (const topic of ["refund", "work"]) expect(deadAlarmOf(template, topic)).not.toContain("console");
});

test("the alarm of retries leads to the log of a handler, and not to that of a webhook, which names no failed call", () => {
  const alarms = ["Retrying"] as const;
  const { stack, queue } = shop({ topics: { mail: { alarms }, hooks: { webhook: {}, alarms } } });
  queue.addConsumer("mail", logging(stack, "Mail"));
  const template = templateOf(stack);
  expect(alarmOf(template, "mailRetrying")).toMatch(
    /minutehand list --topic mail --stack Shop.*Log of the failed runs: https:/,
  );
  expect(alarmOf(template, "hooksRetrying")).toMatch(/list --topic hooks --stack Shop.*#retrying"$/);
});

test("a log group that is unknown, or in another stack, is left out", () => {
  const { stack, queue } = shop({ topics: { mail: {}, refund: {} } });
  queue.addConsumer("mail", someFunction(stack, "Mail"));
  queue.addConsumer("refund", logging(new Stack(stack.node.root, "Other"), "Refund"));
  const template = templateOf(stack);
  expect(variablesOf(template)).toBeUndefined();
  for (const topic of ["mail", "refund"]) expect(deadAlarmOf(template, topic)).not.toContain("console");
});
