import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics } from "@aws-lambda-powertools/metrics";
import { USUAL_LAG } from "../core/constants.ts";
import type { ProtocolEvent } from "../protocol/reports.ts";
import { METRICS, type QueueMetricName, type TopicMetricName } from "../settings/metrics.ts";

/**
 * CloudWatch bills each line, so the steps of a job are logged at DEBUG, and problems at WARN. Bodies are never written. Call `flush` at the
 * end of each invocation.
 */
export type Telemetry = { report: (event: ProtocolEvent) => void; logger: Logger; flush: () => void };

const WARNINGS = new Set<ProtocolEvent["type"]>([
  "threw",
  "dead",
  "trouble",
  "unreadable",
  "hand-over-failed",
  "runaway",
]);

/**
 * The service's name and the log level come from Powertools' own variables.
 * @param topicMetrics the names of the topics' metrics to write, with commas between them. Absent: all
 */
export function createTelemetry(topicMetrics?: string): Telemetry {
  const logger = new Logger();
  const overall = new Metrics();
  const byTopic = new Map<string, Metrics>();
  const wanted = topicMetrics === undefined ? undefined : new Set(topicMetrics.split(","));
  const metricsOf = (topic: string): Metrics => {
    const metrics = byTopic.get(topic) ?? new Metrics({ defaultDimensions: { topic } });
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
    flush() {
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
    case "dead": {
      const dead: Measure = { name: "Dead", value: 1, topic: event.topic };
      return event.hasLetter ? [dead] : [dead, { name: "DeadWithoutLetter", value: 1 }];
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
      return [{ name: "FarWithoutSchedule", value: event.jobs }];
    case "runaway":
      return [{ name: "RunawayJobs", value: 1 }];
    case "audited":
      return notZero({ name: "AuditFound", value: event.found });
    default:
      return [];
  }
}

function notZero(measure: Measure): Measure[] {
  return measure.value === 0 ? [] : [measure];
}
