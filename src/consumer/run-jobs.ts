import { ABORT_BEFORE, ANSWER_BEFORE, LAST_START_BEFORE_DEADLINE } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { type MessageJob, startOf } from "../core/message.ts";
import type { Thrown } from "../core/thrown.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context, Timers } from "../protocol/ports.ts";
import { type Claims, claim, startedEvent } from "../protocol/run/claim.ts";
import type { ClaimedRun, Ending, Settled } from "../protocol/run/settle.ts";
import { leaveUnknown } from "../protocol/run/verdict.ts";
import { giveBack } from "./give-back.ts";
import { type Delivery, deleteMessages, openMessages, type Work } from "./open-messages.ts";
import { createSettler, type Settler } from "./settler.ts";
import { keepOrHide } from "./unclaimed.ts";
import { createUntrackedEnds, type UntrackedEnds } from "./untracked-ends.ts";

/** `thrown`: with the log's description of what the handler has thrown. */
export type RunEnding = Ending & {
  readonly thrown?: { readonly value: unknown; readonly described: Thrown };
};

/** Never throws. */
export type RunJob = (job: MessageJob, topic: string, signal: AbortSignal) => Promise<RunEnding>;

type Invocation = {
  readonly ctx: Context;
  readonly run: RunJob;
  readonly time: TimeLeft;
  readonly settler: Settler;
  /** Absent if no job is untracked. */
  readonly untrackedEnds: UntrackedEnds | undefined;
  /** The ids of the messages that SQS must keep. */
  readonly kept: Set<string>;
  readonly running: Set<Promise<void>>;
  readonly begun: Set<Delivery>;
  readonly settles: Promise<void>[];
  /** Other jobs do not wait for the verdicts of these. */
  readonly undecided: Set<Rest>;
};

type Rest = {
  readonly messageIds: readonly string[];
  /** When each message is hidden, kept, or may be deleted. Never rejects. */
  readonly end: Promise<void>;
};

/**
 * Holds each job until it is due, claims as many in one call as slots are free, and settles runs in batches meanwhile. Answers the ids of the
 * messages that SQS must keep.
 * @param deadline when the runtime kills this process, and the leases end: ms since the epoch
 * @param longestRun ms, such as a webhook's timeout: no run starts that could outlast the deadline. 0: unknown
 */
export async function runJobs(
  ctx: Context,
  deliveries: readonly Delivery[],
  run: RunJob,
  deadline: number,
  timers: Timers,
  longestRun = 0,
): Promise<Set<string>> {
  const time = watchTime(ctx.clock, deliveries, deadline, timers, longestRun);
  const settler = createSettler(ctx, deadline, timers.wait);
  const removals: Promise<void>[] = [];
  const remove = (topic: string, some: readonly Delivery[]): void =>
    void removals.push(deleteMessages(ctx, topic, some));
  const { work, kept } = await openMessages(ctx, deliveries);
  const untrackedEnds = work.some(({ job }) => job.untracked)
    ? createUntrackedEnds(ctx, work, settler.settle, remove, kept)
    : undefined;
  if (untrackedEnds) void time.lastCall.then(untrackedEnds.removeThrough);
  const parts = { ctx, run, time, settler, untrackedEnds, kept };
  const state = { running: new Set<Promise<void>>(), begun: new Set<Delivery>(), settles: [] };
  const invocation: Invocation = { ...parts, ...state, undecided: new Set<Rest>() };

  const left = await startWhenDue(invocation, work, timers.wait);
  const { mates = [], whole = [] } = Object.groupBy(left, ({ delivery }) =>
    invocation.begun.has(delivery) ? "mates" : "whole",
  );
  if (left.length > 0) await giveBackWhole(ctx, whole, remove, kept);
  await Promise.all(invocation.running);
  // If a handler outlasted the function, SQS would deliver the messages of `mates` beside copies that are given back now.
  if (mates.length > 0) await giveBack(ctx, mates, kept);
  for (const one of mates) untrackedEnds?.isThrough(one);
  await endSettles(invocation);
  // If SQS is slow, Lambda deletes the messages when this function answers.
  await Promise.race([Promise.all(removals), time.lastWord]);
  time.stop();
  return kept;
}

/** ms since the epoch. */
type TimeLeft = {
  readonly deadline: number;
  /** The last time at which a run may start that may take the longest time. */
  readonly lastStart: number;
  readonly isTooLate: () => boolean;
  /** The next run may take as long as the longest one so far. */
  readonly noteRun: (ms: number) => void;
  readonly lastCall: Promise<void>;
  readonly aborted: AbortSignal;
  readonly lastWord: Promise<void>;
  readonly stop: () => void;
};

function watchTime(
  clock: () => number,
  deliveries: readonly Delivery[],
  deadline: number,
  timers: Timers,
  longestRun: number,
): TimeLeft {
  const span = deadline - clock();
  // After throttling, SQS delivers these messages to others before the deadline, so jobs not started by then are given back.
  const end = Math.min(deadline, ...deliveries.flatMap(({ visibleAt }) => visibleAt ?? []));
  const lastStart = end - longestRun - Math.min(LAST_START_BEFORE_DEADLINE, span / 4);
  // This holds for this invocation only: otherwise one run that took nearly all the time would keep later ones from starting jobs.
  let longest = longestRun;
  // A timer may fire a millisecond early by the clock, and a loop that read the clock alone would spin meanwhile.
  let isLastCall = false;
  const lastCall = Promise.withResolvers<void>();
  const abort = new AbortController();
  const lastWord = Promise.withResolvers<void>();
  const cancels = [
    timers.after(deadline - Math.min(ANSWER_BEFORE, span / 16) - clock(), lastWord.resolve),
    timers.after(lastStart - clock(), () => {
      isLastCall = true;
      lastCall.resolve();
    }),
    timers.after(deadline - Math.min(ABORT_BEFORE, span / 8) - clock(), () =>
      abort.abort(new Error("the function is about to time out")),
    ),
  ];
  return {
    ...{ deadline, lastStart, lastCall: lastCall.promise, aborted: abort.signal, lastWord: lastWord.promise },
    isTooLate: () => isLastCall || clock() >= lastStart + longestRun - longest,
    noteRun: (ms) => {
      longest = Math.max(longest, ms);
    },
    stop: () => cancels.forEach((cancel) => void cancel()),
  };
}

/** Answers the jobs that are left. */
async function startWhenDue(
  invocation: Invocation,
  work: readonly Work[],
  wait: Timers["wait"],
): Promise<readonly Work[]> {
  const { ctx, time, running } = invocation;
  let waiting = work;
  while (waiting.length > 0) {
    const [{ job, topic }] = waiting as [Work];
    const { concurrency } = policyOf(ctx, topic);
    // rule: message-held-until-its-job-is-due
    const early = startOf(job) - ctx.clock();
    if (time.isTooLate()) return waiting;
    if (running.size >= concurrency) await Promise.race([...running, time.lastCall]);
    else if (early > 0) await Promise.race([wait(early), time.lastCall]);
    else {
      const batch = waiting.slice(0, startable(ctx, waiting, topic, concurrency - running.size));
      waiting = waiting.slice(batch.length);
      for (const one of batch) if (one.job.untracked) start(invocation, one);
      const tracked = batch.filter((one) => !one.job.untracked);
      if (tracked.length > 0) await claimAndStart(invocation, tracked);
    }
  }
  return [];
}

/** How many of the first jobs can start: they are of this topic and due, and have a free slot. */
function startable(ctx: Context, work: readonly Work[], topic: string, free: number): number {
  const now = ctx.clock();
  // rule: only-due-jobs-start
  const end = work.findIndex((one) => one.topic !== topic || startOf(one.job) > now);
  return Math.min(end === -1 ? work.length : end, free);
}

/** Resolves when all claimed jobs are known. */
async function claimAndStart(invocation: Invocation, batch: readonly Work[]): Promise<void> {
  const { ctx, time, untrackedEnds, kept, undecided } = invocation;
  const topic = batch[0]?.topic ?? "";
  const jobs = batch.map(({ job }) => job);
  const workOf = new Map(batch.map((one) => [one.job.id, one]));
  let claims: Claims = { rest: Promise.resolve([]) };
  try {
    claims = await claim(ctx, topic, jobs, time.deadline, {
      by: time.lastStart,
      onClaimed({ job, token }) {
        const { id, attempt, key } = job;
        const one = workOf.get(id);
        workOf.delete(id);
        const held = { id, topic, attempt, token, ...(key === undefined ? {} : { key }) };
        if (one) start(invocation, { ...one, job }, held);
      },
    });
  } catch (error) {
    // Claimed jobs are running. If this function threw, the invocation would end before them.
    ctx.report({ type: "trouble", topic, what: "claiming jobs", error: messageOf(error) });
    const later = leaveUnknown(ctx.clock());
    claims = { rest: Promise.resolve(jobs.map(() => later)) };
  }
  if (workOf.size === 0) return;
  const messageIds = batch.filter(({ job }) => workOf.has(job.id)).map(({ delivery }) => delivery.messageId);
  const end = claims.rest.then((verdicts) => keepOrHide(ctx, batch, verdicts, workOf, untrackedEnds, kept));
  const rest = { messageIds, end };
  undecided.add(rest);
  void end.then(() => undecided.delete(rest));
}

/** `held`: the job's claim; absent for an untracked job. */
function start(invocation: Invocation, work: Work, held?: ClaimedRun): void {
  const { ctx, time, settler, running, untrackedEnds } = invocation;
  const { job, topic, delivery } = work;
  if (held && time.isTooLate()) {
    // No time is left for a run. The job waits again at once, and no attempt is counted.
    settle(invocation, work, () => settler.record(held, { end: "retry-in", wait: 0 }));
    return;
  }
  invocation.begun.add(delivery);
  const startedAt = ctx.clock();
  ctx.report(startedEvent(ctx, topic, job, startedAt));
  const slot = invocation.run(job, topic, time.aborted).then((ending) => {
    running.delete(slot);
    time.noteRun(ctx.clock() - startedAt);
    if (ending.thrown) {
      const { id, attempt } = job;
      ctx.report({ type: "threw", topic, id, attempt, error: ending.thrown.described });
    }
    // The settle is not awaited: the slot is free when the handler has ended.
    if (held) settle(invocation, work, () => settler.record(held, ending));
    else untrackedEnds?.ended(work, ending);
  });
  running.add(slot);
}

/** Keeps the message if that fails. */
function settle(
  { settler, settles, untrackedEnds, kept }: Invocation,
  work: Work,
  record: () => Promise<Settled>,
): void {
  const settled = settler.settle(record, () => kept.add(work.delivery.messageId));
  settles.push(settled.then(() => untrackedEnds?.isThrough(work)));
}

/** Keeps the messages of jobs whose verdicts are not known when the function must answer. */
async function endSettles({
  time,
  settler,
  settles,
  undecided,
  untrackedEnds,
  kept,
}: Invocation): Promise<void> {
  await Promise.all(settles);
  await Promise.race([Promise.all(Array.from(undecided, ({ end }) => end)), time.lastWord]);
  for (const { messageIds } of undecided) for (const id of messageIds) kept.add(id);
  await untrackedEnds?.idle();
  await settler.idle();
}

/** If this process died before it answers, SQS would deliver the messages beside their copies, so they are deleted at once. */
async function giveBackWhole(
  ctx: Context,
  whole: readonly Work[],
  remove: (topic: string, deliveries: readonly Delivery[]) => void,
  kept: Set<string>,
): Promise<void> {
  await giveBack(ctx, whole, kept);
  const gone = whole.filter(({ delivery }) => !kept.has(delivery.messageId));
  for (const [topic, some] of Map.groupBy(gone, (one) => one.topic))
    remove(topic, [...new Set(some.map(({ delivery }) => delivery))]);
}
