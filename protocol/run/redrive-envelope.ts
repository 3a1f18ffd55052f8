import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { isFinished } from "../../core/home.ts";
import type { Home } from "../../core/items.ts";
import { deadText, type Message } from "../../core/message.ts";
import { unreadableError } from "../../core/readable.ts";
import { redriveJob } from "../change/redrive.ts";
import type { Context } from "../ports.ts";
import { readHomes, readHomesApart } from "../store/read-job.ts";

/**
 * Redrives the jobs of a dead letter that SQS's own redrive has brought into a ready queue. Leaves alone a job that is no longer dead.
 * Answers whether the letter may be deleted: not if its job is not recorded as dead yet or is unreadable, or if a read or a write fails. A
 * write has only `BATCH_PATIENCE`, because the jobs of other messages wait.
 */
export async function redriveEnvelope(ctx: Context, message: Message): Promise<boolean> {
  try {
    for (const [job, read] of await readHomesApart(ctx, message.jobs)) {
      if (read.is === "unknown") throw read.error;
      // Only a newer version knows whether the job is still dead.
      if (read.is === "unreadable") throw unreadableError(read.home);
      if (read.is === "nothing" || read.value.revision !== job.revision) continue;
      const home = read.value;
      // The job is not recorded as dead yet. Without the letter nobody would redrive it afterwards.
      if (!isFinished(home)) return false;
      if (home.state !== "dead") continue;
      const redriven = await redriveJob(ctx, home, ctx.clock(), { patience: BATCH_PATIENCE });
      // rule: envelope-is-never-lost
      if (!redriven && !(await putBack(ctx, home))) return false;
    }
    return true;
  } catch (error) {
    const what = "redriving a dead letter";
    ctx.report({ type: "trouble", topic: message.topic, what, error: messageOf(error) });
    return false;
  }
}

/**
 * Sends the letter of a job to its DLQ once more, if the job is still dead: its key names another job by now, so it was not redriven.
 * Answers whether the old letter may be deleted.
 */
async function putBack(ctx: Context, home: Home): Promise<boolean> {
  const [now] = await readHomes(ctx, [home.id]);
  if (now?.state !== "dead" || now.revision !== home.revision) return true;
  const body = deadText(now, now.lastError ?? "");
  const [sent] = await ctx.queues.send({ topic: now.topic, dead: true }, [{ body, delaySeconds: 0 }]);
  return sent?.outcome === "sent";
}
