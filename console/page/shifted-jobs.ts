import { LONGEST_LIST } from "../../src/core/constants.ts";
import { inParallel } from "../../src/general/batches.ts";
import type { JobJson, JobSummary } from "../../src/http/answers/jobs.ts";
import type { CarriedAction, Plan } from "../carried.ts";
import { type ShiftBack, timesOf } from "./after-action.ts";
import { api } from "./api.ts";
import { jobPages } from "./reads.ts";
import type { DueRange } from "./search-jobs.ts";
import { partsOf } from "./time-buckets.ts";
import { isoAt, MINUTE } from "./times.ts";

const AT_ONCE = 6;

/** How many jobs are found so far, in which share of the range, from 0 to 1, and how many of their timelines are read. */
export type ShiftedRead = { readonly jobs: number; readonly share: number; readonly timelines: number };

/**
 * Reads the jobs that wait in the shifted range. Answers those that the action has shifted, as their timelines say, and that nobody has moved
 * since, line by line.
 */
export async function readShifted(
  action: CarriedAction,
  { shift, lines }: ShiftBack,
  tell: (read: ShiftedRead) => void,
  signal: AbortSignal,
): Promise<Plan["lines"]> {
  const during = timesOf(action);
  const waiting = await waitingIn(lines, (jobs, share) => tell({ jobs, share, timelines: 0 }), signal);
  let timelines = 0;
  const read = await inParallel(waiting, AT_ONCE, async ({ line, id }) => {
    const job = await api.get(id, { signal });
    tell({ jobs: waiting.length, share: 1, timelines: ++timelines });
    return { line, job };
  });
  return lines.flatMap((line) => {
    const own = read.filter((one) => one.line === line && isShiftedIn(one.job, during, line.by));
    const jobs = own.map(({ job: { id, revision, dueAt } }) => ({
      ...{ id, revision, dueAt: isoAt(Date.parse(dueAt) + shift.ms) },
    }));
    return jobs.length === 0 ? [] : [{ which: { ...line.which, jobs }, counted: jobs.length }];
  });
}

type Line = ShiftBack["lines"][number];
type Found = { readonly line: Line; readonly id: string };

/** Lists the jobs of all topics in one pass, so that the API does not read the range once for each topic. */
async function waitingIn(
  lines: readonly Line[],
  tell: (jobs: number, share: number) => void,
  signal: AbortSignal,
): Promise<Found[]> {
  const found: Found[] = [];
  const lists = listsOf(lines);
  const all = lists.reduce((sum, { from, to }) => sum + to - from, 0);
  let listed = 0;
  await inParallel(lists, AT_ONCE, async ({ some, asked, from, to }) => {
    let reached = from;
    for await (const { jobs, until } of jobPages({ ...asked, from: isoAt(from), to: isoAt(to) }, signal)) {
      for (const job of jobs) {
        const line = some.find((one) => isIn(one, job));
        // A job that was never moved still has its first revision.
        if (line !== undefined && job.revision > 0) found.push({ line, id: job.id });
      }
      listed += until - reached;
      reached = until;
      tell(found.length, listed / all);
    }
  });
  return found;
}

/** Parts of the range, for each tag and group that the lines have. A list has at most 31 days. */
function listsOf(lines: readonly Line[]) {
  const byLabel = Map.groupBy(lines, ({ which: { tag, group } }) => JSON.stringify([tag, group]));
  return [...byLabel.values()].flatMap((some) => {
    const [{ topic, tag, group }] = some.map(({ which }) => which) as [Line["which"]];
    const from = Math.min(...some.map(({ which }) => Date.parse(which.from)));
    const to = Math.max(...some.map(({ which }) => Date.parse(which.to)));
    const parts = Math.max(AT_ONCE, Math.ceil((to - from) / LONGEST_LIST) + 1);
    const asked = { tag, group, state: "scheduled", ...(some.length === 1 && { topic }) } as const;
    return partsOf({ from, to }, MINUTE, parts).map((part) => ({ ...part, some, asked }));
  });
}

function isIn({ which: { topic, from, to } }: Line, job: JobSummary): boolean {
  const due = Date.parse(job.dueAt);
  return job.topic === topic && due >= Date.parse(from) && due < Date.parse(to);
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
