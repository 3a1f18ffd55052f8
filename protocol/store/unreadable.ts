import { BUCKET, FAILING_TOPIC_WAIT, LOOKAHEAD, WRITER_DEADLINE } from "../../core/constants.ts";
import { onGrid } from "../../core/look-again.ts";
import type { Unreadable } from "../../core/readable.ts";
import type { Context } from "../ports.ts";
import { fileLooksAbout } from "./looks.ts";

/** An unreadable job. `since`: when a look first found it unreadable, ms since the epoch. */
export type UnreadableSince = Unreadable & { readonly since: number };

/** The wait between two looks at an unreadable job: 4 minutes at first, about four hours (256 minutes) at most. */
const SHORTEST_WAIT = 4 * BUCKET;
const LONGEST_WAIT = 256 * BUCKET;

/**
 * Reports unreadable jobs, and stores the next look for each, so that the jobs run as soon as a version that can read them is deployed. The
 * looks' times lie on a grid that depends on the job's id, so that the sweep and the audit, which both call this, file the same look.
 */
export async function lookAtUnreadableAgain(
  ctx: Context,
  what: string,
  met: readonly UnreadableSince[],
): Promise<void> {
  if (met.length === 0) return;
  reportUnreadable(ctx, what, met);
  const now = ctx.clock();
  const looks = met.map(({ id, since }) => ({
    id,
    time: nextLookAt(id, since, now + LOOKAHEAD + FAILING_TOPIC_WAIT),
    since,
  }));
  await fileLooksAbout(ctx, looks, now + WRITER_DEADLINE);
}

/** Answers when to look at an unreadable job again, at or after `from`. The longer nobody could read the job, the longer the wait. */
function nextLookAt(id: string, since: number, from: number): number {
  const doublings = Math.floor(Math.log2(Math.max((from - since) / 2 / SHORTEST_WAIT, 1)));
  return onGrid(id, from, Math.min(SHORTEST_WAIT * 2 ** doublings, LONGEST_WAIT));
}

/** Makes one report for each reason, with the number of jobs and the id of the first of them. */
export function reportUnreadable(ctx: Context, what: string, found: readonly Unreadable[]): void {
  for (const [error, some] of Map.groupBy(found, ({ unreadable }) => unreadable))
    ctx.report({ type: "unreadable", what, jobs: some.length, id: some[0]?.id ?? "", error });
}
