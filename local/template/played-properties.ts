/** By CloudFormation's names. Others, such as a table's encryption, may refer to values that only a deployment knows. */
const PLAYED: Readonly<Record<string, readonly string[]>> = {
  "AWS::ApiGatewayV2::Integration": ["IntegrationUri", "PayloadFormatVersion", "TimeoutInMillis"],
  "AWS::ApiGatewayV2::Route": ["ApiId", "RouteKey", "Target"],
  "AWS::DynamoDB::GlobalTable": [
    "AttributeDefinitions",
    "GlobalSecondaryIndexes",
    "KeySchema",
    "LocalSecondaryIndexes",
    "TimeToLiveSpecification",
  ],
  "AWS::DynamoDB::Table": [
    "AttributeDefinitions",
    "GlobalSecondaryIndexes",
    "KeySchema",
    "LocalSecondaryIndexes",
    "ProvisionedThroughput",
    "TimeToLiveSpecification",
  ],
  "AWS::Events::Rule": [
    "Description",
    "EventBusName",
    "EventPattern",
    "ScheduleExpression",
    "State",
    "Targets",
  ],
  "AWS::Lambda::EventSourceMapping": [
    "BatchSize",
    "Enabled",
    "EventSourceArn",
    "FunctionName",
    "FunctionResponseTypes",
    "ScalingConfig",
  ],
  "AWS::Lambda::Function": [
    "Code",
    "Environment",
    "Handler",
    "MemorySize",
    "ReservedConcurrentExecutions",
    "Runtime",
    "Timeout",
  ],
  "AWS::Scheduler::Schedule": [
    "EndDate",
    "FlexibleTimeWindow",
    "GroupName",
    "ScheduleExpression",
    "ScheduleExpressionTimezone",
    "StartDate",
    "State",
    "Target",
  ],
  "AWS::SecretsManager::Secret": ["GenerateSecretString", "SecretString"],
  "AWS::SQS::Queue": [
    "DelaySeconds",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "RedrivePolicy",
    "VisibilityTimeout",
  ],
};

export function playedProperties<T>(
  type: string,
  properties: Readonly<Record<string, T>>,
): Record<string, T> {
  const played = PLAYED[type] ?? [];
  return Object.fromEntries(Object.entries(properties).filter(([name]) => played.includes(name)));
}
