import { backoffMs } from "../core/backoff.ts";
import { batchesOf } from "../core/batches.ts";
import { ERROR_BYTES, SQS_MAX_DELAY } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { toJson } from "../core/json.ts";
import { MESSAGE_VERSION, type MessageJob } from "../core/message.ts";
import { truncate } from "../core/text.ts";
import { openingOf } from "../protocol/limit.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import type { Ending, Settled } from "../protocol/settle.ts";

/** Sends jobs again, but for when they are sent as their message had them. Whether SQS took them all. */
export async function resend(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  { delaySeconds, group }: { delaySeconds: number; group: string | undefined },
): Promise<boolean> {
  const limits = { count: policyOf(ctx, topic).pack, bytes: ctx.sizes.packBytes };
  const sentAt = new Date(ctx.clock()).toISOString();
  const sentAgain = jobs.map((job): MessageJob => ({ ...job, sentAt }));
  const packs = batchesOf(sentAgain, (job) => Buffer.byteLength(toJson(job)), limits);
  const messages = packs.map((pack) => ({
    body: toJson({ v: MESSAGE_VERSION, topic, group, jobs: pack }),
    delaySeconds,
    ...(group === undefined ? {} : { group }),
  }));
  const sent = await ctx.queues.send({ topic }, messages);
  return sent.every(({ outcome }) => outcome === "sent");
}

/**
 * Ends the run of a job of which nothing is stored: what is to run again goes out in a message of its own,
 * so that its pack mates do not run twice; out of attempts it goes to the DLQ as it is.
 */
export async function settleUntracked(
  ctx: Context,
  topic: string,
  group: string | undefined,
  job: MessageJob,
  ending: Ending,
): Promise<Settled> {
  const { id, attempt } = job;
  const policy = policyOf(ctx, topic);
  const error = "error" in ending ? truncate(ending.error, ERROR_BYTES) : "";
  if (ending.end === "done") ctx.report({ type: "done", topic, id, attempt });
  else if (ending.end === "retry-in") await runAgain(ctx, topic, group, job, ending.wait);
  else if (ending.end === "buried" || attempt >= (job.maxAttempts ?? policy.maxAttempts)) {
    const body = toJson({ v: MESSAGE_VERSION, topic, jobs: [{ ...job, attempt: 1 }] });
    const [sent] = await ctx.queues.send({ topic, dead: true }, [{ body, delaySeconds: 0 }]);
    if (sent?.outcome !== "sent") {
      throw new MinutehandError("unavailable", `the DLQ of ${topic} took no message`);
    }
    ctx.report({ type: "dead", topic, id, attempt, error });
  } else {
    const [byte = 0] = ctx.random(1);
    const wait = ending.retryAfter ?? backoffMs(policy.backoff, attempt, byte / 256);
    await runAgain(ctx, topic, group, { ...job, attempt: attempt + 1 }, wait);
    ctx.report({ type: "failed", topic, id, attempt, error });
  }
  return "settled";
}

async function runAgain(
  ctx: Context,
  topic: string,
  group: string | undefined,
  job: MessageJob,
  wait: number,
): Promise<void> {
  const { heldFrom: _, heldUntil: __, ...same } = job;
  const now = ctx.clock();
  const due = new Date(now + wait);
  const start = new Date(openingOf(ctx, topic, now + wait));
  const hold = start > due && { heldFrom: due.toISOString(), heldUntil: start.toISOString() };
  const again = { ...same, dueAt: due.toISOString(), ...hold };
  const delaySeconds = Math.ceil(Math.min(start.getTime() - now, SQS_MAX_DELAY) / 1000);
  if (await resend(ctx, topic, [again], { delaySeconds, group })) return;
  throw new MinutehandError("unavailable", `the ready queue of ${topic} took no message`);
}
