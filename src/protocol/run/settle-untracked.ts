import { backoffMs } from "../../core/backoff.ts";
import {
  ERROR_BYTES,
  LONGEST_HIDE,
  LONGEST_LEASE,
  LONGEST_UNTRACKED_WAIT,
  VISIBILITY_MARGIN,
} from "../../core/constants.ts";
import { MinutehandError, untrackedTopic } from "../../core/errors.ts";
import { toJson } from "../../core/json.ts";
import { MESSAGE_VERSION, type MessageJob } from "../../core/message.ts";
import { hideSecondsOf } from "../../core/packs.ts";
import type { Receipt } from "../../core/receipt.ts";
import { truncate } from "../../general/text.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { resend } from "../send/resend.ts";
import { askForRun, countThrottled } from "./ask-for-run.ts";
import { claimLost, type Ending, type Settled } from "./settle.ts";

/**
 * Ends the run of an untracked job in a Lambda function. A job that runs again gets a message of its own, because the old one may carry other
 * jobs. In the DLQ, attempts are counted from 1 again. The next wait counts from `endedAt`. @throws `unavailable` if SQS takes no new message
 */
export async function settleUntracked(
  ctx: Context,
  topic: string,
  group: string | undefined,
  job: MessageJob,
  ending: CountedEnding,
  endedAt: number,
): Promise<Settled> {
  const { id, attempt } = job;
  const policy = policyOf(ctx, topic);
  // SQS would not keep a message for longer. A run that comes too early is better than none.
  const after = (wait: number): number => endedAt + Math.min(wait, LONGEST_UNTRACKED_WAIT);
  const error = "error" in ending ? truncate(ending.error, ERROR_BYTES) : "";
  if (ending.end === "done") ctx.report({ type: "done", topic, id, attempt });
  else if (ending.end === "retry-in") await runAgain(ctx, topic, group, job, after(ending.wait));
  else if (isLastRun(ctx, topic, job, ending)) {
    const body = toJson({ v: MESSAGE_VERSION, topic, jobs: [{ ...job, attempt: 1 }] });
    const [sent] = await ctx.queues.send({ topic, dead: true }, [{ body, delaySeconds: 0 }]);
    if (sent?.outcome !== "sent") {
      throw new MinutehandError("unavailable", `SQS rejected a message to the DLQ of topic ${topic}`);
    }
    ctx.report({ type: "dead", topic, id, attempt, error, hasLetter: true });
  } else if (ending.end === "failed") {
    const [byte = 0] = ctx.random(1);
    const backoff = Math.max(backoffMs(policy.backoff, attempt, byte / 256), ending.notBefore ?? 0);
    const wait = ending.retryAfter ?? backoff;
    await runAgain(ctx, topic, group, { ...job, attempt: attempt + 1 }, after(wait));
    ctx.report({ type: "failed", topic, id, attempt, error });
  }
  return "settled";
}

type CountedEnding = Exclude<Ending, { end: "throttled" }>;

/** Counts a run that is no attempt. If the handler may ask for no more runs today, the job is dead. */
export function countAskedRun(
  ctx: Context,
  topic: string,
  before: MessageJob,
  ending: Ending,
): { job: MessageJob; ending: CountedEnding } {
  if (ending.end === "throttled") {
    const { throttled, wait } = countThrottled(ctx, { ...before, topic });
    return { job: { ...before, throttled }, ending: { end: "retry-in", wait } };
  }
  const { throttled: _, ...job } = before;
  if (ending.end !== "retry-in") return { job, ending };
  const { askedRuns, refusal } = askForRun(ctx, { ...job, topic });
  if (refusal !== undefined) return { job, ending: { end: "buried", error: refusal } };
  return { job: { ...job, askedRuns }, ending };
}

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
  const again = { ...same, dueAt: new Date(dueAt).toISOString() };
  if ((await resend(ctx, topic, group, [again])).size > 0) return;
  throw new MinutehandError("unavailable", `SQS rejected a message to the ready queue of topic ${topic}`);
}

/**
 * Ends the run of a pulled untracked job: deletes its message, or hides it until the next run. SQS's receive count counts the runs.
 * @throws `untracked-topic` for `buried`, `bad-request` if `retryAfter` is longer than SQS can hide the message, `claim-lost`
 */
export async function settleUntrackedPull(
  ctx: Context,
  topic: string,
  receipt: Receipt,
  ending: Exclude<Ending, { end: "retry-in" | "throttled" }>,
): Promise<void> {
  if (ending.end === "buried") {
    throw untrackedTopic(topic, "bury");
  }
  if (ending.end === "done") return ctx.queues.remove({ topic }, [receipt.handle]);
  const { retryAfter = 0 } = ending;
  const now = ctx.clock();
  const longest = hidableMs(receipt, now);
  if (retryAfter > longest) {
    throw new MinutehandError(
      "bad-request",
      `delay of an untracked job must be at most ${Math.floor(longest / 1000)} s, the longest time for which SQS can still hide its message, got ${retryAfter / 1000} s`,
    );
  }
  await hideUntracked(ctx, topic, receipt, retryAfter);
}

/** Prolongs the run to `ms` from now, or for as long as SQS can hide the message. Answers the new end. Throws `claim-lost`. */
export async function extendUntracked(
  ctx: Context,
  topic: string,
  receipt: Receipt,
  ms: number,
): Promise<number> {
  const now = ctx.clock();
  const longest = hidableMs(receipt, now);
  await hideUntracked(ctx, topic, receipt, Math.min(ms + VISIBILITY_MARGIN, longest));
  return now + Math.min(ms, longest);
}

function hideUntracked(ctx: Context, topic: string, { handle }: Receipt, ms: number): Promise<void> {
  return ctx.queues.hide({ topic }, [{ handle, seconds: hideSecondsOf(ms) }]);
}

/** How long SQS can still hide a message, 12 h from its receive at most: ms. Throws `claim-lost` if `VISIBILITY_MARGIN` or less is left. */
function hidableMs({ id, receivedAt }: Receipt, now: number): number {
  // Receipts of earlier versions do not say it.
  const longest = Math.min((receivedAt ?? now) + LONGEST_LEASE - VISIBILITY_MARGIN - now, LONGEST_HIDE);
  if (longest <= 0) throw claimLost(id);
  return longest;
}
