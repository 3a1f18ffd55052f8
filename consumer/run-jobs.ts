import { ABORT_BEFORE, ANSWER_BEFORE, CLOCK_MARGIN, LAST_START_BEFORE_DEADLINE } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { type MessageJob, startOf } from "../core/message.ts";
import type { Thrown } from "../core/thrown.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context, Timers } from "../protocol/ports.ts";
import { type Claims, claim } from "../protocol/run/claim.ts";
import { isWorn } from "../protocol/run/open-message.ts";
import type { Ending, Held, Settled } from "../protocol/run/settle.ts";
import { startedEvent } from "../protocol/run/started-event.ts";
import { leaveUnknown, type Verdict } from "../protocol/run/verdict.ts";
import { resend } from "../protocol/send/resend.ts";
import { giveBack } from "./give-back.ts";
import { type Delivery, deleteMessages, openMessages, putAside, type Work } from "./open-messages.ts";
import { createSettler } from "./settler.ts";
import { createUntrackedEnds, type UntrackedEnds } from "./untracked-ends.ts";

/** How a run ended. `thrown`: the value that its handler has thrown, and the log's description of the value. */
export type RunEnding = Ending & {
  readonly thrown?: { readonly value: unknown; readonly described: Thrown };
};

/** Runs one job and answers how the run ended. Never throws. */
export type RunJob = (job: MessageJob, topic: string, signal: AbortSignal) => Promise<RunEnding>;

/** Starts a job. `held`: its claim, which an untracked job lacks. `lateSince`: as `Claimed.lateSince`. */
type Start = (work: Work, held?: Held, lateSince?: number) => void;

/**
 * Runs the jobs of an invocation's messages. Holds each job until it is due, claims as many jobs in one call as there are free slots, and
 * settles runs in batches meanwhile. Answers the ids of the messages that SQS must keep.
 *
 * @param deadline when the runtime kills this process, and the leases end: ms since the epoch
 * @param longestRun how many ms a run can take at most, such as a webhook's timeout. A run starts only if it can end before the
 * deadline even if it takes this long. 0: unknown
 */
export async function runJobs(
  ctx: Context,
  deliveries: readonly Delivery[],
  run: RunJob,
  deadline: number,
  timers: Timers,
  longestRun = 0,
): Promise<Set<string>> {
  const kept = new Set<string>();
  const span = deadline - ctx.clock();
  // If Lambda was throttled, SQS delivers these messages to others before the deadline. Jobs that are not started by then are given back.
  const end = Math.min(deadline, ...deliveries.flatMap(({ visibleAt }) => visibleAt ?? []));
  const lastStart = end - longestRun - Math.min(LAST_START_BEFORE_DEADLINE, span / 4);
  // In ms. The next run may take as long as the longest run of this invocation. Later invocations do not use this number: otherwise one run
  // that took nearly all the time would keep them from starting jobs.
  let longest = longestRun;
  const isTooLate = (): boolean => isLastCall || ctx.clock() >= lastStart + longestRun - longest;
  // The timer sets this, because it may fire a millisecond early by the clock. A loop that read the clock alone would spin meanwhile.
  let isLastCall = false;
  const lastCall = Promise.withResolvers<void>();
  const abort = new AbortController();
  const lastWord = Promise.withResolvers<void>();
  const cancels = [
    timers.after(deadline - Math.min(ANSWER_BEFORE, span / 16) - ctx.clock(), lastWord.resolve),
    timers.after(lastStart - ctx.clock(), () => {
      isLastCall = true;
      lastCall.resolve();
    }),
    timers.after(deadline - Math.min(ABORT_BEFORE, span / 8) - ctx.clock(), () =>
      abort.abort(new Error("the function is about to time out")),
    ),
  ];
  const settler = createSettler(ctx, deadline, timers.wait);
  const running = new Set<Promise<void>>();
  const begun = new Set<Delivery>();
  let mates: Work[] = [];
  const settles: Promise<void>[] = [];
  const removals: Promise<void>[] = [];
  /** Jobs that were not claimed, and whose verdicts are not known yet. Other jobs do not wait for these verdicts. */
  const undecided = new Set<Rest>();
  const remove = (topic: string, some: readonly Delivery[]): void =>
    void removals.push(deleteMessages(ctx, topic, some));

  const work = await openMessages(ctx, deliveries, kept);
  const untrackedEnds = createUntrackedEnds(ctx, work, settler.settle, remove, kept);
  void lastCall.promise.then(untrackedEnds.removeThrough);

  const start: Start = (one, held, lateSince) => {
    const { job, topic, delivery } = one;
    const settle = (record: () => Promise<Settled>): void => {
      const settled = settler.settle(record, () => kept.add(delivery.messageId));
      settles.push(settled.then(() => untrackedEnds.isThrough(one)));
    };
    if (held && isTooLate()) {
      // The claim took so long that no time is left for a run. The job waits again at once, and no attempt is counted.
      settle(() => settler.record(held, { end: "retry-in", wait: 0 }));
      return;
    }
    begun.add(delivery);
    const startedAt = ctx.clock();
    ctx.report(startedEvent(topic, job, startedAt, lateSince));
    const slot = run(job, topic, abort.signal).then((ending) => {
      running.delete(slot);
      longest = Math.max(longest, ctx.clock() - startedAt);
      if (ending.thrown) {
        const { id, attempt } = job;
        ctx.report({ type: "threw", topic, id, attempt, error: ending.thrown.described });
      }
      // The settle is not awaited: the slot is free when the handler has ended.
      if (held) settle(() => settler.record(held, ending));
      else untrackedEnds.ended(one, ending);
    });
    running.add(slot);
  };

  while (work.length > 0) {
    const [{ job, topic }] = work as [Work];
    const { concurrency } = policyOf(ctx, topic);
    // rule: message-held-until-its-job-is-due
    const early = startOf(job) - ctx.clock();
    if (isTooLate()) {
      const left = work.splice(0);
      mates = left.filter((one) => begun.has(one.delivery));
      await giveBackWhole(ctx, left, begun, remove, kept);
    } else if (running.size >= concurrency) await Promise.race([...running, lastCall.promise]);
    else if (early > 0) await Promise.race([timers.wait(early), lastCall.promise]);
    else {
      const batch = work.splice(0, startable(ctx, work, topic, concurrency - running.size));
      for (const one of batch) if (one.job.untracked) start(one);
      const tracked = batch.filter((one) => !one.job.untracked);
      if (tracked.length > 0) {
        const rest = await claimAndStart(ctx, tracked, { deadline, lastStart }, start, untrackedEnds, kept);
        if (rest) {
          undecided.add(rest);
          void rest.end.then(() => undecided.delete(rest));
        }
      }
    }
  }
  await Promise.all(running);
  // `mates` share their messages with jobs that were started. They are given back only when all handlers have ended: if a handler outlasts
  // the function, SQS delivers its message again, and copies of the message's other jobs would come beside it.
  if (mates.length > 0) await giveBack(ctx, mates, kept);
  for (const one of mates) untrackedEnds.isThrough(one);
  await Promise.all(settles);
  await Promise.race([Promise.all(Array.from(undecided, ({ end }) => end)), lastWord.promise]);
  for (const { messageIds } of undecided) for (const id of messageIds) kept.add(id);
  await untrackedEnds.idle();
  await settler.idle();
  // If SQS is slow to delete messages, Lambda deletes them when this function answers.
  await Promise.race([Promise.all(removals), lastWord.promise]);
  for (const cancel of cancels) cancel();
  return kept;
}

/**
 * Gives back the jobs of messages of which no job was started, and deletes these messages at once. If this process were killed before it
 * answers, SQS would deliver the messages beside their copies, and the copies would double with each such process.
 */
async function giveBackWhole(
  ctx: Context,
  left: readonly Work[],
  begun: ReadonlySet<Delivery>,
  remove: (topic: string, deliveries: readonly Delivery[]) => void,
  kept: Set<string>,
): Promise<void> {
  const whole = left.filter(({ delivery }) => !begun.has(delivery));
  await giveBack(ctx, whole, kept);
  const gone = whole.filter(({ delivery }) => !kept.has(delivery.messageId));
  for (const [topic, some] of Map.groupBy(gone, (one) => one.topic))
    remove(topic, [...new Set(some.map(({ delivery }) => delivery))]);
}

/** How many of the first jobs belong to this topic, are due, and have a free slot. */
function startable(ctx: Context, work: readonly Work[], topic: string, free: number): number {
  const now = ctx.clock();
  // rule: only-due-jobs-start
  const end = work.findIndex((one) => one.topic !== topic || startOf(one.job) > now);
  return Math.min(end === -1 ? work.length : end, free);
}

/** Jobs of a batch that were not claimed. */
type Rest = {
  /** Their messages, which must stay until `end`. */
  readonly messageIds: readonly string[];
  /** Resolves when each of these messages is hidden, kept, or may be deleted. Never rejects. */
  readonly end: Promise<void>;
};

/**
 * Starts each job as soon as it is claimed. Resolves when all claimed jobs are known. Answers the jobs that were not claimed, or
 * `undefined` if all were.
 */
async function claimAndStart(
  ctx: Context,
  batch: readonly Work[],
  { deadline, lastStart }: { deadline: number; lastStart: number },
  start: Start,
  ends: UntrackedEnds,
  kept: Set<string>,
): Promise<Rest | undefined> {
  const topic = batch[0]?.topic ?? "";
  const jobs = batch.map(({ job }) => job);
  const workOf = new Map(batch.map((one) => [one.job.id, one]));
  let claims: Claims = { rest: Promise.resolve([]) };
  try {
    claims = await claim(ctx, topic, jobs, deadline, {
      by: lastStart,
      onClaimed({ job, token, lateSince }) {
        const { id, attempt, key } = job;
        const one = workOf.get(id);
        workOf.delete(id);
        const held = { id, topic, attempt, token, ...(key === undefined ? {} : { key }) };
        if (one) start({ ...one, job }, held, lateSince);
      },
    });
  } catch (error) {
    // Jobs that were claimed before are running. If this function threw, the invocation would end before they do.
    ctx.report({ type: "trouble", topic, what: "claiming jobs", error: messageOf(error) });
    const later = leaveUnknown(ctx.clock());
    claims = { rest: Promise.resolve(jobs.map(() => later)) };
  }
  if (workOf.size === 0) return undefined;
  const messageIds = batch.filter(({ job }) => workOf.has(job.id)).map(({ delivery }) => delivery.messageId);
  const end = claims.rest.then((verdicts) => keepOrHide(ctx, batch, verdicts, workOf, ends, kept));
  return { messageIds, end };
}

/**
 * Decides about the messages of jobs that were not claimed. A job with the verdict `void` needs its message no more, and neither
 * does a job that was sent in a new message. The messages of all other jobs are kept. Those of jobs with the verdict `left` are
 * also hidden.
 *
 * @param open the jobs that were not claimed, by their ids
 */
async function keepOrHide(
  ctx: Context,
  batch: readonly Work[],
  verdicts: readonly Verdict[],
  open: ReadonlyMap<string, Work>,
  ends: UntrackedEnds,
  kept: Set<string>,
): Promise<void> {
  const left = batch.filter((_, i) => verdicts[i]?.verdict === "left");
  const renewed = await renewWorn(ctx, left);
  for (const [i, one] of batch.entries()) {
    if (verdicts[i]?.verdict === "void" || renewed.has(one)) ends.isThrough(one);
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
    Array.from(aside, ([delivery, until]) => ({ topic, delivery, ms: until + CLOCK_MARGIN - now })),
  );
}

/**
 * Sends jobs in new messages if their own message can be received only once more. While a job cannot be claimed, each delivery counts as a
 * receive, and after the last receive SQS moves the message to the DLQ. A new message has no receives yet. Answers the jobs whose new
 * messages SQS took.
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
