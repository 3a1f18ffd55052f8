import type { MetricDataResult } from "@aws-sdk/client-cloudwatch";
import { chunksOf, inParallel } from "../general/batches.ts";
import { requirePackages } from "../general/optional-packages.ts";
import { settings } from "./clients.ts";
import { unavailable } from "./unknown.ts";

/** A metric of CloudWatch, and the statistic that is asked for, such as `Sum`, `p99` or `TC(100:250)`. */
export type AskedMetric = {
  readonly metric: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly statistic: string;
};

/** Times are ms since the epoch. */
export type MetricRange = { readonly namespace: string; readonly from: number; readonly to: number };

/**
 * Values by the beginnings of their minutes, ms since the epoch. `trouble`: why CloudWatch did not give all of them. Then a minute without a
 * value says nothing.
 */
export type MetricValues = { readonly values: ReadonlyMap<number, number>; readonly trouble?: string };

/** CloudWatch's limit for a call ("GetMetricData", Amazon CloudWatch API Reference). */
const METRICS_A_CALL = 500;
const PERIOD_S = 60;

/** Answers the values of each metric, minute by minute, in the order of `asked`. AWS charges for each metric. Throws `unavailable`. */
export async function readMetrics(
  asked: readonly AskedMetric[],
  range: MetricRange,
): Promise<MetricValues[]> {
  try {
    requirePackages("the history", "@aws-sdk/client-cloudwatch");
    const { CloudWatchClient, paginateGetMetricData } = await import("@aws-sdk/client-cloudwatch");
    const client = new CloudWatchClient(settings());
    const read = async (some: readonly AskedMetric[]): Promise<MetricValues[]> => {
      const found = some.map(() => ({ values: new Map<number, number>(), trouble: NO_ANSWER }));
      const input = {
        StartTime: new Date(range.from),
        EndTime: new Date(range.to),
        MetricDataQueries: some.map((one, index) => queryOf(one, index, range.namespace)),
      };
      for await (const { MetricDataResults = [] } of paginateGetMetricData({ client }, input))
        for (const result of MetricDataResults) {
          const own = found[Number(result.Id?.slice(1))];
          if (own === undefined) continue;
          // Each page of a metric says whether more follow. The last one counts.
          own.trouble = troubleOf(result);
          const { Timestamps = [], Values = [] } = result;
          for (const [place, at] of Timestamps.entries()) {
            const value = Values[place];
            if (value !== undefined) own.values.set(at.getTime(), value);
          }
        }
      return found.map(({ values, trouble }) => (trouble === "" ? { values } : { values, trouble }));
    };
    return (await inParallel(chunksOf(asked, METRICS_A_CALL), 2, read)).flat();
  } catch (thrown) {
    throw unavailable("CloudWatch did not give the queue's metrics", thrown);
  }
}

const NO_ANSWER = "no answer";

/** Empty if CloudWatch has given all values ("MetricDataResult", Amazon CloudWatch API Reference). */
function troubleOf({ StatusCode, Messages = [] }: MetricDataResult): string {
  if (StatusCode === "Complete") return "";
  return [StatusCode ?? NO_ANSWER, ...Messages.flatMap(({ Value }) => Value ?? [])].join(": ");
}

function queryOf({ metric, dimensions, statistic }: AskedMetric, index: number, Namespace: string) {
  const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
  const Metric = { Namespace, MetricName: metric, Dimensions };
  // An id must begin with a small letter.
  return { Id: `m${index}`, MetricStat: { Metric, Period: PERIOD_S, Stat: statistic } };
}
