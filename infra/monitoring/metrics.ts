import { Duration } from "aws-cdk-lib";
import { Metric, type MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { METRICS_NAMESPACE, type QueueMetricName, type TopicMetricName } from "../../src/settings/metrics.ts";

export const MINUTE = Duration.minutes(1);

export function queueMetric(prefix: string, metricName: QueueMetricName, options: MetricOptions): Metric {
  return own(metricName, { service: prefix }, options);
}

export function topicMetric(
  prefix: string,
  topic: string,
  metricName: TopicMetricName,
  options: MetricOptions,
): Metric {
  return own(metricName, { service: prefix, topic }, options);
}

function own(metricName: string, dimensionsMap: Record<string, string>, options: MetricOptions): Metric {
  return new Metric({ namespace: METRICS_NAMESPACE, metricName, dimensionsMap, period: MINUTE, ...options });
}
