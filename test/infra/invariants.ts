import { ALARM_TOPIC_ARN, type Resource, resourcesOf, type StackTemplate } from "./resources.ts";

type Props = Record<string, unknown>;

/** A rule for every resource of a type. `break` makes a resource break the rule, so that a test sees whether the check finds it. */
export type Invariant = {
  readonly rule: string;
  readonly type: string;
  readonly holds: (resource: Resource, id: string, template: StackTemplate) => boolean;
  readonly break: (resource: Resource, template: StackTemplate) => void;
};

export function offenders({ type, holds }: Invariant, template: StackTemplate): string[] {
  return resourcesOf(template, type)
    .filter(([id, resource]) => !holds(resource, id, template))
    .map(([id]) => id);
}

type Statement = { Effect: string; Action: string | string[]; Resource: unknown; Condition?: unknown };

function statementsOf({ Properties }: Resource): Statement[] {
  return (Properties.PolicyDocument as { Statement: Statement[] }).Statement;
}

/** Whether a statement must not contain a *. Those on schedules need it: a group's schedules are made later, and a list has no resource. */
function isNoSchedules({ Action, Resource }: Statement): boolean {
  if (Action === "scheduler:ListSchedules") return Resource !== "*";
  const resource = JSON.stringify(Resource);
  return !(
    [Action].flat().every((action) => action.startsWith("scheduler:")) &&
    /:schedule\/[\w-]+\/\*"/.test(resource)
  );
}

function isDlq(id: string): boolean {
  return /Dlq[0-9A-F]{8}$/.test(id);
}

function isKept({ DeletionPolicy, UpdateReplacePolicy }: Resource): boolean {
  return DeletionPolicy === "Retain" && UpdateReplacePolicy === "Retain";
}

/** Kept, except after a first deployment that fails, because the next attempt would find the name taken. */
function isKeptOnceMade({ DeletionPolicy, UpdateReplacePolicy }: Resource): boolean {
  return DeletionPolicy === "RetainExceptOnCreate" && UpdateReplacePolicy === "Retain";
}

function functionOf(template: StackTemplate, reference: unknown): Resource | undefined {
  return template.Resources[(reference as { Ref: string }).Ref];
}

function resourceOf(template: StackTemplate, arn: unknown): Resource | undefined {
  return template.Resources[(arn as { "Fn::GetAtt": string[] } | undefined)?.["Fn::GetAtt"][0] ?? ""];
}

function accessLogOf({ AccessLogSettings }: Props, template: StackTemplate): Resource | undefined {
  return resourceOf(template, (AccessLogSettings as { DestinationArn: unknown } | undefined)?.DestinationArn);
}

const set = (name: string, value: unknown) => (resource: Resource) => {
  resource.Properties[name] = value;
};

/** The metrics of DLQs and of the tick's invocations. The other metrics can be silent while a trouble lasts. */
const TELL_END = ["ApproximateNumberOfMessagesVisible", "Invocations"];

export const INVARIANTS: readonly Invariant[] = [
  {
    rule: "every function runs on arm64 and nodejs24.x",
    type: "AWS::Lambda::Function",
    holds: ({ Properties: { Architectures, Runtime } }) =>
      JSON.stringify(Architectures) === '["arm64"]' && Runtime === "nodejs24.x",
    break: set("Architectures", ["x86_64"]),
  },
  {
    rule: "every function has a role of its own",
    type: "AWS::Lambda::Function",
    holds: ({ Properties: { Role } }, id, template) =>
      resourcesOf(template, "AWS::Lambda::Function").every(
        ([other, { Properties }]) => other === id || JSON.stringify(Properties.Role) !== JSON.stringify(Role),
      ),
    break: (resource, template) => {
      const roles = resourcesOf(template, "AWS::Lambda::Function").map(
        ([, { Properties }]) => Properties.Role,
      );
      resource.Properties.Role = roles[1];
    },
  },
  {
    rule: "every function logs to a log group of the stack",
    type: "AWS::Lambda::Function",
    holds: ({ Properties: { LoggingConfig } }, _, template) =>
      functionOf(template, (LoggingConfig as Props | undefined)?.LogGroup ?? {})?.Type ===
      "AWS::Logs::LogGroup",
    break: (resource) => delete resource.Properties.LoggingConfig,
  },
  {
    rule: "no function reserves concurrency",
    type: "AWS::Lambda::Function",
    holds: ({ Properties }) => Properties.ReservedConcurrentExecutions === undefined,
    break: set("ReservedConcurrentExecutions", 1),
  },
  {
    rule: "every log group has a retention",
    type: "AWS::Logs::LogGroup",
    holds: ({ Properties }) => typeof Properties.RetentionInDays === "number",
    break: (resource) => delete resource.Properties.RetentionInDays,
  },
  {
    rule: "no role carries an AWS managed policy",
    type: "AWS::IAM::Role",
    holds: ({ Properties }) => Properties.ManagedPolicyArns === undefined,
    break: set("ManagedPolicyArns", ["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]),
  },
  {
    rule: "no permission has a *, except those for the schedules of a group and for their list",
    type: "AWS::IAM::Policy",
    holds: (policy) => !JSON.stringify(statementsOf(policy).filter(isNoSchedules)).includes("*"),
    break: (policy) => {
      for (const statement of statementsOf(policy).slice(0, 1)) statement.Action = "dynamodb:*";
    },
  },
  {
    rule: "every queue is encrypted",
    type: "AWS::SQS::Queue",
    holds: ({ Properties }) => Properties.SqsManagedSseEnabled === true,
    break: set("SqsManagedSseEnabled", false),
  },
  {
    rule: "every queue refuses calls without TLS",
    type: "AWS::SQS::Queue",
    holds: (_, id, template) =>
      resourcesOf(template, "AWS::SQS::QueuePolicy").some(
        ([, policy]) =>
          (policy.Properties.Queues as { Ref: string }[]).some(({ Ref }) => Ref === id) &&
          statementsOf(policy).some(
            ({ Effect, Action, Resource, Condition }) =>
              Effect === "Deny" &&
              Action === "sqs:*" &&
              (Resource === "*" ||
                JSON.stringify(Resource) === JSON.stringify({ "Fn::GetAtt": [id, "Arn"] })) &&
              JSON.stringify(Condition) === '{"Bool":{"aws:SecureTransport":"false"}}',
          ),
      ),
    break: (_, template) => {
      for (const [, policy] of resourcesOf(template, "AWS::SQS::QueuePolicy").slice(0, 1)) {
        policy.Properties.PolicyDocument = { Statement: [] };
      }
    },
  },
  {
    rule: "every queue survives its stack, but not a first deployment that fails",
    type: "AWS::SQS::Queue",
    holds: isKeptOnceMade,
    break: (resource) => {
      resource.DeletionPolicy = "Delete";
    },
  },
  {
    rule: "every ready queue moves a message to its own DLQ after 20 receives (events after 60), and the DLQ keeps messages longer",
    type: "AWS::SQS::Queue",
    holds: ({ Properties }, id, template) => {
      if (isDlq(id))
        return Properties.RedrivePolicy === undefined && Properties.MessageRetentionPeriod === 1_209_600;
      const redrive = Properties.RedrivePolicy as Props | undefined;
      const dlq = redrive && resourceOf(template, redrive.deadLetterTargetArn);
      return (
        redrive?.maxReceiveCount === (id.startsWith("JobsEvents") ? 60 : 20) &&
        dlq?.Properties.QueueName === `${Properties.QueueName}_dlq` &&
        Properties.MessageRetentionPeriod === 864_000
      );
    },
    break: (resource) => {
      resource.Properties.RedrivePolicy = { maxReceiveCount: 3 };
    },
  },
  {
    rule: "the table survives its stack, can be restored and is encrypted",
    type: "AWS::DynamoDB::Table",
    holds: (table) =>
      isKept(table) &&
      table.Properties.DeletionProtectionEnabled === true &&
      JSON.stringify(table.Properties.PointInTimeRecoverySpecification) ===
        '{"PointInTimeRecoveryEnabled":true}' &&
      JSON.stringify(table.Properties.SSESpecification) === '{"SSEEnabled":false}',
    break: set("DeletionProtectionEnabled", false),
  },
  {
    rule: "the table has pk and sk, is billed by request and deletes items by expiresAt",
    type: "AWS::DynamoDB::Table",
    holds: ({ Properties }) =>
      JSON.stringify(Properties.KeySchema) ===
        '[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]' &&
      Properties.BillingMode === "PAY_PER_REQUEST" &&
      JSON.stringify(Properties.TimeToLiveSpecification) === '{"AttributeName":"expiresAt","Enabled":true}',
    break: set("BillingMode", "PROVISIONED"),
  },
  {
    rule: "the rule of the minute never retries a tick",
    type: "AWS::Events::Rule",
    holds: ({ Properties }) => {
      const targets = Properties.Targets as { RetryPolicy?: Props }[];
      if (Properties.EventPattern !== undefined) return true;
      return (
        Properties.ScheduleExpression === "rate(1 minute)" &&
        targets.every(
          ({ RetryPolicy }) =>
            RetryPolicy?.MaximumRetryAttempts === 0 && RetryPolicy.MaximumEventAgeInSeconds === 60,
        )
      );
    },
    break: ({ Properties }) => {
      for (const target of Properties.Targets as Props[]) delete target.RetryPolicy;
    },
  },
  {
    rule: "Lambda never retries a tick, and retries other functions twice",
    type: "AWS::Lambda::EventInvokeConfig",
    holds: ({ Properties }, id) =>
      id.startsWith("JobsTick")
        ? Properties.MaximumRetryAttempts === 0 && Properties.MaximumEventAgeInSeconds === 60
        : Properties.MaximumRetryAttempts === 2,
    break: set("MaximumRetryAttempts", 1),
  },
  {
    rule: "Scheduler may assume a role only for the schedules of one group of this account",
    type: "AWS::Scheduler::ScheduleGroup",
    holds: (_, id, template) =>
      resourcesOf(template, "AWS::IAM::Role").some(([, { Properties }]) => {
        const { Statement } = Properties.AssumeRolePolicyDocument as { Statement: object[] };
        const expected = {
          Action: "sts:AssumeRole",
          Condition: {
            StringEquals: {
              "aws:SourceAccount": { Ref: "AWS::AccountId" },
              "aws:SourceArn": { "Fn::GetAtt": [id, "Arn"] },
            },
          },
          Effect: "Allow",
          Principal: { Service: "scheduler.amazonaws.com" },
        };
        return JSON.stringify(Statement) === JSON.stringify([expected]);
      }),
    break: (_, template) => {
      for (const [, { Properties }] of resourcesOf(template, "AWS::IAM::Role")) {
        for (const statement of (Properties.AssumeRolePolicyDocument as { Statement: Props[] }).Statement)
          delete statement.Condition;
      }
    },
  },
  {
    rule: "a group of schedules is deleted with its stack",
    type: "AWS::Scheduler::ScheduleGroup",
    holds: ({ DeletionPolicy }) => DeletionPolicy === "Delete",
    break: (resource) => {
      resource.DeletionPolicy = "Retain";
    },
  },
  {
    rule: "every event source accepts failures message by message",
    type: "AWS::Lambda::EventSourceMapping",
    holds: ({ Properties }) =>
      JSON.stringify(Properties.FunctionResponseTypes) === '["ReportBatchItemFailures"]' &&
      Properties.BatchSize === 10,
    break: (resource) => delete resource.Properties.FunctionResponseTypes,
  },
  {
    rule: "a consumed queue hides messages for its function's timeout plus 30 s",
    type: "AWS::Lambda::EventSourceMapping",
    holds: ({ Properties }, _, template) => {
      const timeout = functionOf(template, Properties.FunctionName)?.Properties.Timeout as number;
      return resourceOf(template, Properties.EventSourceArn)?.Properties.VisibilityTimeout === timeout + 30;
    },
    break: ({ Properties }, template) => {
      const queue = resourceOf(template, Properties.EventSourceArn);
      if (queue) queue.Properties.VisibilityTimeout = 30;
    },
  },
  {
    rule: "every route asks for IAM authorization",
    type: "AWS::ApiGatewayV2::Route",
    holds: ({ Properties }) => Properties.AuthorizationType === "AWS_IAM",
    break: set("AuthorizationType", "NONE"),
  },
  {
    rule: "the stage is throttled and logs each access",
    type: "AWS::ApiGatewayV2::Stage",
    holds: ({ Properties }) => {
      const settings = Properties.DefaultRouteSettings as Props | undefined;
      return (
        settings?.ThrottlingRateLimit === 1000 &&
        settings.ThrottlingBurstLimit === 500 &&
        Properties.AccessLogSettings !== undefined
      );
    },
    break: (resource) => delete resource.Properties.AccessLogSettings,
  },
  {
    rule: "the access log's name begins with /aws/vendedlogs/, so that it lengthens no resource policy, and contains the stack's id",
    type: "AWS::ApiGatewayV2::Stage",
    holds: ({ Properties }, _, template) => {
      const name = JSON.stringify(accessLogOf(Properties, template)?.Properties.LogGroupName ?? "");
      return name.includes('"/aws/vendedlogs/minutehand/"') && name.includes("AWS::StackId");
    },
    break: ({ Properties }, template) => delete accessLogOf(Properties, template)?.Properties.LogGroupName,
  },
  {
    rule: "every alarm notifies the given topic",
    type: "AWS::CloudWatch::Alarm",
    holds: ({ Properties }) => JSON.stringify(Properties.AlarmActions) === JSON.stringify([ALARM_TOPIC_ARN]),
    break: (resource) => delete resource.Properties.AlarmActions,
  },
  {
    rule: "an alarm notifies the SNS topic when it returns to OK, if and only if its trouble is over then",
    type: "AWS::CloudWatch::Alarm",
    holds: ({ Properties }) =>
      JSON.stringify(Properties.OKActions) ===
      (TELL_END.includes(String(Properties.MetricName)) ? JSON.stringify([ALARM_TOPIC_ARN]) : undefined),
    break: ({ Properties }) => {
      if ("OKActions" in Properties) delete Properties.OKActions;
      else Properties.OKActions = [ALARM_TOPIC_ARN];
    },
  },
];
