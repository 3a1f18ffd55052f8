import { percentile } from "../../src/general/percentile.ts";
import type { JobSummary } from "../../src/http/answers/jobs.ts";
import type { History } from "../history.ts";
import { compare, minutesOf } from "./history-spans.ts";

export type Lateness = {
  /** ms */
  readonly p50: number;
  readonly p99: number;
  readonly runs: number;
};

/** By topic, how late the last runs started. A wait for a pause, a limit or a window does not count, nor does a job that has not run. */
export function latenessByTopic(
  jobs: readonly Pick<JobSummary, "topic" | "dueAt" | "heldUntil" | "claimedAt">[],
): Map<string, Lateness> {
  const waits = Map.groupBy(
    jobs.filter(({ claimedAt }) => claimedAt !== undefined),
    ({ topic }) => topic,
  );
  return new Map(
    [...waits].map(([topic, ran]) => {
      const late = ran
        .map(({ dueAt, heldUntil = dueAt, claimedAt = dueAt }) =>
          Math.max(Date.parse(claimedAt) - Math.max(Date.parse(dueAt), Date.parse(heldUntil)), 0),
        )
        .sort((a, b) => a - b);
      return [topic, { p50: percentile(late, 0.5), p99: percentile(late, 0.99), runs: late.length }];
    }),
  );
}

/** The lateness of a topic's runs. The jobs are read once a minute, so the history may have a newer run, such as the first one. */
export function latenessOf(
  topic: string,
  ofJobs: ReadonlyMap<string, Lateness>,
  history: History | undefined,
): Lateness | undefined {
  const { late, started } = history ? compare(history, minutesOf(history, topic)).now : {};
  return ofJobs.get(topic) ?? (late && started !== undefined ? { ...late, runs: started } : undefined);
}
