import { messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { Context } from "./ports.ts";
import { readHomes } from "./read-job.ts";
import { redriveJob } from "./redrive.ts";

/**
 * A dead letter in a ready queue: someone used SQS's own redrive. What was meant is to run the job again, so
 * that is done, through its home; a job that is not dead any more needs nothing. `false`: the message must stay.
 */
export async function redriveEnvelope(ctx: Context, message: Message): Promise<boolean> {
  try {
    const homes = await readHomes(
      ctx,
      message.jobs.map((job) => job.id),
    );
    for (const [i, job] of message.jobs.entries()) {
      const home = homes[i];
      if (home?.state === "dead" && home.revision === job.revision) await redriveJob(ctx, home, ctx.clock());
    }
    return true;
  } catch (error) {
    const what = "redriving a dead letter";
    ctx.report({ type: "trouble", topic: message.topic, what, error: messageOf(error) });
    return false;
  }
}
