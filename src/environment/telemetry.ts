import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics } from "@aws-lambda-powertools/metrics";
import { USUAL_LAG } from "../core/constants.ts";
import type { ProtocolEvent } from "../protocol/reports.ts";
import {
  METRICS,
  METRICS_NAMESPACE,
  type QueueMetricName,
  type TopicMetricName,
} from "../settings/metrics.ts";

/** Is awaited at the end of each invocation. `by`: until when it may wait, ms since the epoch. */
export type Flush = (by?: number) => Promise<void>;

/** CloudWatch bills each line, so the steps of a job are logged at DEBUG, and problems at WARN. Bodies are never written. */
export type Telemetry = { report: (event: ProtocolEvent) => void; logger: Logger; flush: Flush };

const WARNINGS = new Set<ProtocolEvent["type"]>([
  "threw",
  "dead",
  "trouble",
  "unreadable",
  "hand-over-failed",
  "missed",
  "skipped-in-pause",
  "runaway",
  "throttled",
  "not-notified",
]);

/**
 * The log level comes from Powertools' own variable. The names do not, because these variables are the user's in a user's own function.
 * @param serviceName the `service` of logs and metrics
 * @param topicMetrics the names of the topics' metrics to write, with commas between them. Absent: all
 */
export function createTelemetry(serviceName: string, topicMetrics?: string): Telemetry {
  const names = { serviceName, namespace: METRICS_NAMESPACE };
  const logger = new Logger({ serviceName });
  const overall = new Metrics(names);
  const byTopic = new Map<string, Metrics>();
  const wanted = topicMetrics === undefined ? undefined : new Set(topicMetrics.split(","));
  const metricsOf = (topic: string): Metrics => {
    const metrics = byTopic.get(topic) ?? new Metrics({ ...names, defaultDimensions: { topic } });
    byTopic.set(topic, metrics);
    return metrics;
  };

  const measure = (event: ProtocolEvent): void => {
    for (const { name, value, topic } of measuresOf(event)) {
      if (topic === undefined) overall.addMetric(name, METRICS[name].unit, value);
      else if (wanted?.has(name) !== false) metricsOf(topic).addMetric(name, METRICS[name].unit, value);
    }
  };

  return {
    logger,
    report(event) {
      const { type, ...fields } = event;
      logger[WARNINGS.has(type) ? "warn" : "debug"](`job ${type}`, { type, ...fields });
      measure(event);
    },
    async flush() {
      for (const metrics of [overall, ...byTopic.values()]) {
        if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
      }
    },
  };
}

/** `topic`: if each topic has this metric. */
export type Measure =
  | { readonly name: QueueMetricName; readonly value: number; readonly topic?: undefined }
  | { readonly name: TopicMetricName; readonly value: number; readonly topic: string };

/** While nothing happens there are none, because CloudWatch bills each hour with a value. */
// long: a list of the events that have metrics
export function measuresOf(event: ProtocolEvent): Measure[] {
  switch (event.type) {
    case "handed-over":
      return [{ name: "HandedOver", value: event.jobs, topic: event.topic }];
    case "started": {
      // A retry starts late on purpose.
      if (event.attempt !== 1) return [];
      const { topic, lateMs, heldMs } = event;
      const lateness: Measure = { name: "Lateness", value: lateMs - heldMs, topic };
      // Held by a pause, a limit or a window, a job is not late.
      return heldMs > 0 ? [lateness, { name: "Held", value: heldMs, topic }] : [lateness];
    }
    case "dropped":
      return [{ name: `Dropped-${event.reason}`, value: 1, topic: event.topic }];
    case "failed":
      return event.isThrottled ? [] : [{ name: "Failed", value: 1, topic: event.topic }];
    case "dead": {
      const dead: Measure = { name: "Dead", value: 1, topic: event.topic };
      return event.hasLetter ? [dead] : [dead, ...warned({ name: "DeadWithoutLetter", value: 1 })];
    }
    case "expired":
      return [{ name: "Expired", value: 1, topic: event.topic }];
    case "skipped":
      return [{ name: "Skipped", value: 1, topic: event.topic }];
    case "parked":
      return [{ name: "Parked", value: event.jobs, topic: event.topic }];
    case "released":
      return [{ name: "Released", value: event.jobs, topic: event.topic }];
    case "deferred":
      return [{ name: "Deferred", value: event.jobs, topic: event.topic }];
    case "swept":
      return notZero({ name: "SweepLag", value: event.lagMs > USUAL_LAG ? event.lagMs : 0 });
    case "unreadable":
      return [{ name: "Unreadable", value: event.jobs }];
    case "unscheduled":
      return warned({ name: "FarWithoutSchedule", value: event.jobs });
    case "missed":
      // The same alarm rings as for the audit: both are work that was not done in time.
      return warned({ name: "AuditFound", value: event.times.length });
    case "throttled":
      // No audit finds the job, because each retry gives it a later time.
      return warned({ name: "AuditFound", value: 1 });
    case "not-notified":
      return warned({ name: "NotifyFailed", value: event.jobs });
    case "runaway":
      return warned({ name: "RunawayJobs", value: 1 });
    case "audited":
      return warned({ name: "AuditFound", value: event.found });
    default:
      return [];
  }
}

/** The measure, and the same value for the alarm that all rare measures of the queue share. */
function warned(measure: Measure & { readonly name: QueueMetricName }): Measure[] {
  return notZero(measure).flatMap((one) => [one, { name: "Warnings", value: measure.value }]);
}

function notZero(measure: Measure): Measure[] {
  return measure.value === 0 ? [] : [measure];
}
