/** The namespace of the metrics in CloudWatch. */
export const METRICS_NAMESPACE = "Minutehand";

/** A metric of CloudWatch that the functions of a queue write. */
export type MetricDeclaration = {
  readonly unit: "Count" | "Milliseconds";
  /** Whether each topic has a metric of its own, with the dimension `topic`. Else there is one metric for the whole queue. */
  readonly by: "topic" | "queue";
  /** The table in the docs shows this. */
  readonly meaning: string;
};

/**
 * Every metric that a queue writes. Telemetry, alarms, the dashboard and the docs take their names from here. A metric has a value only
 * when something happens: CloudWatch bills a metric for the hours in which it has values.
 */
export const METRICS = {
  HandedOver: { unit: "Count", by: "topic", meaning: "jobs sent to the topic's ready queue" },
  Lateness: {
    unit: "Milliseconds",
    by: "topic",
    meaning: "how long after `dueAt` a first attempt started, without the time in `Held`",
  },
  Held: {
    unit: "Milliseconds",
    by: "topic",
    meaning:
      "how long after `dueAt` the start lay that a pause, `maxPerSecond` or a `window` gave a first attempt",
  },
  "Dropped-finished": {
    unit: "Count",
    by: "topic",
    meaning: "messages of jobs that were cancelled, or had ended in another way",
  },
  "Dropped-moved": {
    unit: "Count",
    by: "topic",
    meaning:
      "messages of jobs that got another start after the messages had been sent, such as rescheduled jobs",
  },
  "Dropped-gone": { unit: "Count", by: "topic", meaning: "messages of jobs that the table no longer has" },
  "Dropped-running": { unit: "Count", by: "topic", meaning: "messages of jobs that were running" },
  "Dropped-crashed": {
    unit: "Count",
    by: "topic",
    meaning: "messages that found a run whose lease had ended: the run counts as a failed attempt",
  },
  "Dropped-expired": {
    unit: "Count",
    by: "topic",
    meaning: "messages of jobs that had expired",
  },
  "Dropped-paused": {
    unit: "Count",
    by: "topic",
    meaning: "messages of jobs that a pause parked, or whose starts passed during a pause",
  },
  Failed: { unit: "Count", by: "topic", meaning: "attempts that failed and are followed by a retry" },
  Dead: { unit: "Count", by: "topic", meaning: "jobs that are dead" },
  DeadWithoutLetter: {
    unit: "Count",
    by: "queue",
    meaning:
      "jobs that are dead without a letter: their topic has no queue, or SQS does not accept their messages",
  },
  Warnings: {
    unit: "Count",
    by: "queue",
    meaning:
      "the sum of `AuditFound`, `DeadWithoutLetter`, `FarWithoutSchedule`, `NotifyFailed` and `RunawayJobs`, for one alarm",
  },
  Parked: {
    unit: "Count",
    by: "topic",
    meaning: "jobs that began to wait for a resume or for the rate limit",
  },
  Released: { unit: "Count", by: "topic", meaning: "parked jobs that got a time to start" },
  Deferred: {
    unit: "Count",
    by: "topic",
    meaning: "jobs moved to their window's next opening, more than 210 s ahead",
  },
  Skipped: {
    unit: "Count",
    by: "topic",
    meaning: "jobs that did not run because they came later than `ifLate` allows",
  },
  Expired: {
    unit: "Count",
    by: "topic",
    meaning: "jobs that came later than `expiresAfter` or `ifLate` allows",
  },
  SweepLag: {
    unit: "Milliseconds",
    by: "queue",
    meaning:
      "how far a tick's sweep is behind, if it is more than 150 s behind; up to two minutes is normal, because the cursor of an idle shard is written every second minute",
  },
  AuditFound: {
    unit: "Count",
    by: "queue",
    meaning:
      "jobs that were due and had not run: the audit sent them again, could not read them, or found them behind a backlog for 15 minutes; runs that a throttled target has kept from beginning, after 15 minutes; " +
      "and occurrences of schedules that were not filed",
  },
  Unreadable: {
    unit: "Count",
    by: "queue",
    meaning: "jobs that were left alone, because a newer version wrote them or they are malformed",
  },
  RunawayJobs: {
    unit: "Count",
    by: "queue",
    meaning:
      "calls of handlers that filed jobs, and runs that handlers asked for, in chains that have used more than half of `maxFiledPerChain`",
  },
  NotifyFailed: {
    unit: "Count",
    by: "queue",
    meaning: "events of `notify` that are lost, because the event bus did not take them in time",
  },
  FarWithoutSchedule: {
    unit: "Count",
    by: "queue",
    meaning:
      "far jobs that got no schedule, because 100,000 were written on that day (UTC): only the tick sends them",
  },
} as const satisfies Record<string, MetricDeclaration>;

export type MetricName = keyof typeof METRICS;

export type TopicMetricName = {
  [Name in MetricName]: (typeof METRICS)[Name]["by"] extends "topic" ? Name : never;
}[MetricName];

export type QueueMetricName = Exclude<MetricName, TopicMetricName>;

export const TOPIC_METRICS = (Object.keys(METRICS) as MetricName[]).filter(
  (name): name is TopicMetricName => METRICS[name].by === "topic",
);
