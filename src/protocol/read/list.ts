import { PAGE_BYTES } from "../../core/constants.ts";
import { type Head, stateAt } from "../../core/home.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import { answerBytes } from "../../general/text.ts";
import type { Context } from "../ports.ts";
import { afterDue, dueJobs } from "./due-jobs.ts";

/** An absent field matches every job. */
export type JobFilter = { topic?: string; tag?: string; group?: string };

export type ListRequest = JobFilter & {
  state?: string;
  /** ms since the epoch, `from ≤ dueAt < to`. */
  from: number;
  to: number;
  limit: number;
  /** Where the page before ended. */
  cursor?: Position;
};

export type JobPage = {
  homes: Head[];
  /** Jobs that were moved or redriven and left an entry here. Some entries lie beyond the page's end. */
  gone: Head[];
  /** How many jobs were compared with the filter. */
  examined: number;
  /** Where the next page begins. Absent: this is the last page. */
  cursor?: Position;
};

/** Lists jobs in due order. Reads are bounded, so a page may have few jobs, or none and a cursor. */
export async function listJobs(ctx: Context, request: ListRequest): Promise<JobPage> {
  // rule: list-ends-at-its-range
  const end = beforeTime(request.to);
  const homes: Head[] = [];
  const gone: Head[] = [];
  let position = request.cursor ?? beforeTime(request.from);
  let examined = 0;
  let bytes = 0;
  for await (const due of dueJobs(ctx, position, end, request.limit)) {
    const now = ctx.clock();
    gone.push(...due.gone);
    for (const home of due.homes) {
      const inState = request.state === undefined || stateAt(home, now) === request.state;
      const meant = inState && matchesFilter(home, request);
      // A page must fit into the answer of a Lambda function.
      if (meant) bytes += answerBytes(home);
      if (homes.length === request.limit || (homes.length > 0 && bytes > PAGE_BYTES)) {
        return { homes, gone, examined, cursor: position };
      }
      if (meant) homes.push(home);
      position = afterDue(home);
      examined += 1;
    }
    position = due.until;
    if (homes.length === request.limit) break;
  }
  return position < end ? { homes, gone, examined, cursor: position } : { homes, gone, examined };
}

export function matchesFilter(home: Head, { topic, tag, group }: JobFilter): boolean {
  return (
    (topic === undefined || home.topic === topic) &&
    (tag === undefined || home.tag === tag) &&
    (group === undefined || home.group === group)
  );
}
