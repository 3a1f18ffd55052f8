import { BULK_PART, PAGE_BYTES } from "../../core/constants.ts";
import { type Home, stateAt } from "../../core/home.ts";
import type { Item, Key } from "../../core/items.ts";
import { homeIn, isUnreadable, type Unreadable } from "../../core/readable.ts";
import { answerBytes } from "../../general/text.ts";
import type { Context } from "../ports.ts";
import { type JobFilter, matchesFilter } from "./list.ts";

/** An absent field matches every job. `from` and `to`: ms since the epoch, `from ≤ dueAt < to`. `limit`: how many jobs one part has at most. */
export type ExportRequest = JobFilter & { state?: string; from?: number; to?: number; limit: number };

/** `next`: where the next part begins; absent: the whole table was read. */
export type ExportPart = { homes: (Home | Unreadable)[]; examined: number; next?: Key };

/**
 * Reads the table from `after` on, in no order of time, until it finds matching jobs, for about 5 s. The list would read each bucket of a
 * range, and a year has half a million minutes. A job that nobody can read matches every request.
 */
export async function exportJobs(
  ctx: Context,
  request: ExportRequest,
  after: Key | undefined,
): Promise<ExportPart> {
  const until = ctx.clock() + BULK_PART;
  let examined = 0;
  for (let at = after; ; ) {
    const { items, next } = await ctx.pool.scan(at, request.limit);
    const part = partOf(items, request, ctx.clock());
    examined += part.examined;
    const end = part.next ?? next;
    const met = { homes: part.homes, examined };
    if (end === undefined) return met;
    if (met.homes.length > 0 || ctx.clock() >= until) return { ...met, next: end };
    at = end;
  }
}

/** A part must fit into the answer of a Lambda function. `next`: the last item before the first one that does not. */
function partOf(items: readonly Item[], request: ExportRequest, now: number): ExportPart {
  const homes: (Home | Unreadable)[] = [];
  let [bytes, examined] = [0, 0];
  let last: Key | undefined;
  for (const item of items) {
    const home = homeIn(item);
    if (home !== undefined && (isUnreadable(home) || isMeant(home, request, now))) {
      bytes += answerBytes(home);
      if (last !== undefined && homes.length > 0 && bytes > PAGE_BYTES)
        return { homes, examined, next: last };
      homes.push(home);
    }
    examined += home === undefined ? 0 : 1;
    last = { pk: item.pk, sk: item.sk };
  }
  return { homes, examined };
}

function isMeant(home: Home, { state, from, to, ...filter }: ExportRequest, now: number): boolean {
  return (
    matchesFilter(home, filter) &&
    (state === undefined || stateAt(home, now) === state) &&
    home.dueAt >= (from ?? -Infinity) &&
    home.dueAt < (to ?? Infinity)
  );
}
