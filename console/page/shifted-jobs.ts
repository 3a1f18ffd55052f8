import { LONGEST_LIST } from "../../src/core/constants.ts";
import { inParallel } from "../../src/general/batches.ts";
import type { JobJson } from "../../src/http/answers/jobs.ts";
import type { CarriedAction, Plan } from "../carried.ts";
import { type ShiftBack, timesOf } from "./after-action.ts";
import { api } from "./api.ts";
import type { DueRange } from "./search-jobs.ts";
import { isoAt } from "./times.ts";

const AT_ONCE = 6;

/**
 * Reads the jobs that wait in the shifted range. Answers those that the action has shifted, as their timelines say, and that nobody has moved
 * since, line by line. `tell` gets how many jobs are read so far.
 */
export async function readShifted(
  action: CarriedAction,
  { shift, lines }: ShiftBack,
  tell: (read: number) => void,
  signal: AbortSignal,
): Promise<Plan["lines"]> {
  const during = timesOf(action);
  let read = 0;
  const found = [];
  for (const { which, by } of lines) {
    const ids = await idsOf(which, signal);
    const jobs = await inParallel(ids, AT_ONCE, async (id) => {
      const job = await api.get(id, { signal });
      tell(++read);
      return job;
    });
    const own = jobs.filter((job) => isShiftedIn(job, during, by));
    const chosen = own.map(({ id, revision, dueAt }) => ({
      ...{ id, revision, dueAt: isoAt(Date.parse(dueAt) + shift.ms) },
    }));
    if (chosen.length > 0) found.push({ which: { ...which, jobs: chosen }, counted: chosen.length });
  }
  return found;
}

async function idsOf(which: ShiftBack["lines"][number]["which"], signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  const { from, to, ...filters } = which;
  for (let begin = Date.parse(from); begin < Date.parse(to); begin += LONGEST_LIST) {
    const range = { from: isoAt(begin), to: isoAt(Math.min(Date.parse(to), begin + LONGEST_LIST)) };
    // A job that was never moved still has its first revision.
    for await (const { id, revision } of api.list({
      ...{ ...filters, ...range, state: "scheduled", pageSize: 1000, signal },
    }))
      if (revision > 0) ids.push(id);
  }
  return ids;
}

/** Whether the last move of a job was made at this time by a bulk, or by a caller for a job that the page has named. */
function isShiftedIn(
  { state, dueAt, timeline }: Pick<JobJson, "state" | "dueAt" | "timeline">,
  { from, to }: DueRange,
  by: "bulk" | "caller",
): boolean {
  const last = timeline.findLast(({ event }) => event === "moved");
  if (state !== "scheduled" || last === undefined || last.dueAt !== dueAt || last.by?.kind !== by)
    return false;
  const at = Date.parse(last.at);
  return at >= from && at <= to;
}
