import { LOOKAHEAD, SQS_MAX_DELAY } from "../../core/constants.ts";
import { startsAt } from "../../core/home.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import { send } from "../send/send.ts";
import { readHomes } from "../store/read-job.ts";

/**
 * Sends a far job when its schedule fires, before a sweep comes to it. The job must wait, and start soon enough for SQS to delay its
 * message. If SQS does not take the message, nothing is done, because a sweep looks at the job in any case.
 */
export async function promote(ctx: Context, id: string): Promise<void> {
  const [home] = await readHomes(ctx, [id]);
  // No schedule names an untracked job, whose second message would run it twice.
  if (home?.state !== "scheduled" || home.untracked) return;
  const ahead = startsAt(home) - ctx.clock();
  // The schedule may fire minutes late. Then a sweep may have booked a start of the limit for this job. A second start would be taken from
  // another job.
  const isSwept = isLimited(ctx, home.topic) && ahead <= LOOKAHEAD;
  if (isSwept || ahead > SQS_MAX_DELAY) return;
  await send(ctx, [home]);
}
