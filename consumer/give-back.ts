import { MOST_RECEIVES } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import type { MessageJob } from "../core/message.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import { resend, sendWithNewStarts } from "../protocol/send/resend.ts";
import { isHandedOver, send } from "../protocol/send/send.ts";
import { readHomesApart } from "../protocol/store/read-job.ts";
import type { Delivery, Work } from "./open-messages.ts";

/**
 * From this delivery on, the jobs of a message are given back even if SQS may have delivered the message to others. Otherwise SQS would
 * move the message to the DLQ after its last receive.
 */
const OFTEN = 5;

/**
 * Sends jobs that cannot start before the deadline in new messages, so that their old messages may be deleted. An old message stays (its id
 * is added to `kept`)
 *
 * - if one of its jobs was not sent,
 * - if processes have received one of its jobs `MOST_RECEIVES` times and died. Then SQS moves the message to the DLQ,
 * - if SQS may have delivered the message to others. They would give the jobs back too, and the copies would double.
 */
export async function giveBack(ctx: Context, work: readonly Work[], kept: Set<string>): Promise<void> {
  const counted = work.map((one) => ({ ...one, job: withReceives(one) }));
  for (const mates of Map.groupBy(counted, ({ topic, group }) => `${topic} ${group ?? ""}`).values()) {
    const { topic, group } = mates[0] as Work;
    const jobs = mates.flatMap(({ job, delivery }) =>
      (job.receives ?? 0) < MOST_RECEIVES && isHidden(ctx, delivery) ? job : [],
    );
    let sent = new Set<string>();
    try {
      sent = await sendAgain(ctx, topic, group, jobs);
    } catch (error) {
      ctx.report({ type: "trouble", topic, what: "giving jobs back", error: messageOf(error) });
    }
    for (const { job, delivery } of mates) if (!sent.has(job.id)) kept.add(delivery.messageId);
  }
}

/**
 * Whether a message's jobs may be given back because SQS still hides the message from others. This is known only for a message that was
 * received for the first time, because SQS does not tell the times of later receives. From the delivery `OFTEN` on, the answer is `true` in
 * any case.
 */
function isHidden(ctx: Context, { receives = 1, visibleAt }: Delivery): boolean {
  if (receives > 1) return receives >= OFTEN;
  return visibleAt === undefined || ctx.clock() < visibleAt;
}

/**
 * Adds to a job how many of its receives ended with the death of a process. The job carries this number, because SQS counts the receives of
 * a new message from 0.
 */
function withReceives({ job, delivery }: Work): MessageJob {
  const receives = (job.receives ?? 0) + (delivery.receives ?? 1) - 1;
  return receives > 0 ? { ...job, receives } : job;
}

/** Sends jobs once more, and answers the ids of the jobs that were sent. */
async function sendAgain(
  ctx: Context,
  topic: string,
  group: string | undefined,
  jobs: readonly MessageJob[],
): Promise<Set<string>> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  const isHeld = maxPerSecond !== undefined || window !== undefined;
  // By now the window may have shut, and other jobs may have taken the next starts of the limit. So these jobs are handed over anew.
  const held = isHeld ? await handOverAgain(ctx, jobs, maxPerSecond !== undefined) : new Set<string>();
  const plain = jobs.filter(({ id }) => !held.has(id));
  const sent = await resend(ctx, topic, group, plain);
  return new Set([...held, ...sent]);
}

/**
 * Hands tracked jobs over anew, so that they start when limit and window allow. Skips jobs that no longer wait, or that have moved since
 * their messages were sent. Answers the ids of the jobs that were handed over.
 */
async function handOverAgain(
  ctx: Context,
  jobs: readonly MessageJob[],
  hasLimit: boolean,
): Promise<Set<string>> {
  const tracked = jobs.filter((job) => !job.untracked);
  const waiting = (await readHomesApart(ctx, tracked)).flatMap(([{ revision }, read]) =>
    read.is === "found" && read.value.state === "scheduled" && read.value.revision === revision
      ? read.value
      : [],
  );
  // If the limit gave a job a start that has just passed, `send` alone would leave the job to the sender that gave the start.
  const outcomes = await (hasLimit ? sendWithNewStarts(ctx, waiting) : send(ctx, waiting));
  return new Set(waiting.flatMap(({ id }) => (isHandedOver(outcomes.get(id)) ? id : [])));
}
