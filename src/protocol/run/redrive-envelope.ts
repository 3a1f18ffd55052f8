import { actorOf } from "../../core/actor.ts";
import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Home, isFinished } from "../../core/home.ts";
import { deadText, type Message } from "../../core/message.ts";
import { unreadableError } from "../../core/readable.ts";
import { redriveJob } from "../change/redrive.ts";
import { actingFor } from "../policy.ts";
import type { Context } from "../ports.ts";
import { readHomes, readHomesApart } from "../store/read-job.ts";

/** `false`: the letter stays, because its job may still become dead, or a call fails. Writes are short: the jobs of other messages wait. */
export async function redriveEnvelope(ctx: Context, message: Message): Promise<boolean> {
  try {
    for (const [job, read] of await readHomesApart(ctx, message.jobs)) {
      if (read.is === "unknown") throw read.error;
      // Only a newer version knows whether it is still dead.
      if (read.is === "unreadable") throw unreadableError(read.home);
      if (read.is === "nothing" || read.value.revision !== job.revision) continue;
      const home = read.value;
      // Without the letter nobody would redrive it afterwards.
      if (!isFinished(home)) return false;
      if (home.state !== "dead") continue;
      const acting = actingFor(ctx, () => actorOf("sqs"));
      const redriven = await redriveJob(acting, home, ctx.clock(), { patience: BATCH_PATIENCE });
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

/** Sends a dead job's letter to its DLQ once more: the job's key names another job. Answers whether the old letter may be deleted. */
async function putBack(ctx: Context, home: Home): Promise<boolean> {
  const [now] = await readHomes(ctx, [home.id]);
  if (now?.state !== "dead" || now.revision !== home.revision) return true;
  const body = deadText(now, now.lastError ?? "");
  const [sent] = await ctx.queues.send({ topic: now.topic, dead: true }, [{ body, delaySeconds: 0 }]);
  return sent?.outcome === "sent";
}
