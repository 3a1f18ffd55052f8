import { Duration } from "aws-cdk-lib";
import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { grantPool, grantQueues, ONE_JOB_ACTIONS } from "./access.ts";
import { bundleOf } from "./bundles.ts";
import { BundledFunction } from "./bundling/bundled-function.ts";
import { declaredInput } from "./declared-schedule.ts";
import type { PoolTable } from "./job-pool.ts";
import type { ScheduleProps } from "./props.ts";
import { queueSettings } from "./queue-settings.ts";
import { acknowledgeAll, ScheduleGroup } from "./schedule-group.ts";
import { DLQ_RETENTION, type QueueParts, type TopicQueues } from "./topic-queues.ts";

export type RecurringSchedulesProps = QueueParts & { readonly encryptionKey: IKey | undefined };

const TIMEOUT = Duration.seconds(30);
const MEMORY_MIB = 512;
/** After this time the sweep has sent the job, so a later invocation would be useless. */
const PROMOTE_WITHIN = Duration.minutes(5);

/** The one-time schedules of jobs that are due far ahead, and the function that they invoke. */
export class Promotions extends Construct {
  readonly fn: LambdaFunction;
  private readonly group: ScheduleGroup;

  constructor(scope: Construct, id: string, { table, topics, prefix, removable, tracing }: QueueParts) {
    super(scope, id);
    this.fn = new BundledFunction(this, "Promote", {
      code: bundleOf("promote"),
      description: "Sends one job that was filed far ahead to its ready queue",
      timeout: TIMEOUT,
      memoryMiB: MEMORY_MIB,
      // The function has no DLQ, because the sweep sends the job anyway if the function fails.
      retryAttempts: 2,
      maxEventAge: PROMOTE_WITHIN,
      removable,
      tracing,
    }).fn;
    // Untracked jobs have no schedule.
    sendJobs(
      this.fn,
      table,
      topics.filter(({ isTracked }) => isTracked),
    );
    const name = `${prefix}-promotions`;
    this.group = new ScheduleGroup(this, "Schedules", {
      name,
      target: this.fn,
      variable: "MINUTEHAND_PROMOTIONS",
    });
  }

  get environment(): Readonly<Record<string, string>> {
    return this.group.environment;
  }

  /** Lets a `grantee` that files, moves or cancels jobs change their schedules. If `grantee` is a function, also sets its environment. */
  grantKeep(grantee: IGrantable): void {
    this.group.allow(grantee, ["CreateSchedule", "UpdateSchedule", "DeleteSchedule"]);
  }
}

/** The recurring schedules, the function that files their jobs, and a DLQ for the occurrences that the function could not file. */
export class RecurringSchedules extends Construct {
  readonly fn: LambdaFunction;
  readonly dlq: Queue;
  private readonly group: ScheduleGroup;

  constructor(scope: Construct, id: string, props: RecurringSchedulesProps) {
    super(scope, id);
    const { table, topics, prefix, removable, tracing } = props;
    this.dlq = new Queue(this, "Dlq", {
      queueName: `${prefix}_schedules_dlq`,
      retentionPeriod: DLQ_RETENTION,
      ...queueSettings(props),
    });
    this.fn = new BundledFunction(this, "Occurrence", {
      code: bundleOf("occurrence"),
      description: "Files the jobs of recurring schedules",
      timeout: TIMEOUT,
      memoryMiB: MEMORY_MIB,
      retryAttempts: 2,
      deadLetterQueue: this.dlq,
      removable,
      tracing,
    }).fn;
    sendJobs(this.fn, table, topics);
    grantQueues(this.fn, [this.dlq], ["SendMessage"]);
    const name = `${prefix}-schedules`;
    this.group = new ScheduleGroup(this, "Schedules", {
      name,
      target: this.fn,
      dlq: this.dlq,
      variable: "MINUTEHAND_SCHEDULES",
    });
  }

  /** Declares a schedule of the queue at `path`. */
  declare(path: string, name: string, schedule: ScheduleProps): void {
    this.group.declare(name, schedule, declaredInput(path, name, schedule));
  }

  /** Lets `grantee` create, change, read, list and delete schedules. If `grantee` is a function, also sets its environment. */
  grantManage(grantee: IGrantable): void {
    this.group.allow(grantee, ["CreateSchedule", "UpdateSchedule", "GetSchedule", "DeleteSchedule"]);
    // A permission for ListSchedules cannot name a resource ("Actions, resources, and condition keys for Amazon EventBridge Scheduler").
    Grant.addToPrincipal({
      grantee,
      actions: ["scheduler:ListSchedules"],
      resourceArns: ["*"],
    }).assertSuccess();
    acknowledgeAll(grantee, "*", "scheduler:ListSchedules cannot be limited to a resource");
  }
}

function sendJobs(fn: LambdaFunction, table: PoolTable, topics: readonly TopicQueues[]): void {
  grantPool(fn, table, ONE_JOB_ACTIONS);
  grantQueues(
    fn,
    topics.map(({ ready }) => ready),
    ["SendMessage"],
  );
}
