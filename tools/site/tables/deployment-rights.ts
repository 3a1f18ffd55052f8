import { App, CfnResource, Duration, Stack } from "aws-cdk-lib";
import { HttpJwtAuthorizer } from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import { code, table } from "../markdown.ts";

/**
 * The actions with which CloudFormation creates, reads, changes and deletes a resource of each type, without their service. They are the
 * `permissions` of the `handlers` in CloudFormation's resource schemas of October 2026, without those for properties that a queue never
 * sets. test/models checks them.
 */
export const DEPLOYMENT_ACTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "AWS::ApiGatewayV2::Api": { apigateway: "DELETE GET PATCH POST PUT TagResource UntagResource" },
  "AWS::ApiGatewayV2::Authorizer": { apigateway: "DELETE GET PATCH POST PUT" },
  "AWS::ApiGatewayV2::Integration": { apigateway: "DELETE GET PATCH POST PUT" },
  "AWS::ApiGatewayV2::Route": { apigateway: "DELETE GET PATCH POST PUT" },
  "AWS::ApiGatewayV2::Stage": {
    apigateway: "DELETE GET PATCH POST TagResource UntagResource",
    // "Configure logging for HTTP APIs in API Gateway", API Gateway Developer Guide.
    logs:
      "CreateLogDelivery DeleteLogDelivery DescribeLogGroups DescribeResourcePolicies GetLogDelivery ListLogDeliveries " +
      "PutResourcePolicy UpdateLogDelivery",
  },
  "AWS::CloudWatch::Alarm": {
    cloudwatch: "DeleteAlarms DescribeAlarms ListTagsForResource PutMetricAlarm TagResource UntagResource",
  },
  "AWS::CloudWatch::Dashboard": {
    cloudwatch: "DeleteDashboards GetDashboard ListTagsForResource PutDashboard TagResource UntagResource",
  },
  "AWS::DynamoDB::Table": {
    dynamodb:
      "CreateTable DeleteTable DescribeContinuousBackups DescribeContributorInsights DescribeKinesisStreamingDestination DescribeTable " +
      "DescribeTimeToLive GetResourcePolicy ListTagsOfResource TagResource UntagResource UpdateContinuousBackups UpdateTable " +
      "UpdateTimeToLive",
  },
  "AWS::Events::Rule": {
    events:
      "DeleteRule DescribeRule ListTagsForResource ListTargetsByRule PutRule PutTargets RemoveTargets TagResource UntagResource",
  },
  "AWS::IAM::ManagedPolicy": {
    iam:
      "AttachRolePolicy CreatePolicy CreatePolicyVersion DeletePolicy DeletePolicyVersion DetachRolePolicy GetPolicy GetPolicyVersion " +
      "ListEntitiesForPolicy ListPolicyVersions",
  },
  "AWS::IAM::Policy": { iam: "DeleteRolePolicy GetRolePolicy PutRolePolicy" },
  "AWS::IAM::Role": {
    iam:
      "AttachRolePolicy CreateRole DeleteRole DeleteRolePolicy DetachRolePolicy GetRole GetRolePolicy ListAttachedRolePolicies " +
      "ListRolePolicies PutRolePolicy TagRole UntagRole UpdateAssumeRolePolicy UpdateRole UpdateRoleDescription",
  },
  "AWS::Lambda::EventInvokeConfig": {
    lambda:
      "DeleteFunctionEventInvokeConfig GetFunctionEventInvokeConfig PutFunctionEventInvokeConfig UpdateFunctionEventInvokeConfig",
  },
  "AWS::Lambda::EventSourceMapping": {
    lambda:
      "CreateEventSourceMapping DeleteEventSourceMapping GetEventSourceMapping ListTags TagResource UntagResource UpdateEventSourceMapping",
  },
  "AWS::Lambda::Function": {
    iam: "PassRole",
    lambda:
      "CreateFunction DeleteFunction DeleteFunctionConcurrency GetFunction GetFunctionCodeSigningConfig GetFunctionRecursionConfig " +
      "GetRuntimeManagementConfig PutFunctionConcurrency PutFunctionRecursionConfig TagResource UntagResource UpdateFunctionCode " +
      "UpdateFunctionConfiguration",
    s3: "GetObject GetObjectVersion",
  },
  "AWS::Lambda::Permission": { lambda: "AddPermission GetPolicy RemovePermission" },
  "AWS::Logs::LogGroup": {
    logs:
      "CreateLogGroup DeleteLogGroup DeleteRetentionPolicy DescribeIndexPolicies DescribeLogGroups GetDataProtectionPolicy " +
      "ListTagsForResource PutRetentionPolicy TagResource UntagResource",
  },
  "AWS::SQS::Queue": {
    sqs: "CreateQueue DeleteQueue GetQueueAttributes GetQueueUrl ListQueueTags SetQueueAttributes TagQueue UntagQueue",
  },
  "AWS::SQS::QueuePolicy": { sqs: "SetQueueAttributes" },
  "AWS::Scheduler::Schedule": {
    iam: "PassRole",
    scheduler: "CreateSchedule DeleteSchedule GetSchedule UpdateSchedule",
  },
  "AWS::Scheduler::ScheduleGroup": {
    scheduler:
      "CreateScheduleGroup DeleteSchedule DeleteScheduleGroup GetScheduleGroup ListTagsForResource TagResource UntagResource",
  },
  "AWS::SecretsManager::Secret": {
    secretsmanager:
      "CreateSecret DeleteSecret DescribeSecret GetRandomPassword GetSecretValue TagResource UntagResource UpdateSecret",
  },
};

/** The rights that a deployment needs, from the template of a queue that uses every type of resource. */
export function deploymentRights(): string {
  const types = [...new Set(resources().map(({ cfnResourceType }) => cfnResourceType))].sort();
  const unused = Object.keys(DEPLOYMENT_ACTIONS).filter((type) => !types.includes(type));
  if (unused.length > 0) throw new Error(`no queue has a resource of the type ${unused.join(", ")}`);
  const rows = types.map((type) => [code(type), rightsFor(type)]);
  return table(["resource type", "actions of its deployment"], rows);
}

function rightsFor(type: string): string {
  const services = DEPLOYMENT_ACTIONS[type];
  if (services === undefined)
    throw new Error(
      `the actions that CloudFormation needs for ${type} must be named in ${import.meta.filename}`,
    );
  return Object.entries(services)
    .map(([service, names]) => `${code(`${service}:`)} ${names.replaceAll(" ", ", ")}`)
    .join("; ");
}

function resources(): CfnResource[] {
  const stack = new Stack(new App(), "Docs");
  const cancelOn = { detailType: "OrderPaid", key: "$.detail.key" };
  const topics = { handled: { cancelOn }, pulled: { consumer: "pull" as const }, called: { webhook: {} } };
  const schedules = { nightly: { topic: "handled", expression: "cron(0 2 * * ? *)", body: null } };
  const authorizer = new HttpJwtAuthorizer("Login", "https://login.example.com", { jwtAudience: ["jobs"] });
  const api = { authorizer };
  const queue = new DelayQueue(stack, "Jobs", { topics, schedules, api, dashboard: true, removable: true });
  const fn = new LambdaFunction(stack, "Consumer", {
    code: Code.fromInline("exports.handler = async () => {}"),
    handler: "index.handler",
    runtime: Runtime.NODEJS_24_X,
    timeout: Duration.seconds(30),
  });
  queue.addConsumer("handled", fn);
  return stack.node.findAll().filter((construct) => CfnResource.isCfnResource(construct));
}
