import { LIST_JOBS } from "../core/constants.ts";
import type { Client, JobSummary, ListQuery } from "./client.ts";

export const OVERDUE_COUNTED = 100;
/** ms. A longer range takes much longer to read, even if it is empty. */
const LOOKED_BACK = 3_600_000;

type Query = Pick<ListQuery, "topic" | "tag" | "group" | "signal"> & { late?: number };

/**
 * Jobs that were due in the hour before `now` (ms since the epoch), at least `late` ms ago, and that no pause and no later start holds. A job
 * without a start of its topic's limit counts too. At most `OVERDUE_COUNTED`, the oldest first, of 1,000 waiting jobs: a pause can hold many.
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
      // A job gets its `heldUntil` only when a release gives it a start, so a list does not show which jobs a pause holds.
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
