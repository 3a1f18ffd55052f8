import {
  HISTORY_MINUTE,
  type History,
  type HistoryAnswer,
  type HistoryAsked,
  type HistoryMinute,
  LATENESS_ENDS,
  minuteOf,
  type ReadHistory,
} from "../../console/history.ts";
import type { QueueNames } from "../aws/account.ts";
import type { AskedMetric, MetricValues } from "../aws/metrics.ts";
import { messageOf } from "../core/errors.ts";
import { METRICS_NAMESPACE, type TopicMetricName } from "../settings/metrics.ts";

/** AWS charges for each read metric. So the tabs of a console share one answer for so long, ms. */
const KEPT_MS = 30_000;

type Sources = {
  readonly clock: () => number;
  readonly topics: () => Promise<readonly string[]>;
};

/** Reads the history of a stack's queue from CloudWatch's metrics, with the rights of the user. */
export function stackHistory(stack: string, { clock, topics }: Sources): ReadHistory {
  const names = once(async () => (await import("../aws/account.ts")).queueNames(stack));
  const topicNames = once(topics);
  const kept = new Map<string, { readonly until: number; readonly answer: Promise<HistoryAnswer> }>();

  const read = async (asked: HistoryAsked): Promise<HistoryAnswer> => {
    const queue = await names();
    const why = whyUnknown(stack, queue);
    if (queue === undefined || why !== undefined) return { why: why ?? "" };
    const shown = asked.topic === undefined ? await topicNames() : [asked.topic];
    return readHistory(queue.prefix, shown, asked, clock());
  };

  return (asked) => {
    const key = `${asked.hours} ${asked.topic ?? ""}`;
    const found = kept.get(key);
    if (found && found.until > clock()) return found.answer;
    const answer = read(asked).catch((error: unknown) => ({ why: whyOf(error) }));
    kept.set(key, { until: clock() + KEPT_MS, answer });
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

const STEPS = stepStatistics();

/** The metric and statistic of each value of a minute. */
const USUAL: readonly (readonly [TopicMetricName, string])[] = [
  ["Lateness", "SampleCount"],
  ["Lateness", "p50"],
  ["Lateness", "p99"],
  ["Failed", "Sum"],
  ["Dead", "Sum"],
];

async function readHistory(
  prefix: string,
  topics: readonly string[],
  { hours, topic: only }: HistoryAsked,
  to: number,
): Promise<History> {
  const from = minuteOf(to - hours * 60 * HISTORY_MINUTE);
  const values = only === undefined ? USUAL : [...USUAL, ...STEPS];
  const asked = topics.flatMap((topic) =>
    values.map(
      ([metric, statistic]): AskedMetric => ({ metric, statistic, dimensions: { service: prefix, topic } }),
    ),
  );
  const { readMetrics } = await import("../aws/metrics.ts");
  const read = await readMetrics(asked, { namespace: METRICS_NAMESPACE, from, to });
  const found = topics.map((topic, place) => {
    const own = read.slice(place * values.length, (place + 1) * values.length);
    return { topic, minutes: minutesOf(own) };
  });
  return { from, to, topics: found.filter(({ minutes }) => minutes.length > 0) };
}

/** In the order of `USUAL` and `STEPS`. */
function minutesOf([started, p50, p99, failed, dead, ...steps]: readonly MetricValues[]): HistoryMinute[] {
  const known = [started, failed, dead].flatMap((values) => [...(values?.keys() ?? [])]);
  const times = [...new Set(known)].sort((a, b) => a - b);
  return times.map((at) => {
    const late = { p50: p50?.get(at), p99: p99?.get(at) };
    return {
      at,
      started: started?.get(at) ?? 0,
      failed: failed?.get(at) ?? 0,
      dead: dead?.get(at) ?? 0,
      ...(late.p50 !== undefined && late.p99 !== undefined && { late: { p50: late.p50, p99: late.p99 } }),
      ...(steps.length > 0 && { steps: steps.map((values) => values.get(at) ?? 0) }),
    };
  });
}

/** `TC` counts the values above its first bound and up to its second ("Statistics definitions", Amazon CloudWatch User Guide). */
function stepStatistics(): (readonly [TopicMetricName, string])[] {
  const bounds = ["", ...LATENESS_ENDS, ""];
  return bounds.slice(1).map((end, place) => ["Lateness", `TC(${bounds[place]}:${end})`]);
}

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
