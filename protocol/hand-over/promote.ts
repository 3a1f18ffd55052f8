import { LOOKAHEAD, SQS_MAX_DELAY } from "../../core/constants.ts";
import { startsAt } from "../../core/home.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import { send } from "../send/send.ts";
import { readHomes } from "../store/read-job.ts";

/**
 * A look at a job by its schedule, ahead of the sweep's: sends it if it waits and SQS can keep its message until then.
 * The sweep looks again in any case, so that nothing has to be made sure of here.
 */
export async function promote(ctx: Context, id: string): Promise<void> {
  const [home] = await readHomes(ctx, [id]);
  if (home?.state !== "scheduled") return;
  const ahead = startsAt(home) - ctx.clock();
  // A sweep has come to it, or comes now. Its start of a limit is booked then, and a second one would be another job's.
  const isSwept = isLimited(ctx, home.topic) && ahead <= LOOKAHEAD;
  if (isSwept || ahead > SQS_MAX_DELAY) return;
  await send(ctx, [home]);
}
