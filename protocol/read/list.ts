import { DAY, PAGE_BYTES } from "../../core/constants.ts";
import { stateAt } from "../../core/home.ts";
import type { Head } from "../../core/items.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import type { Context } from "../ports.ts";
import { afterDue, dueJobs } from "./due-jobs.ts";

/** Which jobs are meant: what is absent does not matter. */
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

/** `examined`: how many jobs were looked at for it. `gone`: met where they are not due any more, some beyond its end. */
export type JobPage = { homes: Head[]; gone: Head[]; examined: number; cursor?: Position };

export const LONGEST_SPAN = 31 * DAY;

/**
 * A page of jobs in due order. It reads so much at most, however many jobs there are and however few are meant, so that
 * it may be short, or empty with a cursor.
 */
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
      const meant = inState && isMeant(home, request);
      // Answers carry no bodies, but Lambda's are at most 6 MB.
      if (meant) bytes += JSON.stringify(home).length;
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

export function isMeant(home: Head, { topic, tag, group }: JobFilter): boolean {
  return (
    (topic === undefined || home.topic === topic) &&
    (tag === undefined || home.tag === tag) &&
    (group === undefined || home.group === group)
  );
}
