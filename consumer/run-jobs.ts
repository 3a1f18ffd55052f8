import { ABORT_BEFORE, ANSWER_BEFORE, LAST_START_BEFORE_DEADLINE } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { type MessageJob, startOf } from "../core/message.ts";
import type { Thrown } from "../core/thrown.ts";
import { policyOf } from "../protocol/policy.ts";
import type { Context, Timers } from "../protocol/ports.ts";
import { type Claims, claim, startedEvent } from "../protocol/run/claim.ts";
import type { Ending, Held, Settled } from "../protocol/run/settle.ts";
import { leaveUnknown } from "../protocol/run/verdict.ts";
import { giveBack } from "./give-back.ts";
import { type Delivery, deleteMessages, openMessages, type Work } from "./open-messages.ts";
import { createSettler, type Settler } from "./settler.ts";
import { keepOrHide } from "./unclaimed.ts";
import { createUntrackedEnds, type UntrackedEnds } from "./untracked-ends.ts";

/** How a run ended. `thrown`: the value that its handler has thrown, and the log's description of the value. */
export type RunEnding = Ending & {
  readonly thrown?: { readonly value: unknown; readonly described: Thrown };
};

/** Runs one job and answers how the run ended. Never throws. */
export type RunJob = (job: MessageJob, topic: string, signal: AbortSignal) => Promise<RunEnding>;

/** An invocation of a consumer, while its jobs run. */
type Invocation = {
  readonly ctx: Context;
  readonly run: RunJob;
  readonly time: TimeLeft;
  readonly settler: Settler;
  /** Absent if no message has an untracked job. */
  readonly untrackedEnds: UntrackedEnds | undefined;
  /** The ids of the messages that SQS must keep. */
  readonly kept: Set<string>;
  readonly running: Set<Promise<void>>;
  /** The messages of which a job was started. */
  readonly begun: Set<Delivery>;
  readonly settles: Promise<void>[];
  /** Jobs that were not claimed, and whose verdicts are not known yet. Other jobs do not wait for these verdicts. */
  readonly undecided: Set<Rest>;
};

/** Jobs of a batch that were not claimed. */
type Rest = {
  /** Their messages, which must stay until `end`. */
  readonly messageIds: readonly string[];
  /** Resolves when each of these messages is hidden, kept, or may be deleted. Never rejects. */
  readonly end: Promise<void>;
};

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
  // `mates` share their messages with jobs that were started. They are given back only when all handlers have ended: if a handler outlasts
  // the function, SQS delivers its message again, and copies of the message's other jobs would come beside it.
  if (mates.length > 0) await giveBack(ctx, mates, kept);
  for (const one of mates) untrackedEnds?.isThrough(one);
  await endSettles(invocation);
  // If SQS is slow to delete messages, Lambda deletes them when this function answers.
  await Promise.race([Promise.all(removals), time.lastWord]);
  time.stop();
  return kept;
}

/** How much time an invocation has. Times are ms since the epoch. */
type TimeLeft = {
  readonly deadline: number;
  /** The last time at which a run can start that may take the longest time. */
  readonly lastStart: number;
  readonly isTooLate: () => boolean;
  /** Notes how many ms a run took. The next run may take as long as the longest run of this invocation. */
  readonly noteRun: (ms: number) => void;
  /** Resolves at `lastStart`. */
  readonly lastCall: Promise<void>;
  /** Aborts the runs that are left shortly before the deadline. */
  readonly aborted: AbortSignal;
  /** Resolves when the function must answer. */
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
  // If Lambda was throttled, SQS delivers these messages to others before the deadline. Jobs that are not started by then are given back.
  const end = Math.min(deadline, ...deliveries.flatMap(({ visibleAt }) => visibleAt ?? []));
  const lastStart = end - longestRun - Math.min(LAST_START_BEFORE_DEADLINE, span / 4);
  // Later invocations do not use this number: otherwise one run that took nearly all the time would keep them from starting jobs.
  let longest = longestRun;
  // The timer sets this, because it may fire a millisecond early by the clock. A loop that read the clock alone would spin meanwhile.
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

/** Starts each job when it is due and has a free slot. Answers the jobs for which no time is left. */
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

/** How many of the first jobs belong to this topic, are due, and have a free slot. */
function startable(ctx: Context, work: readonly Work[], topic: string, free: number): number {
  const now = ctx.clock();
  // rule: only-due-jobs-start
  const end = work.findIndex((one) => one.topic !== topic || startOf(one.job) > now);
  return Math.min(end === -1 ? work.length : end, free);
}

/** Starts each job as soon as it is claimed. Resolves when all claimed jobs are known. */
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
    // Jobs that were claimed before are running. If this function threw, the invocation would end before they do.
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

/** Runs a job, and settles the run when it has ended. `held`: the job's claim; absent for an untracked job. */
function start(invocation: Invocation, work: Work, held?: Held): void {
  const { ctx, time, settler, running, untrackedEnds } = invocation;
  const { job, topic, delivery } = work;
  if (held && time.isTooLate()) {
    // The claim took so long that no time is left for a run. The job waits again at once, and no attempt is counted.
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

/** Settles a run of a tracked job, and keeps its message if that fails. */
function settle(
  { settler, settles, untrackedEnds, kept }: Invocation,
  work: Work,
  record: () => Promise<Settled>,
): void {
  const settled = settler.settle(record, () => kept.add(work.delivery.messageId));
  settles.push(settled.then(() => untrackedEnds?.isThrough(work)));
}

/** Waits until all runs are settled. Keeps the messages of jobs whose verdicts are not known when the function must answer. */
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

/**
 * Gives back the jobs of messages of which no job was started, and deletes these messages at once. If this process were killed before it
 * answers, SQS would deliver the messages beside their copies, and the copies would double with each such process.
 */
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
