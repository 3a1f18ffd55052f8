import { SQS_MAX_DELAY } from "../core/constants.ts";
import { startsAt } from "../core/home.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { send } from "./send.ts";

/**
 * A look at a job by its schedule, ahead of the sweep's: sends it if it waits and SQS can keep its message until then.
 * The sweep looks again in any case, so that nothing has to be made sure of here.
 */
export async function promote(ctx: Context, id: string): Promise<void> {
  const [home] = await readHomes(ctx, [id]);
  if (home?.state !== "scheduled" || startsAt(home) > ctx.clock() + SQS_MAX_DELAY) return;
  await send(ctx, [home]);
}
