import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { isFinished, isNear, isOwed, startsAt } from "../../core/home.ts";
import type { Home } from "../../core/items.ts";
import { deadText, type Message } from "../../core/message.ts";
import { isUnreadable } from "../../core/readable.ts";
import { redriveJob } from "../change/redrive.ts";
import type { Context } from "../ports.ts";
import { mayDropVoid, send } from "../send/send.ts";
import { readHomes, readHomesApart } from "../store/read-job.ts";
import { cannotRead } from "../store/unreadable.ts";

/**
 * A dead letter in a ready queue: someone used SQS's own redrive. What was meant is to run the job again, so
 * that is done, through its home; a job that is not dead any more needs nothing, but for a message where whoever redrove it
 * may have died before sending one. `false`: the message must stay, also while its job is about to be marked as dead, or its
 * partition takes longer for a write than the jobs of other messages may wait.
 */
export async function redriveEnvelope(ctx: Context, message: Message): Promise<boolean> {
  try {
    const homes = await readHomesApart(
      ctx,
      message.jobs.map((job) => job.id),
    );
    const owed: Home[] = [];
    for (const [i, job] of message.jobs.entries()) {
      const home = homes[i];
      if (home instanceof Error) throw home;
      // Whether it is dead still, only a newer version knows.
      if (isUnreadable(home)) throw cannotRead(home);
      if (home?.revision !== job.revision) {
        if (home && isOwed(home, job.revision) && isNear(startsAt(home), ctx.clock()))
          owed.push({ ...home, spare: true });
        continue;
      }
      // Whoever sent the letter has not marked the job as dead yet, and nobody would send it again afterwards.
      if (!isFinished(home)) return false;
      if (home.state !== "dead") continue;
      const redriven = await redriveJob(ctx, home, ctx.clock(), { patience: BATCH_PATIENCE });
      // rule: envelope-is-never-lost
      if (!redriven && !(await putBack(ctx, home))) return false;
    }
    const sent = await send(ctx, owed);
    return owed.every(({ id }) => mayDropVoid(sent.get(id)));
  } catch (error) {
    const what = "redriving a dead letter";
    ctx.report({ type: "trouble", topic: message.topic, what, error: messageOf(error) });
    return false;
  }
}

/** A job that cannot be redriven, as its key names another by now, lies in its DLQ as before. */
async function putBack(ctx: Context, home: Home): Promise<boolean> {
  const [now] = await readHomes(ctx, [home.id]);
  if (now?.state !== "dead" || now.revision !== home.revision) return true;
  const body = deadText(now, now.lastError ?? "");
  const [sent] = await ctx.queues.send({ topic: now.topic, dead: true }, [{ body, delaySeconds: 0 }]);
  return sent?.outcome === "sent";
}
