import type { Duration } from "aws-cdk-lib";
import { Effect, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  Architecture,
  type Code,
  type FunctionOptions,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { PassedOn } from "../handler.ts";
import { removalOf } from "../removal.ts";
import { acknowledgeAll } from "../schedule-group.ts";
import { type BundleNote, noteBundle } from "./bundle-note.ts";

export type BundledFunctionProps = Pick<
  FunctionOptions,
  "description" | "deadLetterQueue" | "maxEventAge" | "retryAttempts" | "reservedConcurrentExecutions"
> &
  Omit<PassedOn, "tracing"> & {
    /** A folder with an `index.mjs` that exports `handler`. */
    readonly code: Code;
    /** How the code was bundled. Absent: the code is not bundled again when a file is saved. */
    readonly bundle?: BundleNote;
    readonly environment?: Readonly<Record<string, string>>;
    readonly timeout: Duration;
    readonly memoryMiB: number;
    readonly removable: boolean;
    readonly tracing?: boolean | Tracing;
    /**
     * Whether Lambda writes its own lines about each invocation into the log: START, END and REPORT. Without them Lambda still writes timeouts
     * and crashes.
     * @default true
     */
    readonly logsInvocations?: boolean;
    /** @default one month */
    readonly logRetention?: RetentionDays;
  };

/** What Lambda calls with a function's role to connect the function to its VPC ("Giving Lambda functions access to resources in a VPC"). */
const NETWORK_ACTIONS = [
  "ec2:CreateNetworkInterface",
  "ec2:DescribeNetworkInterfaces",
  "ec2:DescribeSubnets",
  "ec2:DeleteNetworkInterface",
  "ec2:AssignPrivateIpAddresses",
  "ec2:UnassignPrivateIpAddresses",
];

/** A function with its own log group and role. The role can write the log, and other constructs add further permissions. */
export class BundledFunction extends Construct {
  readonly fn: LambdaFunction;

  constructor(scope: Construct, id: string, props: BundledFunctionProps) {
    super(scope, id);
    const { memoryMiB, removable, tracing = false, logRetention, environment, bundle, ...more } = props;
    const { logsInvocations = true, ...options } = more;
    const logGroup = new LogGroup(this, "Log", {
      retention: logRetention ?? RetentionDays.ONE_MONTH,
      removalPolicy: removalOf(removable),
    });
    // The CDK's default role has an AWS managed policy that allows the function to write every log.
    const role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    role.addToPolicy(
      new PolicyStatement({
        actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
        resources: [logGroup.logGroupArn],
      }),
    );
    if (props.vpc !== undefined) connectToNetwork(role);
    const traced = tracing === true ? Tracing.ACTIVE : tracing || Tracing.DISABLED;
    this.fn = new LambdaFunction(this, "Function", {
      ...options,
      handler: "index.handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: memoryMiB,
      ...(environment && { environment }),
      logGroup,
      role,
      ...(traced !== Tracing.DISABLED && { tracing: traced }),
      // Only JSON has levels. A line that is JSON already stays as it is ("Configuring JSON and plain text log formats", Lambda Developer Guide).
      ...(!logsInvocations && { loggingFormat: LoggingFormat.JSON, systemLogLevelV2: SystemLogLevel.WARN }),
    });
    noteBundle(this.fn, bundle);
    if (traced !== Tracing.DISABLED)
      acknowledgeAll(
        this.fn,
        "*",
        "X-Ray's PutTraceSegments and PutTelemetryRecords cannot be limited to a resource",
      );
  }
}

/**
 * Lets Lambda connect the function to its VPC, but not the function's code: only calls of the code have the condition key
 * `lambda:SourceFunctionArn` ("Using IAM condition keys with VPC settings for Lambda functions").
 */
function connectToNetwork(role: Role): void {
  role.addToPolicy(new PolicyStatement({ actions: NETWORK_ACTIONS, resources: ["*"] }));
  role.addToPolicy(
    new PolicyStatement({
      effect: Effect.DENY,
      actions: NETWORK_ACTIONS,
      resources: ["*"],
      conditions: { Null: { "lambda:SourceFunctionArn": "false" } },
    }),
  );
  acknowledgeAll(role, "*", "Network interfaces are created at run time, and the code may not touch them");
}
