import { LIST_JOBS } from "../core/constants.ts";
import type { Client, JobSummary, ListQuery } from "./client.ts";

/** Overdue jobs are counted up to this number. */
export const OVERDUE_COUNTED = 100;
/** ms. A longer range would take much longer to read, also where it has no job. */
const LOOKED_BACK = 3_600_000;

type Query = Pick<ListQuery, "topic" | "tag" | "group" | "signal"> & { late?: number };

/**
 * Reads the jobs that were due in the hour before `now`, and at least `late` ms ago, and have not started although nothing holds them.
 * Answers at most `OVERDUE_COUNTED` jobs, the oldest first. Looks at no more than 1,000 waiting jobs, because a pause can hold very many.
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
  let looked = 0;
  for await (const job of api.list({ ...query, state: "scheduled", from, to, pageSize: LIST_JOBS })) {
    looked++;
    const { heldUntil } = job;
    if (heldUntil === undefined || Date.parse(heldUntil) <= now - late) overdue.push(job);
    if (overdue.length === OVERDUE_COUNTED || looked === LIST_JOBS) break;
  }
  if (overdue.length === 0) return [];
  // A list does not show that a pause holds a job whose message is still in SQS.
  const topics = await api.topics(query.signal && { signal: query.signal });
  const paused = new Set(topics.flatMap(({ topic, pause }) => (pause ? [topic] : [])));
  return overdue.filter(({ topic }) => !paused.has(topic));
}
