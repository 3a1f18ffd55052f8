import {
  HISTORY_MINUTE,
  type History,
  type HistoryAnswer,
  type HistoryAsked,
  type HistoryMinute,
  type HistoryPart,
  LATENESS_ENDS,
  minuteOf,
  type ReadHistory,
  type TopicHistory,
} from "../../console/history.ts";
import type { QueueNames } from "../aws/account.ts";
import type { AskedMetric, MetricValues } from "../aws/metrics.ts";
import { messageOf } from "../core/errors.ts";
import { METRICS_NAMESPACE, type TopicMetricName } from "../settings/metrics.ts";
import type { KnownQueue } from "./known-queue.ts";

/** AWS charges for each read metric. So the tabs of a console share one answer for so long, ms. */
const KEPT_MS = 30_000;

type Sources = {
  /** This machine's. */
  readonly clock: () => number;
  readonly queue: KnownQueue;
};

/** Reads the history of a stack's queue from CloudWatch's metrics, with the rights of the user. */
export function stackHistory(stack: string, { clock, queue: known }: Sources): ReadHistory {
  const names = once(async () => (await import("../aws/account.ts")).queueNames(stack));
  const kept = new Map<string, { readonly until: number; readonly answer: Promise<HistoryAnswer> }>();

  const read = async (asked: HistoryAsked): Promise<HistoryAnswer> => {
    const queue = await names();
    const why = whyUnknown(stack, queue);
    if (queue === undefined || why !== undefined) return { why: why ?? "" };
    const { topic } = asked;
    const topics = await known.topics(topic);
    if (topic !== undefined && !topics.includes(topic))
      return { why: `the queue has no topic ${JSON.stringify(topic)}` };
    return readHistory(queue, topic === undefined ? topics : [topic], asked, await known.now());
  };

  return (asked) => {
    const now = clock();
    for (const [key, { until }] of kept) if (until <= now) kept.delete(key);
    const key = `${asked.hours} ${asked.topic ?? ""}`;
    const found = kept.get(key);
    if (found) return found.answer;
    const answer = read(asked).catch((error: unknown) => ({ why: whyOf(error) }));
    kept.set(key, { until: now + KEPT_MS, answer });
    return answer;
  };
}

function whyUnknown(stack: string, queue: QueueNames | undefined): string | undefined {
  if (queue === undefined)
    return `the history is read from CloudWatch by the prefix of the queue, and the stack ${stack} does not have exactly one queue`;
  if (queue.topicMetrics?.includes("Lateness") ?? true) return undefined;
  return "the queue writes no metric Lateness, because `topicMetrics` of its construct leaves it out";
}

function whyOf(error: unknown): string {
  const message = messageOf(error);
  const [, right] = /not authorized to perform: ([\w:]+)/.exec(message) ?? [];
  return right === undefined ? message : `your credentials need the right ${right}: ${message}`;
}

type Value = {
  readonly of: "p50" | "p99" | HistoryPart;
  readonly metric: TopicMetricName;
  readonly statistic: string;
};

/** The metric and statistic of each value of a minute. */
const USUAL: readonly Value[] = [
  { of: "started", metric: "Lateness", statistic: "SampleCount" },
  { of: "p50", metric: "Lateness", statistic: "p50" },
  { of: "p99", metric: "Lateness", statistic: "p99" },
  { of: "failed", metric: "Failed", statistic: "Sum" },
  { of: "dead", metric: "Dead", statistic: "Sum" },
];

async function readHistory(
  { prefix, topicMetrics }: QueueNames,
  topics: readonly string[],
  { hours, topic: only }: HistoryAsked,
  to: number,
): Promise<History> {
  const from = minuteOf(to - hours * 60 * HISTORY_MINUTE);
  const all = only === undefined ? USUAL : [...USUAL, ...STEPS];
  const values = all.filter(({ metric }) => topicMetrics?.includes(metric) ?? true);
  const asked = topics.flatMap((topic) =>
    values.map(
      ({ metric, statistic }): AskedMetric => ({ metric, statistic, dimensions: { service: prefix, topic } }),
    ),
  );
  const { readMetrics } = await import("../aws/metrics.ts");
  const read = await readMetrics(asked, { namespace: METRICS_NAMESPACE, from, to });
  const unwritten = all.filter((value) => !values.includes(value));
  const found = topics.map((topic, place) => {
    const own = values.map((value, index) => ({ ...value, ...read[place * values.length + index] }));
    return topicHistory(topic, own, unwritten);
  });
  return { from, to, topics: found.filter(({ minutes, unknown }) => minutes.length > 0 || unknown) };
}

type ReadValue = Value & Partial<MetricValues>;

function topicHistory(topic: string, read: readonly ReadValue[], unwritten: readonly Value[]): TopicHistory {
  const lost = read.filter(({ trouble }) => trouble !== undefined);
  const parts = new Set(
    [...lost, ...unwritten].map(({ of }) => (of === "p50" || of === "p99" ? "started" : of)),
  );
  if (parts.size === 0) return { topic, minutes: minutesOf(read, parts) };
  const whys = new Set([
    ...lost.map(
      ({ metric, statistic, trouble }) =>
        `CloudWatch did not give all values of the metric ${metric} (${statistic}): ${trouble}`,
    ),
    ...unwritten.map(
      ({ metric }) =>
        `the queue writes no metric ${metric}, because \`topicMetrics\` of its construct leaves it out`,
    ),
  ]);
  const [why = ""] = whys;
  const minutes = parts.has("started") ? [] : minutesOf(read, parts);
  return { topic, minutes, unknown: { parts: [...parts], why } };
}

function minutesOf(read: readonly ReadValue[], unknown: ReadonlySet<HistoryPart>): HistoryMinute[] {
  const valuesOf = (part: Value["of"]) => read.filter(({ of }) => of === part).map(({ values }) => values);
  const counts = (["started", "failed", "dead"] as const).map((part) => valuesOf(part)[0]);
  const [[p50], [p99], steps] = [valuesOf("p50"), valuesOf("p99"), valuesOf("steps")];
  const times = [...new Set(counts.flatMap((values) => [...(values?.keys() ?? [])]))].sort((a, b) => a - b);
  return times.map((at) => {
    const [started = 0, failed = 0, dead = 0] = counts.map((values) => values?.get(at));
    const late = { p50: p50?.get(at), p99: p99?.get(at) };
    return {
      ...{ at, started, failed, dead },
      ...(late.p50 !== undefined && late.p99 !== undefined && { late: { p50: late.p50, p99: late.p99 } }),
      ...(steps.length > 0 &&
        !unknown.has("steps") && { steps: steps.map((values) => values?.get(at) ?? 0) }),
    };
  });
}

/** `TC` counts the values above its first bound and up to its second ("Statistics definitions", Amazon CloudWatch User Guide). */
const STEPS: readonly Value[] = [...LATENESS_ENDS, ""].map((end, place) => ({
  of: "steps",
  metric: "Lateness",
  statistic: `TC(${LATENESS_ENDS[place - 1] ?? ""}:${end})`,
}));

/** Asks again after a failure. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask().catch((error: unknown) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
}
