/** Where schedules are kept and what they invoke, as the construct says it in a function's environment. */
export type ScheduleTarget = {
  readonly group: string;
  /** The function's ARN. */
  readonly target: string;
  /** The ARN of the role that Scheduler takes to invoke it. */
  readonly role: string;
  /** The ARN of the queue that gets what Scheduler could not hand over. */
  readonly dlq?: string;
};
