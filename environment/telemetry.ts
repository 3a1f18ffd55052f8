import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import type { ProtocolEvent } from "../protocol/reports.ts";

/**
 * Writes the protocol's events to structured logs and EMF metrics. The steps of a job are logged at DEBUG, because CloudWatch bills each
 * line, and problems at WARN. Bodies are never written. `flush` writes the metrics since the last flush: call it at the end of each
 * invocation.
 */
export type Telemetry = { report: (event: ProtocolEvent) => void; logger: Logger; flush: () => void };

const WARNINGS = new Set<ProtocolEvent["type"]>([
  "threw",
  "dead",
  "trouble",
  "unreadable",
  "hand-over-failed",
]);

/** Makes a function's telemetry. The service's name and the log level come from Powertools' own environment variables. */
export function createTelemetry(): Telemetry {
  const logger = new Logger();
  const overall = new Metrics();
  const byTopic = new Map<string, Metrics>();
  const metricsOf = (topic: string): Metrics => {
    const metrics = byTopic.get(topic) ?? new Metrics({ defaultDimensions: { topic } });
    byTopic.set(topic, metrics);
    return metrics;
  };

  const measure = (event: ProtocolEvent): void => {
    for (const { name, value, unit = MetricUnit.Count, topic } of measuresOf(event))
      (topic === undefined ? overall : metricsOf(topic)).addMetric(name, unit, value);
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

/** A value of a metric. `topic` is the metric's dimension. Without `topic`, the metric is one for all topics. */
export type Measure = {
  name: string;
  value: number;
  unit?: (typeof MetricUnit)[keyof typeof MetricUnit];
  topic?: string;
};

/** The values that an event adds to the metrics. */
export function measuresOf(event: ProtocolEvent): Measure[] {
  switch (event.type) {
    case "handed-over":
      return [{ name: "HandedOver", value: event.jobs, topic: event.topic }];
    case "started": {
      // A retry starts late on purpose.
      if (event.attempt !== 1) return [];
      const { topic, lateMs, heldMs } = event;
      const unit = MetricUnit.Milliseconds;
      const lateness = { name: "Lateness", value: lateMs - heldMs, unit, topic };
      // The time for which a pause, a limit or a window held the job is no lateness, so it has a metric of its own.
      return heldMs > 0 ? [lateness, { name: "Held", value: heldMs, unit, topic }] : [lateness];
    }
    case "dropped":
      return ["Dropped", `Dropped-${event.reason}`].map((name) => ({ name, value: 1, topic: event.topic }));
    case "dead": {
      const dead = { name: "Dead", value: 1, topic: event.topic };
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
      return [
        { name: "Swept", value: event.entries },
        { name: "SweepLag", value: event.lagMs, unit: MetricUnit.Milliseconds },
      ];
    case "unreadable":
      return [{ name: "Unreadable", value: event.jobs }];
    case "audited":
      return [
        { name: "Audited", value: event.entries },
        { name: "AuditFound", value: event.found },
      ];
    default:
      return [];
  }
}
