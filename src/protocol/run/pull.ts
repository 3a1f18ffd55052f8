import {
  BATCH_PATIENCE,
  LEASE_GRACE,
  PAUSE_KNOWN_FOR,
  SQS_BATCH_ENTRIES,
  VISIBILITY_MARGIN,
} from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Message, type MessageJob, newestRevisions, parseMessage, startOf } from "../../core/message.ts";
import { hideSecondsOf } from "../../core/packs.ts";
import { encodeReceipt } from "../../core/receipt.ts";
import { inParallel } from "../../general/batches.ts";
import type { TopicPolicy } from "../../settings/policy.ts";
import { isPaused, topicNow } from "../gate/known-pauses.ts";
import type { Context, Received, Timers } from "../ports.ts";
import { resend } from "../send/resend.ts";
import { claim, startedEvent } from "./claim.ts";
import { isWorn, openMessage } from "./open-message.ts";
import { type Away, putAway, requirePullTopic } from "./pull-topic.ts";
import { redriveEnvelope } from "./redrive-envelope.ts";
import { type ClaimedRun, giveClaimBack } from "./settle.ts";
import { type Claimed, leaveUnknown, REPEAT_AFTER, type Verdict, type Verdicts } from "./verdict.ts";

/** How long a call goes on after void messages at least, in ms: due jobs may lie behind them. */
const PAST_VOID = 1000;

/** The caller settles the job by its receipt until `leaseUntil`. Times are ms since the epoch. */
export type Pulled = {
  id: string;
  key?: string;
  receipt: string;
  attempt: number;
  dueAt: number;
  body: unknown;
  headers?: Record<string, string>;
  schedule?: string;
  /** ISO 8601. */
  scheduledFor?: string;
  traceparent?: string;
  leaseUntil: number;
};

/**
 * Hands out due jobs of a pull topic, and none while it is paused. @throws `unknown-topic`, `not-a-pull-topic`, `unavailable`
 * @param options `max`: 1 to 10 jobs. `waitSeconds`: for the first job, 0 to 20. `signal`: aborted when nobody waits for the jobs any more.
 * Then other callers get the jobs that still come, and no attempt is counted.
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
    // The claim asks too. This check spares the writes that would park the jobs.
    if (isPaused(await topicNow(ctx, topic))) {
      if (waitSeconds === 0) return [];
      await timers.wait(Math.min(waitSeconds * 1000, PAUSE_KNOWN_FOR));
      continue;
    }
    const messages = await receiveMessages(ctx, topic, policy, { ...options, waitSeconds });
    if (signal?.aborted) {
      // Not claimed yet.
      await putAway(
        ctx,
        topic,
        messages.map((received) => hidden(received, 0)),
      );
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
 * Of a `millisecond` topic only one message: SQS delivers them early, and the jobs of a call start together, when the last is due. If that job
 * is late, the topic has too few callers, and the call receives more messages.
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
/** How long a call waits for its other verdicts after the first claim: ms. Throttled claims are tried again for less. */
const HAND_OUT_WITHIN = BATCH_PATIENCE + 500;

type Carried = { readonly received: Received; readonly message: Message; readonly job: MessageJob };

/** `run`: the claim of a tracked job. */
type Taken = { readonly job: MessageJob; readonly pulled: Pulled; readonly run?: ClaimedRun };

/** Deletes or hides the messages of jobs that are not claimed. */
async function handOut(
  ctx: Context,
  topic: string,
  messages: readonly Received[],
  ttr: number,
  timers: Timers,
  signal?: AbortSignal,
): Promise<Pulled[]> {
  const receivedAt = ctx.clock();
  const { due, away } = await openAll(ctx, topic, messages);
  await untilAllStart(ctx, due, timers);
  // From before the claim, so that the check below finds a claim that took longer than the lease.
  const leaseEnd = ctx.clock() + ttr;
  const unique = newestRevisions(due);
  const tracked = unique.filter(({ job }) => !job.untracked);
  const { verdicts, failure } = await tryToClaim(ctx, topic, tracked, leaseEnd, timers);
  const taken: Taken[] = [];
  away.push(...due.flatMap((one) => (unique.includes(one) ? [] : { handle: one.received.handle })));
  for (const one of tracked) {
    const verdict = verdicts.get(one.job.id);
    if (verdict?.verdict === "claimed") taken.push(takenOf(topic, one, verdict, leaseEnd));
    else away.push(await unclaimed(ctx, one, verdict));
  }
  for (const { received, job } of unique.filter((one) => one.job.untracked)) {
    if (signal?.aborted) away.push(hidden(received, 0));
    else taken.push({ job, pulled: pulledOf(job, received, leaseEnd, { topic, receivedAt }) });
  }
  await putAway(ctx, topic, away);
  // The claim and `putAway` may have used up the lease.
  if (ctx.clock() >= leaseEnd || signal?.aborted) {
    await inParallel(taken, 8, async ({ run }) => run && giveBackUnreceived(ctx, run));
    return [];
  }
  if (failure !== undefined && taken.length === 0) throw failure;
  if (failure !== undefined)
    ctx.report({ type: "trouble", topic, what: "claiming jobs", error: messageOf(failure) });
  for (const { job } of taken) ctx.report(startedEvent(ctx, topic, job, ctx.clock()));
  return taken.map(({ pulled }) => pulled);
}

async function untilAllStart(ctx: Context, due: readonly Carried[], timers: Timers): Promise<void> {
  const latest = Math.max(0, ...due.map(({ job }) => startOf(job)));
  // A timer may fire a millisecond early by the clock.
  for (let ahead = latest - ctx.clock(); ahead > 0; ahead = latest - ctx.clock()) await timers.wait(ahead);
}

/** After an error the messages are hidden for a few seconds only: by default they would stay hidden for the topic's `ttr`. */
async function tryToClaim(
  ctx: Context,
  topic: string,
  carried: readonly Carried[],
  leaseEnd: number,
  timers: Timers,
): Promise<{ verdicts: Verdicts; failure?: unknown }> {
  const jobs = carried.map(({ job }) => job);
  try {
    return { verdicts: await claimSoon(ctx, topic, jobs, leaseEnd, timers) };
  } catch (failure) {
    return { verdicts: new Map(jobs.map(({ id }) => [id, leaveUnknown(ctx.clock())])), failure };
  }
}

function takenOf(topic: string, { received }: Carried, { job, token }: Claimed, leaseEnd: number): Taken {
  const run = { id: job.id, topic, token, attempt: job.attempt };
  return { job, run, pulled: pulledOf(job, received, leaseEnd, { token }) };
}

/** What becomes of the message. A worn message is replaced by a new one. */
async function unclaimed(ctx: Context, { received, message }: Carried, verdict?: Verdict): Promise<Away> {
  if (verdict?.verdict !== "left") return { handle: received.handle };
  // SQS counts the receives also while another run holds the job.
  if (isWorn(received.receives) && (await sendAlone(ctx, message))) return { handle: received.handle };
  return hidden(received, verdict.until + LEASE_GRACE - ctx.clock());
}

function hidden({ handle }: Received, ms: number): Away {
  return { handle, seconds: hideSecondsOf(ms) };
}

/** `away`: the messages that bring no job now, but not foreign ones: these stay as they are. */
async function openAll(
  ctx: Context,
  topic: string,
  messages: readonly Received[],
): Promise<{ due: Carried[]; away: Away[] }> {
  const due: Carried[] = [];
  const away: Away[] = [];
  const letters: { received: Received; message: Message }[] = [];
  const dropIf = (isDone: boolean, received: Received): Away =>
    isDone ? { handle: received.handle } : hidden(received, REPEAT_AFTER);
  for (const received of messages) {
    const opened = openMessage(received.body, received.receives, ctx.clock());
    if (opened.kind === "foreign") continue;
    if (opened.kind === "newer") {
      ctx.report({ type: "trouble", topic, what: "reading a message", error: opened.error });
      away.push(hidden(received, opened.hideFor));
      continue;
    }
    const { message } = opened;
    const [job, ...others] = message.jobs;
    if (opened.kind === "dead-letter") letters.push({ received, message });
    else if (!job) away.push({ handle: received.handle });
    // Packed for the topic's former consumer. A pull settles each job by its own message.
    else if (others.length > 0) away.push(dropIf(await sendAlone(ctx, message), received));
    else if (opened.kind === "early") away.push(hidden(received, opened.hideFor));
    else due.push({ received, message, job });
  }
  // In parallel, because other jobs wait for these letters.
  const redriven = await inParallel(letters, SQS_BATCH_ENTRIES, async ({ received, message }) =>
    dropIf(await redriveEnvelope(ctx, message), received),
  );
  return { due, away: [...away, ...redriven] };
}

/**
 * Claims jobs, and answers the verdicts by id. Once a first job is claimed, or all claims are answered, it waits only `HAND_OUT_WITHIN` for the
 * others. A job whose verdict comes later is left, and its claim is given back.
 */
async function claimSoon(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  leaseEnd: number,
  timers: Timers,
): Promise<Verdicts> {
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

/** Answers whether the old message may be deleted. */
async function sendAlone(ctx: Context, { topic, group, jobs }: Message): Promise<boolean> {
  const sent = await resend(ctx, topic, group, jobs);
  return jobs.every(({ id }) => sent.has(id));
}

/** If that fails, the claim counts as a crashed run when its lease is over. */
async function giveBackUnreceived(ctx: Context, run: ClaimedRun): Promise<void> {
  try {
    await giveClaimBack(ctx, run);
  } catch (error) {
    ctx.report({
      type: "trouble",
      topic: run.topic,
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
  const { id, key, revision, attempt, body, headers, schedule, scheduledFor, traceparent } = job;
  const receipt = { v: 1, id, revision, attempt, handle, ...bound } as const;
  return {
    id,
    ...(key === undefined ? {} : { key }),
    receipt: encodeReceipt(receipt),
    attempt,
    dueAt: Date.parse(job.dueAt),
    body,
    ...(headers ? { headers } : {}),
    ...(schedule === undefined ? {} : { schedule }),
    ...(scheduledFor === undefined ? {} : { scheduledFor }),
    ...(traceparent === undefined ? {} : { traceparent }),
    leaseUntil,
  };
}
