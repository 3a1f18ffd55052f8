import { Metrics } from "@aws-lambda-powertools/metrics";
import { measuresOf } from "../../../src/environment/telemetry.ts";
import type { ProtocolEvent } from "../../../src/protocol/reports.ts";
import { METRICS } from "../../../src/settings/metrics.ts";

export type WrittenMetrics = {
  /** Takes the events of one invocation. Answers how many bytes of log the metrics of this invocation are. */
  readonly written: (events: readonly ProtocolEvent[]) => number;
  /** How many metrics had a value since the last call, and how many of these were metrics of a topic. */
  readonly count: () => { readonly all: number; readonly ofTopics: number };
};

export function writtenMetrics(): WrittenMetrics {
  const seen = new Set<string>();
  return {
    written(events) {
      let bytes = 0;
      const byTopic = new Map<string, Metrics>();
      const metricsOf = (topic: string): Metrics => {
        const metrics = new Metrics({
          namespace: "Minutehand",
          ...(topic && { defaultDimensions: { topic } }),
        });
        // Powertools also calls this itself, when a metric has 100 values. Here the line is counted and not printed.
        return Object.assign(metrics, {
          publishStoredMetrics() {
            bytes += Buffer.byteLength(JSON.stringify(metrics.serializeMetrics()));
            metrics.clearMetrics();
          },
        });
      };
      for (const { name, value, topic = "" } of events.flatMap(measuresOf)) {
        const metrics = byTopic.get(topic) ?? metricsOf(topic);
        byTopic.set(topic, metrics);
        metrics.addMetric(name, METRICS[name].unit, value);
        seen.add(`${topic} ${name}`);
      }
      for (const metrics of byTopic.values()) if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
      return bytes;
    },
    count() {
      const ofTopics = [...seen].filter((metric) => !metric.startsWith(" ")).length;
      const all = seen.size;
      seen.clear();
      return { all, ofTopics };
    },
  };
}
