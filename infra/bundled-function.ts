import type { Duration } from "aws-cdk-lib";
import { PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  Architecture,
  type Code,
  type FunctionOptions,
  Function as LambdaFunction,
  Runtime,
  Tracing,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { type BundleNote, noteBundle } from "./bundle-note.ts";
import { removalOf } from "./removal.ts";
import { acknowledgeAll } from "./schedule-group.ts";

export type BundledFunctionProps = Pick<
  FunctionOptions,
  "description" | "deadLetterQueue" | "maxEventAge" | "retryAttempts" | "reservedConcurrentExecutions"
> & {
  /** A folder with an `index.mjs` that exports `handler`. */
  readonly code: Code;
  /** How the code was bundled. Absent: the code is not bundled again when a file is saved. */
  readonly bundle?: BundleNote;
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeout: Duration;
  readonly memoryMiB: number;
  readonly removable: boolean;
  /** Whether AWS X-Ray traces the function. */
  readonly tracing?: boolean;
};

/** A bundled function with its own log group and role. The role can write the log, and other constructs add further permissions. */
export class BundledFunction extends Construct {
  readonly fn: LambdaFunction;

  constructor(scope: Construct, id: string, props: BundledFunctionProps) {
    super(scope, id);
    const { memoryMiB, removable, tracing = false, environment, bundle, ...options } = props;
    const logGroup = new LogGroup(this, "Log", {
      retention: RetentionDays.ONE_MONTH,
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
    this.fn = new LambdaFunction(this, "Function", {
      ...options,
      handler: "index.handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: memoryMiB,
      environment: { POWERTOOLS_LOG_LEVEL: "INFO", ...environment },
      logGroup,
      role,
      ...(tracing && { tracing: Tracing.ACTIVE }),
    });
    noteBundle(this.fn, props.code, bundle);
    if (tracing)
      acknowledgeAll(
        this.fn,
        "*",
        "X-Ray's PutTraceSegments and PutTelemetryRecords cannot be limited to a resource",
      );
  }
}
