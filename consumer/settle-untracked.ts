import { backoffMs } from "../core/backoff.ts";
import { ERROR_BYTES, LONGEST_UNTRACKED_WAIT } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { toJson } from "../core/json.ts";
import { MESSAGE_VERSION, type MessageJob } from "../core/message.ts";
import { truncate } from "../general/text.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import type { Ending, Settled } from "../protocol/run/settle.ts";
import { dueAgain, resend } from "../protocol/send/resend.ts";

/**
 * Ends the run of a job of which nothing is stored: what is to run again goes out in a message of its own,
 * so that its pack mates do not run twice; out of attempts it goes to the DLQ as it is. Its wait counts from `endedAt` (ms since
 * the epoch), when its run ended.
 */
export async function settleUntracked(
  ctx: Context,
  topic: string,
  group: string | undefined,
  job: MessageJob,
  ending: Ending,
  endedAt: number,
): Promise<Settled> {
  const { id, attempt } = job;
  const policy = policyOf(ctx, topic);
  // A wait that SQS would not outlast is cut short: a run too early is better than none.
  const after = (wait: number): number => endedAt + Math.min(wait, LONGEST_UNTRACKED_WAIT);
  const error = "error" in ending ? truncate(ending.error, ERROR_BYTES) : "";
  if (ending.end === "done") ctx.report({ type: "done", topic, id, attempt });
  else if (ending.end === "retry-in") await runAgain(ctx, topic, group, job, after(ending.wait));
  else if (ending.end === "buried" || isLastRun(ctx, topic, job, ending)) {
    const body = toJson({ v: MESSAGE_VERSION, topic, jobs: [{ ...job, attempt: 1 }] });
    const [sent] = await ctx.queues.send({ topic, dead: true }, [{ body, delaySeconds: 0 }]);
    if (sent?.outcome !== "sent") {
      throw new MinutehandError("unavailable", `SQS rejected a message to the DLQ of topic ${topic}`);
    }
    ctx.report({ type: "dead", topic, id, attempt, error, hasLetter: true });
  } else {
    const [byte = 0] = ctx.random(1);
    const backoff = Math.max(backoffMs(policy.backoff, attempt, byte / 256), ending.notBefore ?? 0);
    const wait = ending.retryAfter ?? backoff;
    await runAgain(ctx, topic, group, { ...job, attempt: attempt + 1 }, after(wait));
    ctx.report({ type: "failed", topic, id, attempt, error });
  }
  return "settled";
}

/** Whether the job is dead when it has ended so. */
export function isLastRun(
  ctx: Context,
  topic: string,
  { attempt, maxAttempts = policyOf(ctx, topic).maxAttempts }: MessageJob,
  { end }: Ending,
): boolean {
  return end === "buried" || (end === "failed" && attempt >= maxAttempts);
}

async function runAgain(
  ctx: Context,
  topic: string,
  group: string | undefined,
  job: MessageJob,
  dueAt: number,
): Promise<void> {
  const { receives: _, ...same } = job;
  const again = dueAgain(ctx, topic, same, dueAt);
  if ((await resend(ctx, topic, group, [again])).size > 0) return;
  throw new MinutehandError("unavailable", `SQS rejected a message to the ready queue of topic ${topic}`);
}
