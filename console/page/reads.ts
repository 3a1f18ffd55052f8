import { useQuery } from "@tanstack/preact-query";
import { overdueJobs } from "../../client/overdue.ts";
import type { JobSummary } from "../../http/answers.ts";
import { api, call, REFRESH_MS } from "./api.ts";
import { latenessByTopic } from "./lateness.ts";
import { LATE_MS } from "./shown-state.ts";
import { HOUR, MINUTE } from "./times.ts";

/** What several views read. Each read is named by its key, so that two views share one answer. */

export function useTopics() {
  return useQuery({ queryKey: ["topics"], queryFn: ({ signal }) => api.topics({ signal }) });
}

/** The first schedules, up to `MOST_SCHEDULES`. */
export function useSchedules(refetchInterval: number = REFRESH_MS) {
  return useQuery({
    queryKey: ["schedules"],
    refetchInterval,
    queryFn: ({ signal }) => firstOf(api.schedules({ signal }), MOST_SCHEDULES),
  });
}
const MOST_SCHEDULES = 1000;

/** How many minutes the charts of the overview show. */
export const AHEAD_MINUTES = 15;

/** The numbers of jobs that fall due in each of the next minutes, beginning with this minute. */
export function useDueNext(topic: string) {
  return useQuery({
    queryKey: ["due-next", topic],
    // The API reads each counted job, so count rarely.
    refetchInterval: Math.max(REFRESH_MS, 20_000),
    async queryFn({ signal }) {
      const from = Math.floor(Date.now() / MINUTE) * MINUTE;
      const counts = Array.from({ length: AHEAD_MINUTES }, () => 0);
      const to = new Date(from + AHEAD_MINUTES * MINUTE);
      for await (const { minute, count } of api.forecast({ topic, from: new Date(from), to, signal }))
        counts[Math.floor((Date.parse(minute) - from) / MINUTE)] = count;
      return { from, counts };
    },
  });
}

/** The last hour is looked at in this many windows, because a list begins with the oldest jobs. */
const WINDOWS = 12;
const JOBS_A_WINDOW = 100;

/**
 * How late jobs of the last hour started, by topic, from up to 1,200 jobs that are spread over the hour. These are many calls, so
 * they wait until `isWanted`: until the topics have been read.
 */
export function useLateness(isWanted: boolean) {
  return useQuery({
    queryKey: ["lateness"],
    enabled: isWanted,
    refetchInterval: MINUTE,
    async queryFn({ signal }) {
      const now = Date.now();
      const length = HOUR / WINDOWS;
      const windows = Array.from({ length: WINDOWS }, async (_, index) => {
        const from = new Date(now - HOUR + index * length);
        const to = new Date(from.getTime() + length);
        return firstOf(api.list({ from, to, pageSize: JOBS_A_WINDOW, signal }), JOBS_A_WINDOW);
      });
      return latenessByTopic((await Promise.all(windows)).flat());
    },
  });
}

/** The jobs of the last hour that should have started and have not. Nothing holds them. The oldest come first. */
export function useLateJobs() {
  return useQuery({
    queryKey: ["late-jobs"],
    queryFn: ({ signal }) => overdueJobs(api, Date.now(), { late: LATE_MS, signal }),
  });
}

/** Reads at most `most` entries of a list. */
export async function firstOf<T>(entries: AsyncIterable<T>, most: number): Promise<T[]> {
  const read: T[] = [];
  for await (const entry of entries) {
    read.push(entry);
    if (read.length === most) break;
  }
  return read;
}

export function useJob(id: string) {
  return useQuery({ queryKey: ["job", id], queryFn: ({ signal }) => api.get(id, { signal }) });
}

/** The job that a search names: by its id, or by its key in any topic. */
export async function findJobs(text: string, signal: AbortSignal): Promise<JobSummary[]> {
  const topics = await api.topics({ signal });
  const calls = [
    api.get(text, { signal }),
    ...topics.map(({ topic }) => api.getByKey(topic, text, { signal })),
  ];
  const found = await Promise.allSettled(calls);
  const jobs = found.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = found.find(
    (one) =>
      one.status === "rejected" &&
      !["job-not-found", "bad-request", "untracked-topic"].includes(one.reason.code),
  );
  if (jobs.length === 0 && failed?.status === "rejected") throw failed.reason;
  return [...new Map(jobs.map((job) => [job.id, job])).values()];
}

/** Which jobs a list shows. `from` and `to` are ISO 8601; by default the API lists the jobs of the next hour. */
export type JobSelection = {
  readonly topic?: string | undefined;
  readonly state?: JobSummary["state"] | undefined;
  readonly tag?: string | undefined;
  readonly group?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

export type JobPage = { readonly jobs: readonly JobSummary[]; readonly cursor?: string };

/** Reads one page of a list. `cursor`: where the page before ended. */
export function jobPage(
  selection: JobSelection,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<JobPage> {
  return call<JobPage>(
    "GET",
    "/jobs",
    { jobs: "array" },
    { query: { ...selection, limit: 200, cursor }, signal },
  );
}
