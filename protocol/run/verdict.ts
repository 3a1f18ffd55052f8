import { type MessageJob, startOf } from "../../core/message.ts";
import { endTooLate, findExpired, findTooLate } from "../gate/if-late.ts";
import { pauseBound } from "../gate/known-pauses.ts";
import { type Deferred, parkReceived } from "../gate/park.ts";
import { policyOf } from "../policy.ts";
import type { Context, Deadline } from "../ports.ts";
import type { DropReason } from "../reports.ts";
import { resendMissedStarts } from "../send/resend.ts";

/** A job that was claimed. Times are ms since the epoch. */
export type Claimed = {
  readonly verdict: "claimed";
  /** The job to run. If a void message has claimed the job, this is the current revision, not the message's. */
  readonly job: MessageJob;
  readonly token: string;
  /** The job may run until then. */
  readonly leaseEnd: number;
  readonly claimedAt: number;
};

/**
 * What the receiver of a job's message must do.
 *
 * - `claimed`: run the job.
 * - `void`: delete the message. The job does not need this message any more.
 * - `left`: hide the message until `until`, ms since the epoch. Another run holds the job, or it is unknown whether the job may run.
 */
export type Verdict =
  | Claimed
  | { readonly verdict: "void" }
  | { readonly verdict: "left"; readonly until: number };

/** For how many ms a message is hidden if nothing is known of its job. */
export const REPEAT_AFTER = 5_000;

/** Leaves a message for a while because nothing is known of its job: a service gave no answer. `now`: ms since the epoch. */
export function leaveUnknown(now: number): Verdict {
  return { verdict: "left", until: now + REPEAT_AFTER };
}

/** Gives a job the verdict `void`, and reports why the message does not run the job. */
export function dropJob(
  ctx: Context,
  topic: string,
  { id }: MessageJob,
  reason: DropReason,
  verdicts: Map<string, Verdict>,
): void {
  verdicts.set(id, { verdict: "void" });
  ctx.report({ type: "dropped", topic, id, reason });
}

export type Judged = {
  /** Jobs that may be claimed. */
  readonly runnable: readonly MessageJob[];
  /** Jobs that are not as their messages say. They are treated as if their claims were refused. */
  readonly changed: readonly MessageJob[];
};

/**
 * Decides which of these jobs may run, when their messages have come and before they are claimed. Jobs of a paused topic are parked.
 * Jobs that are past their `expiresAfter`, or later than the topic's `ifLate`, are ended. In a topic with a limit or a window, jobs
 * whose starts have passed in a pause get new starts.
 *
 * @param verdicts gets the verdicts of the jobs that do not run
 * @param now ms since the epoch
 * @param by until when a write that ends a job is tried
 * @throws if the topic's pause cannot be read, or if jobs cannot be parked or given new starts. Then none of the jobs may run.
 */
export async function judge(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  now: number,
  by: () => Deadline,
  verdicts: Map<string, Verdict>,
): Promise<Judged> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  const putOff = ({ done, unread }: Deferred): void => {
    for (const job of jobs) {
      if (done.has(job.id)) dropJob(ctx, topic, job, "paused", verdicts);
      // The job's home cannot be read, so it is unknown whether the job must wait.
      else if (unread.has(job.id)) verdicts.set(job.id, leaveUnknown(now));
    }
  };
  const open = (some: readonly MessageJob[]): MessageJob[] => some.filter(({ id }) => !verdicts.has(id));

  const parkHeld = async (some: readonly MessageJob[]): Promise<void> => {
    // rule: claim-asks-for-a-pause
    const bound = await pauseBound(ctx, topic);
    const held = some.filter((job) => startOf(job) < bound);
    if (held.length > 0) putOff(await parkReceived(ctx, topic, held));
  };

  // Expired jobs are found before the pause is read. Otherwise a job that expired after its release would be parked again.
  const expired = findExpired(jobs, now);
  const ending = new Set(expired.map(({ job }) => job));
  const live = jobs.filter((job) => !ending.has(job));
  await parkHeld(live);
  const givesStarts = maxPerSecond !== undefined || window !== undefined;
  if (givesStarts) putOff(await resendMissedStarts(ctx, topic, open(live)));
  const late = findTooLate(ctx, topic, open(live), now);

  const ends = [...expired, ...late];
  const changed: MessageJob[] = [];
  if (ends.length > 0) {
    const outcomes = await endTooLate(ctx, topic, ends, by());
    for (const [i, { job }] of ends.entries()) {
      const outcome = outcomes[i];
      if (outcome === "changed") verdicts.set(job.id, { verdict: "void" });
      else if (outcome === "refused") changed.push(job);
      // The outcome is unknown, so the job may have been ended. It must not run now, and its message comes again.
      else verdicts.set(job.id, leaveUnknown(now));
    }
  }
  const others = open(jobs).filter((job) => !changed.includes(job));
  // A topic may have been paused while the jobs above waited for new starts or for their ends.
  if (givesStarts || ends.length > 0) await parkHeld(others);
  return { runnable: open(others), changed };
}
