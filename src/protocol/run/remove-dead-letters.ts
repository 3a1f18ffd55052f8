import { messageOf } from "../../core/errors.ts";
import { isFinished } from "../../core/home.ts";
import { type Message, type MessageJob, parseMessage } from "../../core/message.ts";
import { inParallel } from "../../general/batches.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import type { HomeRead } from "../store/read-job.ts";
import { readHomesApart } from "../store/read-job.ts";

const HIDE_SECONDS = 30;

/** So that a DLQ's depth is the number of its dead jobs. The dead jobs of untracked topics are stored in their letters only. */
export async function removeDeadLetters(ctx: Context, until: number): Promise<void> {
  await inParallel(Object.keys(ctx.policy.topics), 8, async (topic) => {
    if (ctx.clock() >= until) return;
    try {
      if (policyOf(ctx, topic).tracking === "full") await removeOf(ctx, topic, until);
    } catch (error) {
      ctx.report({ type: "trouble", topic, what: "looking through the DLQ", error: messageOf(error) });
    }
  });
}

async function removeOf(ctx: Context, topic: string, until: number): Promise<void> {
  const queue = { topic, dead: true } as const;
  const { ready } = await ctx.queues.depth(queue);
  if (ready === 0) return;
  const kept: string[] = [];
  let removed = 0;
  for (let i = 0; i < ctx.sizes.deadLetterBatches && ctx.clock() < until; i++) {
    const messages = await ctx.queues.receive(queue, { max: 10, waitSeconds: 0, hideSeconds: HIDE_SECONDS });
    if (messages.length === 0) break;
    const parsed = messages.map(({ body }) => parseMessage(body));
    const jobs = parsed.flatMap((letter) => letter?.jobs ?? []);
    const reads = new Map(await readHomesApart(ctx, jobs));
    // A message that Minutehand did not send stays.
    const over = messages.filter((_, at) => {
      const letter = parsed[at];
      return (
        letter?.jobs.length && letter.jobs.every((job) => isOver(letter, job, reads.get(job) as HomeRead))
      );
    });
    await ctx.queues.remove(
      queue,
      over.map(({ handle }) => handle),
    );
    removed += over.length;
    kept.push(...messages.filter((message) => !over.includes(message)).map(({ handle }) => handle));
  }
  await ctx.queues.hide(
    queue,
    kept.map((handle) => ({ handle, seconds: 0 })),
  );
  if (removed > 0) ctx.report({ type: "dead-letters-removed", topic, messages: removed });
}

/**
 * An envelope (`dead`) is sent only for a job with a home, so the job is over if the home is gone. Another letter without a home may be all
 * that is left of a job that was filed while its topic was untracked.
 */
function isOver({ dead }: Message, job: MessageJob, read: HomeRead): boolean {
  if (read.is === "unknown" || read.is === "unreadable") return false;
  if (read.is === "nothing") return dead === true;
  const home = read.value;
  // rule: letter-stays-until-its-job-is-dead
  return home.revision > job.revision || (isFinished(home) && home.state !== "dead");
}
