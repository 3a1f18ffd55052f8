import { Duration } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction as LambdaTarget } from "aws-cdk-lib/aws-events-targets";
import { type IRole, Policy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { MOST_SWEEPERS } from "../src/core/constants.ts";
import { grantNotify, grantPool, grantQueues, TICK_ACTIONS } from "./access.ts";
import { bundleOf } from "./bundles.ts";
import { BundledFunction } from "./bundling/bundled-function.ts";
import type { QueueParts } from "./topic-queues.ts";

/** A failed tick is neither retried nor kept in a DLQ: the next tick does the same work, and `TickErrors` and `TickMissing` tell of it. */
const NO_REPEATS = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };

export type TickProps = QueueParts & {
  readonly tickConcurrency: number | undefined;
  readonly tickSweepers: number | undefined;
};

/** An EventBridge rule fires it each minute: docs/internals/decisions/tick-rule.md. */
export class Tick extends Construct {
  readonly fn: LambdaFunction;
  /** How many further invocations a tick starts at most. */
  readonly sweepers: number;

  constructor(scope: Construct, id: string, props: TickProps) {
    super(scope, id);
    const { topics, removable, tracing, tickConcurrency, tickSweepers = MOST_SWEEPERS } = props;
    // Lambda would not start more invocations than are reserved.
    this.sweepers = Math.min(tickSweepers, (tickConcurrency ?? MOST_SWEEPERS + 1) - 1);
    const isLimited = tickConcurrency !== undefined || props.tickSweepers !== undefined;
    this.fn = new BundledFunction(this, "Sweeper", {
      code: bundleOf("tick"),
      description: "Sends due jobs to their ready queues, and audits that jobs have run",
      timeout: Duration.minutes(3),
      memoryMiB: 1024,
      ...NO_REPEATS,
      removable,
      tracing,
      ...(tickConcurrency && { reservedConcurrentExecutions: tickConcurrency }),
      ...(isLimited && { environment: { MINUTEHAND_SWEEPERS: String(this.sweepers) } }),
    }).fn;
    const withoutPollers = topics.filter(({ settings }) => settings.pollers === false);
    if (withoutPollers.length > 0)
      this.fn.addEnvironment("MINUTEHAND_NO_POLLERS", withoutPollers.map(({ topic }) => topic).join(","));
    allowSelfInvocation(this.fn);
    this.grant(props);
    new Rule(this, "EveryMinute", {
      description: "Minutehand's tick",
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [new LambdaTarget(this.fn, NO_REPEATS)],
    });
  }

  private grant({ table, topics }: TickProps): void {
    grantPool(this.fn, table, TICK_ACTIONS);
    grantQueues(
      this.fn,
      topics.map(({ ready }) => ready),
      ["SendMessage", "GetQueueAttributes"],
    );
    grantQueues(
      this.fn,
      topics.filter(({ isTracked }) => isTracked).map(({ dlq }) => dlq),
      ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes"],
    );
    // The tick runs no job. But a job that SQS never takes is dead.
    grantNotify(
      this.fn,
      topics.filter(({ settings }) => settings.notify?.includes("dead")),
    );
  }
}

/** The policy is not a part of the role: the function depends on its role. */
function allowSelfInvocation(fn: LambdaFunction): void {
  const statement = new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [fn.functionArn] });
  new Policy(fn, "StartSweepers", { statements: [statement] }).attachToRole(fn.role as IRole);
}
