import { App, Stack, Validations } from "aws-cdk-lib";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { MinutehandStack } from "../../infra/minutehand-stack.ts";
import { LOOKAHEAD } from "../../src/core/constants.ts";
import { resourcesOf } from "./resources.ts";
import { productionTemplate } from "./stack-template.ts";

describe("the alarms", () => {
  const alarms = resourcesOf(productionTemplate(), "AWS::CloudWatch::Alarm").map(
    ([, { Properties }]) => Properties,
  );
  const watched = alarms.map(({ Namespace, MetricName }) => `${Namespace} ${MetricName}`);

  it.each([
    ["AWS/SQS ApproximateNumberOfMessagesVisible", 10],
    ["AWS/SQS ApproximateAgeOfOldestMessage", 9],
    ["AWS/Events FailedInvocations", 2],
    ["AWS/Lambda Errors", 6],
    ["AWS/DynamoDB WriteThrottleEvents", 1],
    ["AWS/Lambda Invocations", 1],
    ["Minutehand SweepLag", 1],
    ["Minutehand AuditFound", 1],
    ["Minutehand DeadWithoutLetter", 1],
    ["Minutehand RunawayJobs", 1],
    ["Minutehand FarWithoutSchedule", 1],
  ])("watch %s %i times", (metric, times) => {
    expect(watched.filter((name) => name === metric)).toHaveLength(times);
  });

  it("ring if the tick is not invoked at all", () => {
    const silent = alarms.find(({ MetricName }) => MetricName === "Invocations");
    expect(silent).toMatchObject({ TreatMissingData: "breaching", ComparisonOperator: "LessThanThreshold" });
  });

  it("do not ring if the tick reports no lag, because only an unusual lag is reported", () => {
    const lag = alarms.find(({ MetricName }) => MetricName === "SweepLag");
    expect(lag).toMatchObject({ Threshold: LOOKAHEAD, TreatMissingData: "notBreaching" });
  });

  it("read the functions' own metrics by their service", () => {
    const own = alarms.filter(({ Namespace }) => Namespace === "Minutehand");
    expect(own.map(({ Dimensions }) => Dimensions)).toEqual(
      own.map(() => [{ Name: "service", Value: "minutehand" }]),
    );
  });
});

describe("cdk-nag", () => {
  it("finds nothing", () => {
    const app = new App();
    new MinutehandStack(app, "Minutehand");
    expect(new AwsSolutionsChecks(app).validateScope(app)).toEqual({ success: true, violations: [] });
  });

  it("fails synth when it finds something", () => {
    const app = new App();
    new Queue(new Stack(app, "Careless"), "Queue");
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    expect(() => app.synth()).toThrow("AwsSolutions-SQS3");
  });
});
