export type Execution = {
  readonly scheduleArn: string;
  /** ms since the epoch. */
  readonly scheduledTime: number;
  readonly id: string;
  /** The first attempt is 1. */
  readonly attempt: number;
};

/**
 * The input with replaced context attributes, else EventBridge's default event:
 * https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
 */
export function scheduleEvent(input: string | undefined, execution: Execution): unknown {
  const { scheduleArn, scheduledTime, id, attempt } = execution;
  const time = `${new Date(scheduledTime).toISOString().slice(0, 19)}Z`;
  if (input !== undefined)
    return JSON.parse(
      input
        .replaceAll("<aws.scheduler.schedule-arn>", scheduleArn)
        .replaceAll("<aws.scheduler.scheduled-time>", time)
        .replaceAll("<aws.scheduler.execution-id>", id)
        .replaceAll("<aws.scheduler.attempt-number>", String(attempt)),
    );
  const [, , , region, account] = scheduleArn.split(":");
  return {
    version: "0",
    id,
    "detail-type": "Scheduled Event",
    source: "aws.scheduler",
    account,
    time,
    region,
    resources: [scheduleArn],
    detail: "{}",
  };
}
