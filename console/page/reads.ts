import { useQuery } from "@tanstack/preact-query";
import { LIST_JOBS } from "../../src/core/constants.ts";
import { isJobId } from "../../src/core/job-id.ts";
import { KEY_PATTERN } from "../../src/core/job-key.ts";
import type { JobSummary } from "../../src/http/answers/jobs.ts";
import type { TopicJson } from "../../src/http/answers/topics.ts";
import { api, call, queries, REFRESH_MS } from "./api.ts";
import { clock, learnTime } from "./clock.ts";
import { groupByError } from "./error-groups.ts";
import { latenessByTopic } from "./lateness.ts";
import { about } from "./server.ts";
import { HOUR, MINUTE } from "./times.ts";

/** What several views read. Each read is named by its key, so that two views share one answer. */
const TOPICS = {
  queryKey: ["topics"],
  async queryFn({ signal }: { signal: AbortSignal }) {
    const sent = Date.now();
    const topics = await api.topics({ signal });
    if (topics[0] !== undefined) learnTime(topics[0].at, sent);
    return Promise.all(topics.map(async (topic) => ({ ...topic, dead: await deadOf(topic) })));
  },
};

/** The jobs in the state `dead`. A letter may stay in the DLQ for a while after its job was redriven, so letters are no count of jobs. */
export type DeadJobs = {
  readonly count: number;
  /** Whether there may be more. */
  readonly atLeast: boolean;
  /** The kinds of their errors, the most frequent first. `last`: ms since the epoch. */
  readonly kinds: readonly { readonly title: string; readonly count: number; readonly last: number }[];
};

/** A topic with its dead jobs. `depths.dead` counts letters, which are all that an untracked topic has. */
export type Topic = TopicJson & { readonly dead: DeadJobs };

const COUNTED_DEAD = 1000;
const NO_DEAD: DeadJobs = { count: 0, atLeast: false, kinds: [] };

/** Reads the dead jobs when the number of letters has changed or somebody has acted here, and else rarely: SQS loses letters after 14 days. */
function deadOf({ topic, depths: { dead: letters }, policy }: TopicJson): Promise<DeadJobs> {
  if (policy.tracking === "none") return Promise.resolve(NO_DEAD);
  const queryKey = ["dead-jobs", topic, letters];
  const read = queries.fetchQuery({
    queryKey,
    staleTime: letters === 0 ? HOUR : about.hasLive ? REFRESH_MS : 5 * MINUTE,
    async queryFn({ signal }) {
      const jobs = await firstOf(api.dead(topic, { signal, pageSize: COUNTED_DEAD }), COUNTED_DEAD);
      const kinds = groupByError(jobs).map(({ title, jobs: alike, last }) => ({
        ...{ title, last, count: alike.length },
      }));
      return { count: jobs.length, atLeast: jobs.length === COUNTED_DEAD, kinds };
    },
  });
  const known = () => queries.getQueryData<DeadJobs>(queryKey) ?? { ...NO_DEAD, count: letters };
  // The other numbers of the topic are known, and the view of dead jobs says why they cannot be read.
  const found = read.catch(known);
  // Hardly any topic without letters has dead jobs, so no view waits for them.
  return letters === 0 ? Promise.resolve(known()) : found;
}

export function useTopics() {
  return useQuery(TOPICS);
}

function readTopics(): Promise<readonly Topic[]> {
  return queries.fetchQuery(TOPICS);
}

/** A topic. `undefined`: the topics are not read yet, or there is no such topic. */
export function useTopic(name: string): Topic | undefined {
  return useTopics().data?.find(({ topic }) => topic === name);
}

/** A topic, as it was read last. A view that shows states of jobs reads the topics too. */
export function topicOf(name: string): Topic | undefined {
  return queries.getQueryData<readonly Topic[]>(TOPICS.queryKey)?.find(({ topic }) => topic === name);
}

/** As `topicOf`. `undefined`: the topics are not read yet. */
export function topicOrUndeclared(name: string): Topic | "undeclared" | undefined {
  const areRead = queries.getQueryData(TOPICS.queryKey) !== undefined;
  return topicOf(name) ?? (areRead ? "undeclared" : undefined);
}

/** Says why nothing can be done with jobs of a topic, because the topic is untracked. `undefined`: it is tracked, or not known. */
export function untrackedTrouble(topic: string): string | undefined {
  if (topicOf(topic)?.policy.tracking !== "none") return undefined;
  return "the jobs of an untracked topic only run, are retried, or fail";
}

/** The first schedules, up to `MOST_SCHEDULES`. */
export function useSchedules(everyMs: number = REFRESH_MS) {
  return useQuery({
    queryKey: ["schedules"],
    refetchInterval: everyMs,
    queryFn: ({ signal }) => firstOf(api.schedules({ signal }), MOST_SCHEDULES),
  });
}
const MOST_SCHEDULES = 1000;

export const AHEAD_MINUTES = 15;

export function useDueNext(topic: string) {
  return useQuery({
    queryKey: ["due-next", topic],
    // The API reads each counted job, so count rarely.
    refetchInterval: Math.max(REFRESH_MS, 20_000),
    async queryFn({ signal }) {
      const from = Math.floor(clock() / MINUTE) * MINUTE;
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

/** From up to 1,200 jobs, spread over the last hour. Many calls, so they wait until `isWanted`: until the topics have been read. */
export function useLateness(isWanted: boolean) {
  return useQuery({
    queryKey: ["lateness"],
    enabled: isWanted,
    refetchInterval: MINUTE,
    async queryFn({ signal }) {
      const now = clock();
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

/** Long lists are read again less often: up to this many jobs of a list, every few seconds. */
const OFTEN_READ_JOBS = 200;

/** How often a list of so many jobs is read again, ms. */
export function everyByCount(count: number): number {
  return count <= OFTEN_READ_JOBS ? Math.max(REFRESH_MS, 5000) : 30_000;
}

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

/**
 * By id, or by key in any topic. Unfinished jobs come first, the one due next before the others. Asks only for what can exist: a text may
 * be no id and no key, and untracked topics have no keys.
 */
export async function findJobs(text: string, signal: AbortSignal): Promise<JobSummary[]> {
  const topics = KEY_PATTERN.test(text) ? await readTopics() : [];
  const calls = [
    ...(isJobId(text) ? [api.get(text, { signal })] : []),
    ...topics.flatMap(({ topic, policy }) =>
      policy.tracking === "full" ? [api.get({ topic, key: text }, { signal })] : [],
    ),
  ];
  const found = await Promise.allSettled(calls);
  const jobs = found.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = found.find(
    (one) =>
      one.status === "rejected" &&
      !["job-not-found", "bad-request", "untracked-topic"].includes(one.reason.code),
  );
  if (jobs.length === 0 && failed?.status === "rejected") throw failed.reason;
  const hasEnded = ({ state }: JobSummary) => Number(state !== "scheduled" && state !== "running");
  return [...new Map(jobs.map((job) => [job.id, job])).values()].sort(
    (a, b) => hasEnded(a) - hasEnded(b) || a.dueAt.localeCompare(b.dueAt),
  );
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

export function jobPage(
  selection: JobSelection,
  cursor: string | undefined,
  signal: AbortSignal,
  limit = 200,
): Promise<JobPage> {
  return call<JobPage>("GET", "/jobs", { jobs: "array" }, { query: { ...selection, limit, cursor }, signal });
}

/** The pages of a list, from its first to its last. `until`: the pages so far have all jobs that are due before, ms since the epoch. */
export async function* jobPages(
  selection: JobSelection & { readonly from: string; readonly to: string },
  signal: AbortSignal,
): AsyncGenerator<{ readonly jobs: readonly JobSummary[]; readonly until: number }> {
  let [cursor, until]: [string | undefined, number] = [undefined, Date.parse(selection.from)];
  do {
    const page: JobPage = await jobPage(selection, cursor, signal, LIST_JOBS);
    cursor = page.cursor;
    const last = page.jobs.at(-1)?.dueAt;
    if (cursor === undefined) until = Date.parse(selection.to);
    else if (last !== undefined) until = Date.parse(last);
    yield { jobs: page.jobs, until };
  } while (cursor !== undefined);
}
