import { BUCKET, FAILING_TOPIC_WAIT, LOOKAHEAD, WRITER_DEADLINE } from "../../core/constants.ts";
import { onGrid } from "../../core/look-again.ts";
import type { Unreadable } from "../../core/readable.ts";
import type { Context } from "../ports.ts";
import { fileLooksAbout } from "./looks.ts";

/** `since`: when a look first found the job unreadable, ms since the epoch. */
export type UnreadableSince = Unreadable & { readonly since: number };

/** Between two looks at an unreadable job: 4 minutes at first, about four hours at most. */
const SHORTEST_WAIT = 4 * BUCKET;
const LONGEST_WAIT = 256 * BUCKET;

/** Reports unreadable jobs, and files their next looks, on a grid that depends on the id, so that sweep and audit file the same look. */
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

/** The longer nobody could read the job, the longer the wait. */
function nextLookAt(id: string, since: number, from: number): number {
  const doublings = Math.floor(Math.log2(Math.max((from - since) / 2 / SHORTEST_WAIT, 1)));
  return onGrid(id, from, Math.min(SHORTEST_WAIT * 2 ** doublings, LONGEST_WAIT));
}

/** One report for each reason, with the id of the first job. */
export function reportUnreadable(ctx: Context, what: string, found: readonly Unreadable[]): void {
  for (const [error, some] of Map.groupBy(found, ({ unreadable }) => unreadable))
    ctx.report({ type: "unreadable", what, jobs: some.length, id: some[0]?.id ?? "", error });
}
