import {
  BATCH_PATIENCE,
  CLOCK_MARGIN,
  PAUSE_KNOWN_FOR,
  SQS_BATCH_ENTRIES,
  VISIBILITY_MARGIN,
} from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Message, type MessageJob, newestRevisions, parseMessage, startOf } from "../../core/message.ts";
import { hideSecondsOf } from "../../core/packs.ts";
import type { TopicPolicy } from "../../core/policy.ts";
import { encodeReceipt } from "../../core/receipt.ts";
import { inParallel } from "../../general/batches.ts";
import { isPaused, topicNow } from "../gate/known-pauses.ts";
import type { Context, Received, Timers } from "../ports.ts";
import { resend } from "../send/resend.ts";
import { claim, startedEvent } from "./claim.ts";
import { isWorn, openMessage } from "./open-message.ts";
import { type Away, putAway, requirePullTopic } from "./pull-topic.ts";
import { redriveEnvelope } from "./redrive-envelope.ts";
import { giveClaimBack, type Held } from "./settle.ts";
import { leaveUnknown, REPEAT_AFTER, type Verdict } from "./verdict.ts";

/** How long a call receives again after void messages at least, in ms: due jobs may lie behind these messages. */
const PAST_VOID = 1000;

/** A job that a caller has received, and settles by its receipt until `leaseUntil`. Times are ms since the epoch. */
export type Pulled = {
  id: string;
  receipt: string;
  attempt: number;
  dueAt: number;
  body: unknown;
  headers?: Record<string, string>;
  leaseUntil: number;
};

/**
 * Hands out due jobs of a pull topic. Waits up to `waitSeconds` for the first job. Answers no job while the topic is paused.
 * @param options `max`: 1 to 10 jobs. `waitSeconds`: 0 to 20. `signal`: aborted when nobody waits for the jobs any more. Then other
 * callers get the jobs that still come, and no attempt is counted.
 * @throws `unknown-topic`, `not-a-pull-topic`, `unavailable`
 */
export async function receive(
  ctx: Context,
  topic: string,
  options: { max: number; waitSeconds: number; signal?: AbortSignal },
  timers: Timers,
): Promise<Pulled[]> {
  const { signal } = options;
  const policy = requirePullTopic(ctx, topic);
  const ttr = policy.ttr * 1000;
  const started = ctx.clock();
  const patience = Math.max(options.waitSeconds * 1000, PAST_VOID);
  while (!signal?.aborted) {
    const waited = (ctx.clock() - started) / 1000;
    const waitSeconds = Math.max(Math.floor(options.waitSeconds - waited), 0);
    // The claim asks for the pause too. This check spares the writes that would park the jobs.
    if (isPaused(await topicNow(ctx, topic))) {
      if (waitSeconds === 0) return [];
      await timers.wait(Math.min(waitSeconds * 1000, PAUSE_KNOWN_FOR));
      continue;
    }
    const messages = await receiveMessages(ctx, topic, policy, { ...options, waitSeconds });
    if (signal?.aborted) {
      // These jobs are not claimed yet, so visible messages give them back.
      await putAway(ctx, topic, { drop: [], hide: messages.map(({ handle }) => ({ handle, seconds: 0 })) });
      return [];
    }
    const pulled = await handOut(ctx, topic, messages, ttr, timers, signal);
    if (pulled.length > 0 || messages.length === 0 || ctx.clock() - started >= patience) {
      return pulled;
    }
  }
  return [];
}

/**
 * Receives messages, of a `millisecond` topic only one: SQS delivers them up to 1.2 s early, and the jobs of one call start together, when
 * the last of them is due. If the job of that message is late, the topic has too few callers, and the call receives more messages.
 */
async function receiveMessages(
  ctx: Context,
  topic: string,
  { precision, ttr }: TopicPolicy,
  { max, waitSeconds }: { max: number; waitSeconds: number },
): Promise<readonly Received[]> {
  const hideSeconds = hideSecondsOf(ttr * 1000 + VISIBILITY_MARGIN);
  const atOnce = precision === "millisecond" ? 1 : max;
  const ask = (max: number, waitSeconds: number) =>
    ctx.queues.receive({ topic }, { max, waitSeconds, hideSeconds });
  const messages = await ask(atOnce, waitSeconds);
  const [job] = parseMessage(messages[0]?.body ?? "")?.jobs ?? [];
  if (atOnce === max || !job || ctx.clock() - startOf(job) < BEHIND) return messages;
  try {
    return [...messages, ...(await ask(max - 1, 0))];
  } catch (error) {
    ctx.report({ type: "trouble", topic, what: "receiving more messages", error: messageOf(error) });
    return messages;
  }
}

/** A `millisecond` topic whose job is late by this time or more has too few callers: ms. */
const BEHIND = 200;
/** How long a call waits for its other verdicts, after its first claim is known: ms. Longer than throttled claims are tried again. */
const HAND_OUT_WITHIN = BATCH_PATIENCE + 500;

/** A job that has come, and the message that carries it alone. */
type Carried = { readonly received: Received; readonly message: Message; readonly job: MessageJob };

/** Claims the jobs of messages, and answers the claimed jobs. Deletes or hides the other messages. */
async function handOut(
  ctx: Context,
  topic: string,
  messages: readonly Received[],
  ttr: number,
  timers: Timers,
  signal?: AbortSignal,
): Promise<Pulled[]> {
  const away: Away = { drop: [], hide: [] };
  const receivedAt = ctx.clock();
  const due = await openAll(ctx, topic, messages, away);
  const latest = Math.max(0, ...due.map(({ job }) => startOf(job)));
  // A timer may fire a millisecond early by the clock.
  for (let ahead = latest - ctx.clock(); ahead > 0; ahead = latest - ctx.clock()) await timers.wait(ahead);

  const pulled: Pulled[] = [];
  // The lease counts from before the claim, so the check below finds a claim that took longer than the lease.
  const leaseEnd = ctx.clock() + ttr;
  const unique = newestRevisions(due);
  for (const carried of due) if (!unique.includes(carried)) away.drop.push(carried.received.handle);
  const tracked = unique.filter(({ job }) => !job.untracked);
  const untracked = unique.filter(({ job }) => job.untracked);
  const claimed: Held[] = [];
  const started: MessageJob[] = [];
  const jobs = tracked.map(({ job }) => job);
  // After an error the messages are hidden for a few seconds only: by default they would stay hidden for the topic's `ttr`, maybe hours.
  const failures: unknown[] = [];
  const verdicts = await claimSoon(ctx, topic, jobs, leaseEnd, timers).catch((error: unknown) => {
    failures.push(error);
    return new Map(jobs.map(({ id }) => [id, leaveUnknown(ctx.clock())]));
  });
  for (const { received, message, job } of tracked) {
    const verdict = verdicts.get(job.id);
    if (verdict?.verdict === "claimed") {
      const { token } = verdict;
      claimed.push({ id: job.id, topic, token, attempt: verdict.job.attempt });
      started.push(verdict.job);
      pulled.push(pulledOf(verdict.job, received, leaseEnd, { token }));
    } else if (verdict?.verdict === "left") {
      // SQS counts the receives also while another run holds the job. A new message begins with 0 receives.
      if (isWorn(received.receives) && (await sendAlone(ctx, message))) away.drop.push(received.handle);
      else hideFor(away, received, verdict.until + CLOCK_MARGIN - ctx.clock());
    } else away.drop.push(received.handle);
  }
  for (const { received, job } of untracked) {
    if (signal?.aborted) hideFor(away, received, 0);
    else {
      started.push(job);
      pulled.push(pulledOf(job, received, leaseEnd, { topic, receivedAt }));
    }
  }
  await putAway(ctx, topic, away);
  // The claim and `putAway` may have used up the lease.
  const isOver = ctx.clock() >= leaseEnd;
  if (isOver || signal?.aborted) {
    await inParallel(claimed, 8, (held) => giveBackUnreceived(ctx, held));
    return [];
  }
  const [failure] = failures;
  if (failure !== undefined && pulled.length === 0) throw failure;
  if (failure !== undefined)
    ctx.report({ type: "trouble", topic, what: "claiming jobs", error: messageOf(failure) });
  for (const job of started) ctx.report(startedEvent(ctx, topic, job, ctx.clock()));
  return pulled;
}

function hideFor({ hide }: Away, { handle }: Received, ms: number): void {
  hide.push({ handle, seconds: hideSecondsOf(ms) });
}

/** Opens messages, and answers the jobs to claim. Adds the other messages to `away`, but not foreign ones: these stay as they are. */
async function openAll(
  ctx: Context,
  topic: string,
  messages: readonly Received[],
  away: Away,
): Promise<Carried[]> {
  const due: Carried[] = [];
  const letters: { received: Received; message: Message }[] = [];
  for (const received of messages) {
    const opened = openMessage(received.body, received.receives, ctx.clock());
    if (opened.kind === "foreign") continue;
    if (opened.kind === "newer") {
      ctx.report({ type: "trouble", topic, what: "reading a message", error: opened.error });
      hideFor(away, received, opened.hideFor);
      continue;
    }
    const { message } = opened;
    const [job, ...others] = message.jobs;
    if (opened.kind === "dead-letter") letters.push({ received, message });
    else if (!job) away.drop.push(received.handle);
    else if (others.length > 0) {
      // Packed for the consumer that the topic had before. A pull settles each job by its own message.
      if (await sendAlone(ctx, message)) away.drop.push(received.handle);
      else hideFor(away, received, REPEAT_AFTER);
    } else if (opened.kind === "early") hideFor(away, received, opened.hideFor);
    else due.push({ received, message, job });
  }
  // In parallel, because other jobs wait for these letters.
  await inParallel(letters, SQS_BATCH_ENTRIES, async ({ received, message }) => {
    if (await redriveEnvelope(ctx, message)) away.drop.push(received.handle);
    else hideFor(away, received, REPEAT_AFTER);
  });
  return due;
}

/**
 * Claims jobs, and answers the verdicts by the jobs' ids. Once a first job is claimed, or all claims are answered, the call waits only
 * `HAND_OUT_WITHIN` for the other verdicts. A job whose verdict comes later is left, and its claim is given back if it still succeeds.
 */
async function claimSoon(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  leaseEnd: number,
  timers: Timers,
): Promise<Map<string, Verdict>> {
  const verdicts = new Map<string, Verdict>();
  if (jobs.length === 0) return verdicts;
  const begun = ctx.clock();
  const isLong = Promise.withResolvers<void>();
  let cancel: (() => void) | undefined;
  let isOver = false;
  const beginToWait = (): void => {
    cancel ??= timers.after(HAND_OUT_WITHIN, isLong.resolve);
  };
  const claiming = claim(ctx, topic, jobs, leaseEnd, {
    onClaimed(claimed) {
      const { job, token } = claimed;
      if (isOver) void giveBackUnreceived(ctx, { id: job.id, topic, token, attempt: job.attempt });
      else verdicts.set(job.id, claimed);
      beginToWait();
    },
  }).then(async ({ rest }) => {
    beginToWait();
    for (const [i, verdict] of (await rest).entries()) if (!isOver) verdicts.set(jobs[i]?.id ?? "", verdict);
  });
  await Promise.race([claiming, isLong.promise]);
  isOver = true;
  cancel?.();
  for (const { id } of jobs) if (!verdicts.has(id)) verdicts.set(id, leaveUnknown(begun));
  return verdicts;
}

/** Sends each job of a message in a message of its own. Answers whether the old message may be deleted. */
async function sendAlone(ctx: Context, { topic, group, jobs }: Message): Promise<boolean> {
  const sent = await resend(ctx, topic, group, jobs);
  return jobs.every(({ id }) => sent.has(id));
}

/** Gives back a claimed job that no caller received. If that fails, the claim counts as a crashed run when its lease is over. */
async function giveBackUnreceived(ctx: Context, held: Held): Promise<void> {
  try {
    await giveClaimBack(ctx, held);
  } catch (error) {
    ctx.report({
      type: "trouble",
      topic: held.topic,
      what: "giving back a job that no caller received",
      error: messageOf(error),
    });
  }
}

function pulledOf(
  job: MessageJob,
  { handle }: Received,
  leaseUntil: number,
  bound: { token: string } | { topic: string; receivedAt: number },
): Pulled {
  const { id, revision, attempt, body, headers } = job;
  const receipt = { v: 1, id, revision, attempt, handle, ...bound } as const;
  return {
    id,
    receipt: encodeReceipt(receipt),
    attempt,
    dueAt: Date.parse(job.dueAt),
    body,
    ...(headers ? { headers } : {}),
    leaseUntil,
  };
}
