import type { Client, JobSummary, ListQuery } from "../client/client.ts";
import { allOf, firstOf, pageSizeFor } from "./lists.ts";

/** Overdue jobs are counted up to this number. */
export const OVERDUE_COUNTED = 100;
/** ms. A longer range would take much longer to read, also where it has no job. */
const LOOKED_BACK = 3_600_000;

/**
 * Reads the jobs that were due in the hour before `now`, and at least `late` ms ago, and have not started although nothing holds them.
 * The oldest come first. `now`: ms since the epoch.
 */
export async function overdueJobs(
  api: Client,
  now: number,
  { late = 0, ...query }: Pick<ListQuery, "topic" | "tag" | "group"> & { late?: number } = {},
): Promise<JobSummary[]> {
  const [from, to] = [new Date(now - LOOKED_BACK), new Date(now - late)];
  const pageSize = pageSizeFor(OVERDUE_COUNTED);
  const jobs = api.list({ ...query, state: "scheduled", from, to, pageSize });
  const first = await allOf(firstOf(jobs, OVERDUE_COUNTED, () => {}));
  return first.filter(({ heldUntil }) => heldUntil === undefined || Date.parse(heldUntil) <= now);
}
