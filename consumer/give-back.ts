import { MOST_RECEIVES } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import type { MessageJob } from "../core/message.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import { dueAgain, resend } from "../protocol/send/resend.ts";
import { isHandedOver, send } from "../protocol/send/send.ts";
import { readHomesApart } from "../protocol/store/read-job.ts";
import type { Delivery, Work } from "./open-messages.ts";

/** Deliveries of a message after which it is given back though others may have it: or SQS would count to the end. */
const OFTEN = 5;

/**
 * Sends what cannot be started before the deadline in new messages, so that the old ones may go. A message stays in SQS
 * while one of its jobs was not sent, or has come too often without any process that lived to give it back: SQS then
 * counts its receives to the end. So does a message that others may have: they would give it back as well, and each copy beget two.
 */
export async function giveBack(ctx: Context, work: readonly Work[], kept: Set<string>): Promise<void> {
  const counted = work.map((one) => ({ ...one, job: withReceives(one) }));
  for (const mates of Map.groupBy(counted, ({ topic, group }) => `${topic} ${group ?? ""}`).values()) {
    const { topic, group } = mates[0] as Work;
    const jobs = mates.flatMap(({ job, delivery }) =>
      (job.receives ?? 0) < MOST_RECEIVES && isOurs(ctx, delivery) ? job : [],
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

/** Whether SQS keeps a message from others. When it was received is known of the first time only. */
function isOurs(ctx: Context, { receives = 1, visibleAt }: Delivery): boolean {
  if (receives > 1) return receives >= OFTEN;
  return visibleAt === undefined || ctx.clock() < visibleAt;
}

/** A new message's receives are counted anew: those in which a process died before this one are carried along. */
function withReceives({ job, delivery }: Work): MessageJob {
  const receives = (job.receives ?? 0) + (delivery.receives ?? 1) - 1;
  return receives > 0 ? { ...job, receives } : job;
}

/** Answers the ids of the jobs whose old message may go. */
async function sendAgain(
  ctx: Context,
  topic: string,
  group: string | undefined,
  jobs: readonly MessageJob[],
): Promise<Set<string>> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  const isHeld = maxPerSecond !== undefined || window !== undefined;
  // Their window may have shut, and others have taken the later starts of a limit.
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

/** Lets limit and window say when these jobs may start, as far as their homes are as their messages say. */
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

/** An untracked job whose window has shut waits in its new message. */
function afterOpening(ctx: Context, topic: string, job: MessageJob): MessageJob {
  const late = dueAgain(ctx, topic, job, Math.max(Date.parse(job.dueAt), ctx.clock()));
  return late.heldUntil === undefined ? job : { ...late, dueAt: job.dueAt };
}
