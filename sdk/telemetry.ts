import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import type { ProtocolEvent } from "../protocol/events.ts";

/**
 * Where the protocol's events go: structured logs (a job's steps at DEBUG, since CloudWatch bills by the line;
 * what went wrong at WARN) and EMF metrics. Bodies never reach either. `flush` writes the metrics gathered
 * since the last time, at the end of each invocation.
 */
export type Telemetry = { report: (event: ProtocolEvent) => void; logger: Logger; flush: () => void };

const WARNINGS = new Set<ProtocolEvent["type"]>(["dead", "trouble", "unreadable", "hand-over-failed"]);

/** Names and settings come from Powertools' own environment variables. */
export function createTelemetry(): Telemetry {
  const logger = new Logger();
  const overall = new Metrics();
  const byTopic = new Map<string, Metrics>();
  const of = (topic: string): Metrics => {
    const metrics = byTopic.get(topic) ?? new Metrics({ defaultDimensions: { topic } });
    byTopic.set(topic, metrics);
    return metrics;
  };

  const measure = (event: ProtocolEvent): void => {
    switch (event.type) {
      case "handed-over":
        of(event.topic).addMetric("HandedOver", MetricUnit.Count, event.jobs);
        break;
      case "started":
        // Retries are late by intent.
        if (event.attempt === 1) {
          const { topic, lateMs, heldMs } = event;
          of(topic).addMetric("Lateness", MetricUnit.Milliseconds, lateMs - heldMs);
          // What a pause, a limit or a window made late is no failing, so it is counted apart.
          if (heldMs > 0) of(topic).addMetric("Held", MetricUnit.Milliseconds, heldMs);
        }
        break;
      case "dropped":
        of(event.topic).addMetric("Dropped", MetricUnit.Count, 1);
        of(event.topic).addMetric(`Dropped-${event.reason}`, MetricUnit.Count, 1);
        break;
      case "dead":
        of(event.topic).addMetric("Dead", MetricUnit.Count, 1);
        break;
      case "expired":
        of(event.topic).addMetric("Expired", MetricUnit.Count, 1);
        break;
      case "skipped":
        of(event.topic).addMetric("Skipped", MetricUnit.Count, 1);
        break;
      case "parked":
        of(event.topic).addMetric("Parked", MetricUnit.Count, event.jobs);
        break;
      case "released":
        of(event.topic).addMetric("Released", MetricUnit.Count, event.jobs);
        break;
      case "deferred":
        of(event.topic).addMetric("Deferred", MetricUnit.Count, event.jobs);
        break;
      case "swept":
        overall.addMetric("Swept", MetricUnit.Count, event.entries);
        overall.addMetric("SweepLag", MetricUnit.Milliseconds, event.lagMs);
        break;
      case "unreadable":
        overall.addMetric("Unreadable", MetricUnit.Count, event.jobs);
        break;
      case "audited":
        overall.addMetric("Audited", MetricUnit.Count, event.entries);
        overall.addMetric("AuditFound", MetricUnit.Count, event.found);
        break;
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
