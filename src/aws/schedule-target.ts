/** The group of schedules, and the ARNs of what they invoke. */
export type ScheduleTarget = {
  readonly group: string;
  readonly target: string;
  readonly role: string;
  /** Gets invocations that Scheduler has given up. */
  readonly dlq?: string;
};
