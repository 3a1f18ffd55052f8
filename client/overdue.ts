import { LIST_JOBS } from "../core/constants.ts";
import type { Client, JobSummary, ListQuery } from "./client.ts";

/** Overdue jobs are counted up to this number. */
export const OVERDUE_COUNTED = 100;
/** ms. A longer range would take much longer to read, also where it has no job. */
const LOOKED_BACK = 3_600_000;

type Query = Pick<ListQuery, "topic" | "tag" | "group" | "signal"> & { late?: number };

/**
 * Reads the jobs that were due in the hour before `now`, and at least `late` ms ago, and have not started although no pause and
 * no start that lies ahead holds them. A job that waits for its topic's limit and has no start yet counts too. Answers at most
 * `OVERDUE_COUNTED` jobs, the oldest first. Looks at no more than 1,000 waiting jobs, because a pause can hold very many.
 *
 * @param now ms since the epoch
 */
export async function overdueJobs(
  api: Pick<Client, "list" | "topics">,
  now: number,
  { late = 0, ...query }: Query = {},
): Promise<JobSummary[]> {
  const [from, to] = [new Date(now - LOOKED_BACK), new Date(now - late)];
  const overdue: JobSummary[] = [];
  let paused: ReadonlySet<string> | undefined;
  let looked = 0;
  for await (const job of api.list({ ...query, state: "scheduled", from, to, pageSize: LIST_JOBS })) {
    looked++;
    const { heldUntil } = job;
    if (heldUntil === undefined || Date.parse(heldUntil) <= now - late) {
      // A list does not show which jobs a pause holds: a job gets its `heldUntil` only when a release gives it a start.
      paused ??= await pausedTopics(api, query.signal);
      if (!paused.has(job.topic)) overdue.push(job);
    }
    if (overdue.length === OVERDUE_COUNTED || looked === LIST_JOBS) break;
  }
  return overdue;
}

async function pausedTopics(
  api: Pick<Client, "topics">,
  signal: AbortSignal | undefined,
): Promise<Set<string>> {
  const topics = await api.topics(signal && { signal });
  return new Set(topics.flatMap(({ topic, pause }) => (pause ? [topic] : [])));
}
