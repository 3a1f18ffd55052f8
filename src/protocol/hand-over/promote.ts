import { LOOKAHEAD, SQS_MAX_DELAY } from "../../core/constants.ts";
import { startsAt } from "../../core/home.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import { send } from "../send/send.ts";
import { readHomes } from "../store/read-job.ts";

/** Sends a far job when its schedule fires, before a sweep comes to it. If SQS does not take the message, the sweep sends the job. */
export async function promote(ctx: Context, id: string): Promise<void> {
  const [home] = await readHomes(ctx, [id]);
  // Schedules name no untracked job, whose second message would run it twice.
  if (home?.state !== "scheduled" || home.untracked) return;
  const ahead = startsAt(home) - ctx.clock();
  // The schedule may fire minutes late. A sweep may have booked a start of the limit by then, and a second one would be wasted.
  const isSwept = isLimited(ctx, home.topic) && ahead <= LOOKAHEAD;
  if (isSwept || ahead > SQS_MAX_DELAY) return;
  await send(ctx, [home]);
}
