import type { Message } from "../core/message.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { redriveJob } from "./redrive.ts";

/**
 * A dead letter in a ready queue: someone used SQS's own redrive. What was meant is to run the job again, so
 * that is done, through its home; a job that is not dead any more needs nothing.
 */
export async function redriveEnvelope(ctx: Context, message: Message): Promise<void> {
  const homes = await readHomes(
    ctx,
    message.jobs.map((job) => job.id),
  );
  for (const [i, job] of message.jobs.entries()) {
    const home = homes[i];
    if (home?.state === "dead" && home.revision === job.revision) await redriveJob(ctx, home, ctx.clock());
  }
}
