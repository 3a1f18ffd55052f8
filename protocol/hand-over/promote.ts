import { LOOKAHEAD, SQS_MAX_DELAY } from "../../core/constants.ts";
import { startsAt } from "../../core/home.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import { send } from "../send/send.ts";
import { readHomes } from "../store/read-job.ts";

/**
 * Sends a far job when its schedule fires, before a sweep comes to it: if the job waits, and starts soon enough for SQS to delay its
 * message. What fails is not repeated, because a sweep looks at the job in any case.
 */
export async function promote(ctx: Context, id: string): Promise<void> {
  const [home] = await readHomes(ctx, [id]);
  if (home?.state !== "scheduled") return;
  const ahead = startsAt(home) - ctx.clock();
  // The schedule may fire minutes late. Then a sweep has booked the job's start of the limit: a second start would be another job's.
  const isSwept = isLimited(ctx, home.topic) && ahead <= LOOKAHEAD;
  if (isSwept || ahead > SQS_MAX_DELAY) return;
  await send(ctx, [home]);
}
