import { Aws, RemovalPolicy, Stack, Validations } from "aws-cdk-lib";
import { Grant, type IGrantable, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { CfnSchedule, ScheduleGroup as SchedulerGroup } from "aws-cdk-lib/aws-scheduler";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { schedulerExpression } from "../src/cron/crontab.ts";
import { grantQueues } from "./access.ts";
import { secondsOf } from "./app-duration.ts";
import type { ScheduleProps } from "./props.ts";

export type ScheduleGroupProps = {
  readonly name: string;
  readonly target: LambdaFunction;
  /** The queue for invocations that Scheduler could not deliver to `target`. */
  readonly dlq?: IQueue;
  readonly variable: "MINUTEHAND_PROMOTIONS" | "MINUTEHAND_SCHEDULES";
};

type ScheduleAction = "CreateSchedule" | "UpdateSchedule" | "GetSchedule" | "DeleteSchedule";

const SERVICE = "scheduler.amazonaws.com";

/** A group and the role with which Scheduler invokes its target. Functions add schedules at run time. Deleting the stack deletes them. */
export class ScheduleGroup extends Construct {
  /** Tells a program about the group. */
  readonly environment: Readonly<Record<string, string>>;

  private readonly role: Role;
  private readonly name: string;
  private readonly group: SchedulerGroup;
  private readonly target: CfnSchedule.TargetProperty;

  constructor(scope: Construct, id: string, props: ScheduleGroupProps) {
    super(scope, id);
    this.name = props.name;
    this.group = new SchedulerGroup(this, "Group", {
      scheduleGroupName: props.name,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    // `aws:SourceArn` is the group, not the schedule ("Cross-service confused deputy prevention", EventBridge Scheduler User Guide).
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal(SERVICE, {
        conditions: {
          StringEquals: {
            "aws:SourceAccount": Stack.of(this).account,
            "aws:SourceArn": this.group.scheduleGroupArn,
          },
        },
      }),
    });
    // The CDK's `grantInvoke` would also allow invocations of every version.
    this.role.addToPolicy(
      new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [props.target.functionArn] }),
    );
    if (props.dlq !== undefined) grantQueues(this.role, [props.dlq], ["SendMessage"]);
    const where = {
      group: props.name,
      target: props.target.functionArn,
      role: this.role.roleArn,
      ...(props.dlq && { dlq: props.dlq.queueArn }),
    };
    this.target = {
      arn: where.target,
      roleArn: where.role,
      ...(props.dlq && { deadLetterConfig: { arn: props.dlq.queueArn } }),
    };
    this.environment = { [props.variable]: Stack.of(this).toJsonString(where) };
  }

  /** Declares a schedule, which belongs to the stack. `input`: what the target gets. */
  declare(name: string, schedule: ScheduleProps, input: string): void {
    const { expression, timezone = "UTC", paused = false, flexibleWindow } = schedule;
    const declared = new CfnSchedule(this, `Declared-${name}`, {
      name,
      groupName: this.group.scheduleGroupName,
      scheduleExpression: schedulerExpression(expression),
      scheduleExpressionTimezone: timezone,
      state: paused ? "DISABLED" : "ENABLED",
      flexibleTimeWindow: flexibleWindow
        ? { mode: "FLEXIBLE", maximumWindowInMinutes: secondsOf(flexibleWindow) / 60 }
        : { mode: "OFF" },
      target: { ...this.target, input },
    });
    declared.node.addDependency(this.group, this.role);
  }

  /** If `grantee` is a function, also sets its environment. */
  allow(grantee: IGrantable, actions: readonly ScheduleAction[]): void {
    const schedules = `arn:${Aws.PARTITION}:scheduler:${Aws.REGION}:${Aws.ACCOUNT_ID}:schedule/${this.name}/*`;
    Grant.addToPrincipal({
      grantee,
      actions: actions.map((action) => `scheduler:${action}`),
      resourceArns: [schedules],
    }).assertSuccess();
    acknowledgeAll(grantee, schedules, "The schedules of a group are created at run time");
    Grant.addToPrincipal({
      grantee,
      actions: ["iam:PassRole"],
      resourceArns: [this.role.roleArn],
      conditions: { StringEquals: { "iam:PassedToService": SERVICE } },
    }).assertSuccess();
    if (!(grantee instanceof LambdaFunction)) return;
    for (const [variable, value] of Object.entries(this.environment)) grantee.addEnvironment(variable, value);
  }
}

/** Tells cdk-nag why a role needs an ARN with a `*`. */
export function acknowledgeAll({ grantPrincipal }: IGrantable, arn: string, reason: string): void {
  if (!Construct.isConstruct(grantPrincipal)) return;
  const shown = Object.entries({
    [Aws.PARTITION]: "<AWS::Partition>",
    [Aws.REGION]: "<AWS::Region>",
    [Aws.ACCOUNT_ID]: "<AWS::AccountId>",
  }).reduce((text, [token, name]) => text.replaceAll(token, name), arn);
  Validations.of(grantPrincipal).acknowledge({ id: `AwsSolutions-IAM5[Resource::${shown}]`, reason });
}
