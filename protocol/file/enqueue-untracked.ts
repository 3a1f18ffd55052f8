import { UNTRACKED_AFTER } from "../../core/constants.ts";
import { type MinutehandError, notFiled } from "../../core/errors.ts";
import { isNear, startsAt } from "../../core/home.ts";
import { type Home, ttl } from "../../core/items.ts";
import { isPaused } from "../gate/known-pauses.ts";
import { book, openings } from "../gate/start-gate.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { sendNow } from "../send/send.ts";
import { fileLooks } from "../store/looks.ts";
import { readHomesApart } from "../store/read-job.ts";

/** `held`: jobs that must be stored, because a pause, a limit or a window holds them. `refused`: why jobs were not filed, by their ids. */
export type Unstored = {
  readonly held: readonly Home[];
  readonly refused: ReadonlyMap<string, MinutehandError>;
};

/**
 * Sends untracked jobs of one topic, which are due soon, straight to SQS. Nothing of them is stored.
 *
 * @param by the deadline of the times in the homes
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
    // Such a job has no home: a job that SQS does not take is not acknowledged.
    for (const [id, sent] of await sendNow(ctx, straight, by))
      if (sent.outcome !== "sent") refused.set(id, notFiled(new Error(sent.reason)));
    return { held, refused };
  } catch (error) {
    for (const { id } of jobs) refused.set(id, notFiled(error));
    return { held: [], refused };
  }
}

/** Which of these jobs go straight to SQS, with the starts that a limit or a window gives, and which must be stored until their starts. */
async function withoutHomes(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  by: number,
): Promise<{ straight: Home[]; held: Home[] }> {
  if (await isPaused(ctx, topic)) return { straight: [], held: [...jobs] };
  // rule: direct-jobs-keep-the-limit
  const isLimited = policyOf(ctx, topic).maxPerSecond !== undefined;
  const { holds, left } = isLimited ? await book(ctx, topic, jobs) : { holds: openings(ctx, jobs), left: [] };
  const started = holds.map(({ home, from, until }) =>
    until > from ? { ...home, heldFrom: from, heldUntil: until } : home,
  );
  const now = ctx.clock();
  const far = started.filter((home) => home.heldUntil !== undefined && !isNear(startsAt(home), now));
  // A home's own place may lie behind the sweep.
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
 * Which of the jobs that were just stored their writer may send (`standing`). Untracked jobs that are near are read again: somebody may have
 * cancelled such a job while the write was slow, and no claim asks. `unread`: the errors of jobs that could not be read. Untracked jobs that
 * are not near are left to the sweep, which has not passed them.
 */
export async function asTheyStand(
  ctx: Context,
  filed: readonly Home[],
): Promise<{ standing: Home[]; unread: Map<Home, Error> }> {
  const now = ctx.clock();
  const untracked = filed.filter((home) => home.untracked && isNear(startsAt(home), now));
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
