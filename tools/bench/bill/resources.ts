import type { costOf } from "./usage.ts";

type Line = keyof ReturnType<typeof costOf>;
type Charge = { readonly lines: readonly Line[] } | { readonly free: string };

/**
 * What AWS charges for each type of resource that a queue with the default props creates: lines of the bill, or nothing. The sources are the pricing
 * pages of the services (aws.amazon.com/<service>/pricing, 2026-11-29).
 */
export const CHARGES: Readonly<Record<string, Charge>> = {
  "AWS::DynamoDB::Table": { lines: ["writes", "reads", "storage", "backups"] },
  "AWS::SQS::Queue": { lines: ["SQS"] },
  "AWS::SQS::QueuePolicy": { free: "a policy" },
  "AWS::Lambda::Function": { lines: ["Lambda", "cold starts"] },
  "AWS::Lambda::EventSourceMapping": { lines: ["SQS"] },
  "AWS::Lambda::EventInvokeConfig": { free: "a setting of a function" },
  "AWS::Lambda::Permission": { free: "a policy" },
  "AWS::Logs::LogGroup": { lines: ["logs", "access log"] },
  "AWS::IAM::Role": { free: "IAM is free" },
  "AWS::IAM::Policy": { free: "IAM is free" },
  "AWS::IAM::ManagedPolicy": { free: "IAM is free" },
  "AWS::Events::Rule": { free: "EventBridge charges nothing for a scheduled rule" },
  "AWS::Scheduler::ScheduleGroup": { lines: ["Scheduler"] },
  "AWS::ApiGatewayV2::Api": { lines: ["API calls", "data out"] },
  "AWS::ApiGatewayV2::Integration": { free: "a part of the API" },
  "AWS::ApiGatewayV2::Route": { free: "a part of the API" },
  "AWS::ApiGatewayV2::Stage": { free: "a part of the API" },
  "AWS::CloudWatch::Alarm": { lines: ["alarms"] },
};

/** The properties of the default resources by which AWS could charge for more, and that the bill knows. Another property fails the test. */
export const KNOWN_PROPERTIES: Readonly<Record<string, readonly string[]>> = {
  "AWS::DynamoDB::Table": [
    ...["AttributeDefinitions", "BillingMode", "DeletionProtectionEnabled", "KeySchema"],
    ...["PointInTimeRecoverySpecification", "SSESpecification", "TimeToLiveSpecification"],
  ],
  "AWS::Lambda::Function": [
    ...[
      "Architectures",
      "Code",
      "Description",
      "Environment",
      "Handler",
      "LoggingConfig",
      "MemorySize",
      "Role",
    ],
    ...["Runtime", "Timeout", "DeadLetterConfig"],
  ],
  "AWS::Lambda::EventSourceMapping": [
    ...["BatchSize", "EventSourceArn", "FunctionName", "FunctionResponseTypes", "ScalingConfig"],
  ],
  "AWS::ApiGatewayV2::Stage": [
    ...["AccessLogSettings", "ApiId", "AutoDeploy", "DefaultRouteSettings", "StageName", "StageVariables"],
  ],
  "AWS::SQS::Queue": [
    ...["MessageRetentionPeriod", "QueueName", "RedrivePolicy", "VisibilityTimeout", "SqsManagedSseEnabled"],
  ],
};
