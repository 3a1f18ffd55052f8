import { UNTRACKED_AFTER } from "../../core/constants.ts";
import { type MinutehandError, notFiledError } from "../../core/errors.ts";
import { isNear, mayBeSwept, startsAt } from "../../core/home.ts";
import { type Home, ttl } from "../../core/items.ts";
import { isPaused } from "../gate/known-pauses.ts";
import { bookForJobs, windowStarts } from "../gate/start-gate.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { sendNow } from "../send/send.ts";
import { fileLooks } from "../store/looks.ts";
import { readHomesApart } from "../store/read-job.ts";

/** The jobs that `sendWithoutHomes` has not sent. */
export type Unstored = {
  /** Jobs that must be stored, because a pause, a limit or a window holds them. */
  readonly held: readonly Home[];
  /** Why jobs were not filed, by their ids. */
  readonly refused: ReadonlyMap<string, MinutehandError>;
};

/**
 * Sends untracked jobs of one topic, which are due soon, straight to SQS. Stores nothing of the jobs that it sends.
 *
 * @param by the deadline of the times in the homes, ms since the epoch
 */
export async function sendWithoutHomes(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  by: number,
): Promise<Unstored> {
  const refused = new Map<string, MinutehandError>();
  try {
    const { straight, held } = await withoutHomes(ctx, topic, jobs, by);
    // rule: untracked-acknowledged-once-sent
    // Such a job has no home from which a sweep could send it. So if SQS rejects the message, the job is not acknowledged.
    for (const [id, sent] of await sendNow(ctx, straight, by))
      if (sent.outcome !== "sent") refused.set(id, notFiledError(new Error(sent.reason)));
    return { held, refused };
  } catch (error) {
    for (const { id } of jobs) refused.set(id, notFiledError(error));
    return { held: [], refused };
  }
}

/**
 * Divides jobs by how they are filed. `straight`: jobs that go to SQS now, with the start times that a limit or a window gives them.
 * `held`: jobs that must be stored until they may start.
 */
async function withoutHomes(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  by: number,
): Promise<{ straight: Home[]; held: Home[] }> {
  if (await isPaused(ctx, topic)) return { straight: [], held: [...jobs] };
  // rule: direct-jobs-keep-the-limit
  const isLimited = policyOf(ctx, topic).maxPerSecond !== undefined;
  const { holds, left } = isLimited
    ? await bookForJobs(ctx, topic, jobs)
    : { holds: windowStarts(ctx, jobs), left: [] };
  const started = holds.map(({ home, from, until }) =>
    until > from ? { ...home, heldFrom: from, heldUntil: until } : home,
  );
  const now = ctx.clock();
  const far = started.filter((home) => home.heldUntil !== undefined && !isNear(startsAt(home), now));
  // A home is stored in the minute of its due time, and sweeps may have read this minute. So a look is stored in the minute of the start.
  await fileLooks(
    ctx,
    far.map((home) => ({ id: home.id, time: startsAt(home) })),
    by,
  );
  const kept = far.map((home) => {
    const start = startsAt(home);
    return { ...home, uncounted: start, expiresAt: ttl(start + UNTRACKED_AFTER) };
  });
  return { straight: started.filter((home) => !far.includes(home)), held: [...kept, ...left] };
}

/**
 * Selects, among jobs that were just stored, those that the writer itself may send (`standing`). Untracked jobs are left to the sweep,
 * unless the sweep may have passed them. Such jobs are read again: somebody may have cancelled a job while the write was slow, and no claim
 * finds the cancel of an untracked job. `unread`: the errors of jobs that could not be read.
 */
export async function stillSendable(
  ctx: Context,
  filed: readonly Home[],
): Promise<{ standing: Home[]; unread: Map<Home, Error> }> {
  const now = ctx.clock();
  // A sweep sends the untracked jobs that this filter leaves out. If the writer sent them too, they would run twice, because no
  // claim drops a second message.
  const untracked = filed.filter((home) => home.untracked && mayBeSwept(startsAt(home), now));
  const found = await readHomesApart(
    ctx,
    untracked.map(({ id }) => id),
  );
  const unread = new Map<Home, Error>();
  const standing = new Set(filed.filter((home) => !home.untracked));
  for (const [i, home] of untracked.entries()) {
    const stands = found[i];
    if (stands instanceof Error) unread.set(home, stands);
    else if (stands?.state === "scheduled") standing.add(home);
  }
  return { standing: filed.filter((home) => standing.has(home)), unread };
}
