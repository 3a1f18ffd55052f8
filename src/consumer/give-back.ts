import { MOST_RECEIVES } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import type { MessageJob } from "../core/message.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import { resend, sendWithNewStarts } from "../protocol/send/resend.ts";
import { isHandedOver, send } from "../protocol/send/send.ts";
import { readHomesApart } from "../protocol/store/read-job.ts";
import type { Delivery, Work } from "./open-messages.ts";

/** From this delivery on, jobs are given back even if SQS may have delivered the message to others: otherwise SQS would move it to the DLQ. */
const OFTEN = 5;

/**
 * Sends jobs that cannot start before the deadline in new messages. An old message stays (in `kept`) if one of its jobs was not sent, or
 * - was received `MOST_RECEIVES` times by processes that died: SQS then moves the message to the DLQ,
 * - or may have been delivered to others: they would give the job back too, and the copies would double.
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

/** Whether SQS still hides a message from others. This is known only for a first receive. From the delivery `OFTEN` on, the answer is `true` in any case. */
function isHidden(ctx: Context, { receives = 1, visibleAt }: Delivery): boolean {
  if (receives > 1) return receives >= OFTEN;
  return visibleAt === undefined || ctx.clock() < visibleAt;
}

/** The job carries how many receives ended with the death of a process, because SQS counts those of a new message from 0. */
function withReceives({ job, delivery }: Work): MessageJob {
  const receives = (job.receives ?? 0) + (delivery.receives ?? 1) - 1;
  return receives > 0 ? { ...job, receives } : job;
}

/** Answers the ids of the jobs that were sent. */
async function sendAgain(
  ctx: Context,
  topic: string,
  group: string | undefined,
  jobs: readonly MessageJob[],
): Promise<Set<string>> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  const isHeld = maxPerSecond !== undefined || window !== undefined;
  // By now the window may have shut, and other jobs may have taken the next starts of the limit.
  const held = isHeld ? await handOverAgain(ctx, jobs, maxPerSecond !== undefined) : new Set<string>();
  const plain = jobs.filter(({ id }) => !held.has(id));
  const sent = await resend(ctx, topic, group, plain);
  return new Set([...held, ...sent]);
}

/** Hands tracked jobs over anew, unless they no longer wait or have moved since. Answers the ids of those that were handed over. */
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
  // `send` alone would leave a job whose start has just passed to the sender that gave the start.
  const outcomes = await (hasLimit ? sendWithNewStarts(ctx, waiting) : send(ctx, waiting));
  return new Set(waiting.flatMap(({ id }) => (isHandedOver(outcomes.get(id)) ? id : [])));
}
