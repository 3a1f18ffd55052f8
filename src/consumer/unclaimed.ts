import { LEASE_GRACE } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import type { Context } from "../protocol/ports.ts";
import { isWorn } from "../protocol/run/open-message.ts";
import type { Verdict } from "../protocol/run/verdict.ts";
import { resend } from "../protocol/send/resend.ts";
import { type Delivery, putAside, type Work } from "./open-messages.ts";
import type { UntrackedEnds } from "./untracked-ends.ts";

/**
 * Keeps the messages of jobs that were not claimed (`open`, by id), and hides those with the verdict `left`. A void job, or one that was
 * sent in a new message, needs its message no more.
 */
export async function keepOrHide(
  ctx: Context,
  batch: readonly Work[],
  verdicts: readonly Verdict[],
  open: ReadonlyMap<string, Work>,
  ends: UntrackedEnds | undefined,
  kept: Set<string>,
): Promise<void> {
  const left = batch.filter((_, i) => verdicts[i]?.verdict === "left");
  const renewed = await renewWorn(ctx, left);
  for (const [i, one] of batch.entries()) {
    if (verdicts[i]?.verdict === "void" || renewed.has(one)) ends?.isThrough(one);
    else if (open.has(one.job.id)) kept.add(one.delivery.messageId);
  }
  const aside = new Map<Delivery, number>();
  for (const [i, one] of batch.entries()) {
    const verdict = verdicts[i];
    if (verdict?.verdict !== "left" || renewed.has(one)) continue;
    aside.set(one.delivery, Math.max(aside.get(one.delivery) ?? 0, verdict.until));
  }
  const topic = batch[0]?.topic ?? "";
  const now = ctx.clock();
  await putAside(
    ctx,
    Array.from(aside, ([delivery, until]) => ({ topic, delivery, ms: until + LEASE_GRACE - now })),
  );
}

/**
 * While a job cannot be claimed, each delivery counts as a receive, and after the last one SQS moves the message to the DLQ. So jobs of
 * worn messages are sent in new ones. Answers the jobs whose new messages SQS took.
 */
async function renewWorn(ctx: Context, left: readonly Work[]): Promise<Set<Work>> {
  const worn = left.filter(({ delivery }) => isWorn(delivery.receives ?? 1));
  const renewed = new Set<Work>();
  for (const mates of Map.groupBy(worn, ({ topic, group }) => `${topic} ${group ?? ""}`).values()) {
    const { topic, group } = mates[0] as Work;
    try {
      const jobs = mates.map(({ job }) => job);
      const sent = await resend(ctx, topic, group, jobs);
      for (const one of mates) if (sent.has(one.job.id)) renewed.add(one);
    } catch (error) {
      ctx.report({ type: "trouble", topic, what: "sending jobs anew", error: messageOf(error) });
    }
  }
  return renewed;
}
