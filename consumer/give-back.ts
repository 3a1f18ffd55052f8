import { MOST_RECEIVES } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import type { MessageJob } from "../core/message.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import { resend, withNextRun } from "../protocol/send/resend.ts";
import { isHandedOver, send } from "../protocol/send/send.ts";
import { readHomesApart } from "../protocol/store/read-job.ts";
import type { Delivery, Work } from "./open-messages.ts";

/** After so many deliveries a message is given back although others may have it: at the last receive SQS moves it to the DLQ. */
const OFTEN = 5;

/**
 * Sends jobs that cannot start before the deadline in new messages, so that their old messages may go. A message stays (its id is added to
 * `kept`)
 *
 * - while one of its jobs was not sent,
 * - if the job has come too often without a process that lived to give it back: SQS then moves the message to the DLQ,
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

/** Whether SQS still hides a message from others. The time of a receive is known of the first receive only. */
function isHidden(ctx: Context, { receives = 1, visibleAt }: Delivery): boolean {
  if (receives > 1) return receives >= OFTEN;
  return visibleAt === undefined || ctx.clock() < visibleAt;
}

/** The job with the count of receives in which a process died. SQS counts the receives of a new message anew. */
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
  // The window may have shut, and others may have taken the later starts of a limit.
  const held = isHeld ? await handOverAgain(ctx, jobs) : new Set<string>();
  const plain = jobs.filter(({ id }) => !held.has(id));
  const sent = await resend(
    ctx,
    topic,
    group,
    plain.map((job) => (isHeld && job.untracked ? afterOpening(ctx, topic, job) : job)),
  );
  return new Set([...held, ...sent]);
}

/** Hands jobs over anew, so that limit and window say when they start. Passes over jobs that are no longer as their messages say. */
async function handOverAgain(ctx: Context, jobs: readonly MessageJob[]): Promise<Set<string>> {
  const tracked = jobs.filter((job) => !job.untracked);
  const homes = await readHomesApart(
    ctx,
    tracked.map(({ id }) => id),
  );
  const waiting = homes.flatMap((home, i) =>
    home && !(home instanceof Error) && home.state === "scheduled" && home.revision === tracked[i]?.revision
      ? home
      : [],
  );
  const outcomes = await send(ctx, waiting);
  return new Set(waiting.flatMap(({ id }) => (isHandedOver(outcomes.get(id)) ? id : [])));
}

/** An untracked job whose new message waits for the next opening, if its topic's window has shut. */
function afterOpening(ctx: Context, topic: string, job: MessageJob): MessageJob {
  const late = withNextRun(ctx, topic, job, Math.max(Date.parse(job.dueAt), ctx.clock()));
  return late.heldUntil === undefined ? job : { ...late, dueAt: job.dueAt };
}
