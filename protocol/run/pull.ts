import {
  BATCH_PATIENCE,
  CLOCK_MARGIN,
  HELD_BY_CONSUMER,
  LONGEST_HIDE,
  LONGEST_LEASE,
  MOST_RECEIVES,
  PAUSE_KNOWN_FOR,
  SQS_BATCH_ENTRIES,
  VISIBILITY_MARGIN,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { isRunning } from "../../core/home.ts";
import { type Home, homeKey } from "../../core/items.ts";
import {
  type Message,
  type MessageJob,
  newerMessage,
  newestOf,
  parseMessage,
  startOf,
  unreadableSeconds,
} from "../../core/message.ts";
import { hideSecondsOf } from "../../core/packs.ts";
import type { TopicPolicy } from "../../core/policy.ts";
import { decodeReceipt, encodeReceipt, type Receipt } from "../../core/receipt.ts";
import { inParallel } from "../../general/batches.ts";
import { isPaused } from "../gate/known-pauses.ts";
import { openingOf } from "../gate/start-gate.ts";
import { policyOf } from "../policy.ts";
import type { Context, Received, Timers } from "../ports.ts";
import { requireTopic } from "../read/topics.ts";
import { resend } from "../send/resend.ts";
import { notFound, readJob } from "../store/read-job.ts";
import { claim, REPEAT_AFTER, type Verdict } from "./claim.ts";
import { redriveEnvelope } from "./redrive-envelope.ts";
import { claimLost, type Ending, type Held, settleDone, settleOtherwise } from "./settle.ts";
import { startedEvent } from "./started-event.ts";

/** ms that whoever does not wait, too, goes past void messages: what is due may lie behind them. */
const PAST_VOID = 1000;

/** A job handed to a caller, to be settled by its receipt before `leaseUntil` (ms). */
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
 * Takes up to `max` (1 to 10) due jobs of a pull topic, waiting up to `waitSeconds` (0 to 20) for the first, and past void
 * messages a second at least; none of a paused one.
 * Throws `unknown-topic`, `not-a-pull-topic`, `unavailable`.
 */
export async function receive(
  ctx: Context,
  topic: string,
  options: { max: number; waitSeconds: number },
  timers: Timers,
): Promise<Pulled[]> {
  const policy = requireTopic(ctx, topic);
  if (policy.consumer !== "pull") throw notPull(topic);
  const ttr = policy.ttr * 1000;
  const started = ctx.clock();
  const patience = Math.max(options.waitSeconds * 1000, PAST_VOID);
  for (;;) {
    const waited = (ctx.clock() - started) / 1000;
    const waitSeconds = Math.max(Math.floor(options.waitSeconds - waited), 0);
    // rule: receive-asks-for-a-pause
    if (await isPaused(ctx, topic)) {
      if (waitSeconds === 0) return [];
      // It may be resumed meanwhile.
      await timers.wait(Math.min(waitSeconds * 1000, PAUSE_KNOWN_FOR));
      continue;
    }
    const messages = await messagesOf(ctx, topic, policy, { ...options, waitSeconds });
    const pulled = await take(ctx, topic, messages, ttr, timers);
    // Only void messages came: that was no answer yet.
    if (pulled.length > 0 || messages.length === 0 || ctx.clock() - started >= patience) {
      return pulled;
    }
  }
}

/**
 * Messages of a `millisecond` topic come up to 1.2 s early, and those of one call start together, when the last is due. So
 * such a call takes one, unless the callers are so few that the topic is late anyway.
 */
async function messagesOf(
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

/** ms: a `millisecond` topic that is so late has too few callers. */
const BEHIND = 200;
const EXTEND_TRIES = 5;
/** ms from the first claim. Claims that DynamoDB throttles are repeated for less. */
const HAND_OUT_WITHIN = BATCH_PATIENCE + 500;

type Carried = { message: Received; parsed: Message; job: MessageJob };

async function take(
  ctx: Context,
  topic: string,
  messages: readonly Received[],
  ttr: number,
  timers: Timers,
): Promise<Pulled[]> {
  const drop: string[] = [];
  const hide: { handle: string; seconds: number }[] = [];
  const due: Carried[] = [];
  const letters: { message: Received; parsed: Message }[] = [];
  const receivedAt = ctx.clock();
  for (const message of messages) {
    const parsed = parseMessage(message.body);
    if (!parsed) {
      // What is not ours stays till maxReceiveCount ends it, and a newer version's for long enough to outlive a rollback.
      const newer = newerMessage(message.body);
      if (!newer) continue;
      ctx.report({ type: "trouble", topic, what: "reading a message", error: newer.error });
      hide.push({ handle: message.handle, seconds: unreadableSeconds(message.receives) });
      continue;
    }
    if (parsed.dead) {
      letters.push({ message, parsed });
      continue;
    }
    const [job] = parsed.jobs;
    if (parsed.jobs.length > 1) {
      // Packed for the consumer that the topic had before: each job gets a message that can be settled alone.
      if (await isSpread(ctx, parsed)) drop.push(message.handle);
      continue;
    }
    const early = job ? startOf(job) - ctx.clock() : 0;
    if (!job) drop.push(message.handle);
    else if (early >= HELD_BY_CONSUMER) hide.push({ handle: message.handle, seconds: hideSecondsOf(early) });
    else due.push({ message, parsed, job });
  }
  // Together, as other jobs wait for them.
  await inParallel(letters, SQS_BATCH_ENTRIES, async ({ message, parsed }) => {
    if (await redriveEnvelope(ctx, parsed)) drop.push(message.handle);
  });
  const latest = Math.max(0, ...due.map(({ job }) => startOf(job)));
  // A timer may fire a millisecond before the clock says so: whoever waited looks at the clock again.
  for (let ahead = latest - ctx.clock(); ahead > 0; ahead = latest - ctx.clock()) await timers.wait(ahead);

  const pulled: Pulled[] = [];
  // The lease begins before the claim: a slow claim must not outlast it unseen.
  const leaseEnd = ctx.clock() + ttr;
  const unique = newestOf(due);
  for (const carried of due) if (!unique.includes(carried)) drop.push(carried.message.handle);
  const tracked = unique.filter(({ job }) => !job.untracked);
  const untracked = unique.filter(({ job }) => job.untracked);
  const claimed: Held[] = [];
  const started: MessageJob[] = [];
  const jobs = tracked.map(({ job }) => job);
  // Why nobody could read whether the topic is paused. Its messages come again soon then: their `ttr` may be hours.
  const failures: unknown[] = [];
  const verdicts = await claimSoon(ctx, topic, jobs, leaseEnd, timers).catch((error: unknown) => {
    failures.push(error);
    const later = { verdict: "left", until: ctx.clock() + REPEAT_AFTER } as const;
    return new Map<string, Verdict>(jobs.map(({ id }) => [id, later]));
  });
  for (const { message, parsed, job } of tracked) {
    const verdict = verdicts.get(job.id);
    if (verdict?.verdict === "claimed") {
      const { token } = verdict;
      claimed.push({ id: job.id, topic, token, attempt: verdict.job.attempt });
      started.push(verdict.job);
      pulled.push(pulledOf(verdict.job, message, leaseEnd, { token }));
    } else if (verdict?.verdict === "left") {
      // Each look at a lease that is prolonged counts as a receive. A new message counts anew.
      if (message.receives >= MOST_RECEIVES - 1 && (await isSpread(ctx, parsed))) {
        drop.push(message.handle);
        continue;
      }
      const left = verdict.until + CLOCK_MARGIN - ctx.clock();
      hide.push({ handle: message.handle, seconds: hideSecondsOf(left) });
    } else drop.push(message.handle);
  }
  // rule: untracked-pull-asks-for-a-pause
  // Paused while this waited; of tracked ones the claim has asked.
  const paused =
    untracked.length > 0 &&
    (await isPaused(ctx, topic).catch((error: unknown) => {
      failures.push(error);
      return "unknown" as const;
    }));
  for (const { message, job } of untracked) {
    const expired = job.expiresAt !== undefined && ctx.clock() > Date.parse(job.expiresAt);
    if (expired) drop.push(message.handle);
    else if (paused === "unknown") hide.push({ handle: message.handle, seconds: REPEAT_AFTER / 1000 });
    else if (paused) hide.push({ handle: message.handle, seconds: 0 });
    else {
      started.push(job);
      pulled.push(pulledOf(job, message, leaseEnd, { topic, receivedAt }));
    }
  }
  await putAway(ctx, topic, drop, hide);
  // rule: no-start-past-the-lease
  // Nobody starts past the lease, which the claim and putting the others away may have taken.
  const isOver = ctx.clock() >= leaseEnd;
  if (isOver) {
    await inParallel(claimed, 8, (held) => unclaim(ctx, held));
    return [];
  }
  const [failure] = failures;
  if (failure !== undefined && pulled.length === 0) throw failure;
  if (failure !== undefined)
    ctx.report({ type: "trouble", topic, what: "claiming jobs", error: messageOf(failure) });
  for (const job of started) ctx.report(startedEvent(ctx, topic, job, ctx.clock()));
  return pulled;
}

/**
 * Claims jobs and answers the verdicts by the jobs' ids. When it is known what is claimed, nobody waits long for the others:
 * a crashed run may have to be settled first, or a message be sent, while the pool or SQS hangs.
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
  const later = { verdict: "left", until: ctx.clock() + REPEAT_AFTER } as const;
  const isLong = Promise.withResolvers<void>();
  let cancel: (() => void) | undefined;
  let isOver = false;
  const beginToWait = (): void => {
    cancel ??= timers.after(HAND_OUT_WITHIN, isLong.resolve);
  };
  const claiming = claim(ctx, topic, jobs, leaseEnd, {
    onClaimed(claimed) {
      const { job, token } = claimed;
      if (isOver) void unclaim(ctx, { id: job.id, topic, token, attempt: job.attempt });
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
  for (const { id } of jobs) if (!verdicts.has(id)) verdicts.set(id, later);
  return verdicts;
}

/** ms of each try. After a poll of 20 s the API has 9 s left: claimed jobs that it does not hand out by then lose an attempt. */
const PUT_AWAY_PATIENCE = 1000;

/**
 * Deletes void messages, and hides those that are to wait. What the pool says of their jobs stands without that: a message that
 * stays comes again, and is void or waits then too. So nobody waits long for it, and it fails nobody's call.
 */
async function putAway(
  ctx: Context,
  topic: string,
  drop: readonly string[],
  hide: readonly { handle: string; seconds: number }[],
): Promise<void> {
  const outcomes = await Promise.allSettled([
    ctx.queues.remove({ topic }, drop, PUT_AWAY_PATIENCE),
    ctx.queues.hide({ topic }, hide, PUT_AWAY_PATIENCE),
  ]);
  for (const one of outcomes)
    if (one.status === "rejected")
      ctx.report({ type: "trouble", topic, what: "putting messages away", error: messageOf(one.reason) });
}

/** Sends the jobs of a message one by one. Whether the message may go. */
async function isSpread(ctx: Context, { topic, group, jobs }: Message): Promise<boolean> {
  const sent = await resend(ctx, topic, group, jobs);
  return jobs.every(({ id }) => sent.has(id));
}

/** Lets a job wait again that nobody was given, and counts no attempt. Whoever meets it else settles it as a crash. */
async function unclaim(ctx: Context, held: Held): Promise<void> {
  try {
    await settleOtherwise(ctx, held, { end: "retry-in", wait: 0 });
  } catch (error) {
    ctx.report({
      type: "trouble",
      topic: held.topic,
      what: "letting a job wait again",
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

/** What is told of a tracked job of another topic. */
function notOf(ctx: Context, topic: string, id: string): MinutehandError {
  return policyOf(ctx, topic).tracking === "none" ? claimLost(id) : notFound(id);
}

/** A receipt that has passed its topic's door. */
type Shown = { receipt: Receipt; held: Held | undefined };

function show(ctx: Context, topic: string, text: string): Shown {
  const policy = requireTopic(ctx, topic);
  if (policy.consumer !== "pull") throw notPull(topic);
  const receipt = decodeReceipt(text);
  if (!receipt) throw new MinutehandError("bad-request", "receipt must be a receipt that `receive` answered");
  const { id, attempt, token } = receipt;
  if (token !== undefined) return { receipt, held: { id, topic, token, attempt } };
  // SQS would pass over a handle of another queue in silence.
  if (receipt.topic !== topic) throw claimLost(id);
  return { receipt, held: undefined };
}

/**
 * Ends a pulled job's run: done, failed or buried. The same call with the same receipt again answers the
 * same; `undefined` for an untracked job, of which nothing is stored. Throws `claim-lost`, `bad-request`,
 * `untracked-topic`, `unavailable`.
 */
export async function settlePulled(
  ctx: Context,
  topic: string,
  text: string,
  ending: Exclude<Ending, { end: "retry-in" }>,
): Promise<Home | undefined> {
  const { receipt, held } = show(ctx, topic, text);
  if (!held) {
    await settleUntrackedPull(ctx, topic, receipt, ending);
    return undefined;
  }
  const before = await readJob(ctx, held.id);
  if (before.topic !== topic) throw notOf(ctx, topic, held.id);
  if (ending.end === "done") {
    const run = before.key === undefined ? held : { ...held, key: before.key };
    const [settled] = await settleDone(ctx, [run], ctx.clock() + WRITER_DEADLINE);
    if (settled instanceof Error) throw settled;
    if (settled !== "settled") throw claimLost(held.id);
  } else if ((await settleOtherwise(ctx, held, ending)) === "lost") throw claimLost(held.id);
  await putAway(ctx, topic, [receipt.handle], []);
  return readJob(ctx, held.id);
}

async function settleUntrackedPull(
  ctx: Context,
  topic: string,
  receipt: Receipt,
  ending: Exclude<Ending, { end: "retry-in" }>,
): Promise<void> {
  if (ending.end === "buried") {
    throw new MinutehandError("untracked-topic", `a job of the untracked topic ${topic} cannot be buried`);
  }
  if (ending.end === "done") await ctx.queues.remove({ topic }, [receipt.handle]);
  else {
    const { retryAfter = 0 } = ending;
    const now = ctx.clock();
    const longest = hidableMs(receipt, now);
    if (retryAfter > longest) {
      throw new MinutehandError(
        "bad-request",
        `delay of an untracked job must be at most ${Math.floor(longest / 1000)} s, because SQS can hide its message no longer, got ${retryAfter / 1000} s`,
      );
    }
    const wait = Math.min(openingOf(ctx, topic, now + retryAfter) - now, longest);
    await ctx.queues.hide({ topic }, [{ handle: receipt.handle, seconds: hideSecondsOf(wait) }]);
  }
}

/**
 * For how many ms more SQS hides an untracked job's message: it refuses what passes 12 h since the receive, and leaves the
 * message as it is. Throws `claim-lost` when they are over.
 */
function hidableMs({ id, receivedAt }: Receipt, now: number): number {
  // Receipts of before did not say when.
  const longest = Math.min((receivedAt ?? now) + LONGEST_LEASE - VISIBILITY_MARGIN - now, LONGEST_HIDE);
  if (longest <= 0) throw claimLost(id);
  return longest;
}

/**
 * Prolongs a pulled job's lease to `ms` from now, 12 h from its claim at most: the lease first, then the
 * message. Answers the job and the lease's end. Throws as `settlePulled`.
 */
export async function extend(
  ctx: Context,
  topic: string,
  text: string,
  ms: number,
): Promise<{ home: Home | undefined; leaseUntil: number }> {
  const { receipt, held } = show(ctx, topic, text);
  if (!held) {
    const now = ctx.clock();
    const longest = hidableMs(receipt, now);
    const seconds = hideSecondsOf(Math.min(ms + VISIBILITY_MARGIN, longest));
    await ctx.queues.hide({ topic }, [{ handle: receipt.handle, seconds }]);
    return { home: undefined, leaseUntil: now + Math.min(ms, longest) };
  }
  const hide = { handle: receipt.handle, seconds: hideSecondsOf(ms + VISIBILITY_MARGIN) };
  for (let i = 0; i < EXTEND_TRIES; i++) {
    const home = await readJob(ctx, held.id);
    const now = ctx.clock();
    if (home.topic !== topic) throw notOf(ctx, topic, held.id);
    if (home.token !== held.token || !isRunning(home, now)) throw claimLost(held.id);
    const leaseEnd = Math.min(now + ms, (home.claimedAt ?? now) + LONGEST_LEASE);
    const expect = { token: held.token, state: "running", leaseEnd: home.leaseEnd };
    const key = homeKey(held.id);
    const changed = await ctx.pool.change({ key, expect, set: { leaseEnd } }, now + WRITER_DEADLINE);
    if (!changed.changed) continue;
    await putAway(ctx, topic, [], [hide]);
    return { home: changed.item as Home, leaseUntil: leaseEnd };
  }
  throw new MinutehandError("unavailable", `other calls keep changing job ${held.id}; repeat the call`);
}

function notPull(topic: string): MinutehandError {
  return new MinutehandError(
    "not-a-pull-topic",
    `topic ${topic} must be a pull topic, but it has a Lambda or webhook consumer`,
  );
}
