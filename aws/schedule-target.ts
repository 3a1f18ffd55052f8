/** The group of schedules and what they invoke. The construct writes it into a function's environment. */
export type ScheduleTarget = {
  readonly group: string;
  /** The function's ARN. */
  readonly target: string;
  /** The ARN of the role by which Scheduler invokes the function. */
  readonly role: string;
  /** The ARN of the queue for invocations that Scheduler has given up. */
  readonly dlq?: string;
};
