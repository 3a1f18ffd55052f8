import { type MessageJob, startOf } from "../../core/message.ts";
import { endTooLate, findExpired, findTooLate } from "../gate/if-late.ts";
import { pauseBound } from "../gate/known-pauses.ts";
import { type Deferred, parkReceived } from "../gate/park.ts";
import { policyOf } from "../policy.ts";
import type { Context, Deadline } from "../ports.ts";
import type { DropReason } from "../reports.ts";
import { resendMissedStarts } from "../send/missed-starts.ts";

/** A claim in hand. Times are ms since the epoch. */
export type Claimed = {
  readonly verdict: "claimed";
  /** The job to run. It is newer than its message says where a void message has claimed it. */
  readonly job: MessageJob;
  readonly token: string;
  /** The job may run until then. */
  readonly leaseEnd: number;
  readonly claimedAt: number;
};

/**
 * What is to be done with a job whose message has come.
 *
 * - `claimed`: the job runs.
 * - `void`: the message may go. It says nothing of the job any more.
 * - `left`: another run holds the job, or nobody knows. The message stays hidden until `until`, ms since the epoch.
 */
export type Verdict =
  | Claimed
  | { readonly verdict: "void" }
  | { readonly verdict: "left"; readonly until: number };

/** ms until a message comes again of whose job nothing is known. */
export const REPEAT_AFTER = 5_000;

/** Leaves a message for a while because nothing is known of its job: a service gave no answer. `now`: ms since the epoch. */
export function leaveUnknown(now: number): Verdict {
  return { verdict: "left", until: now + REPEAT_AFTER };
}

/** Says that a message's claim came to nothing, and why. */
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

/** `runnable`: nothing stands in the way of a claim. `changed`: the job is not as its message says, as after a refused claim. */
export type Judged = { readonly runnable: readonly MessageJob[]; readonly changed: readonly MessageJob[] };

/**
 * May these jobs run? Asked when their messages have come, before they are claimed. Jobs of a paused topic are parked. Jobs that are
 * past their `expiresAfter`, or later than the topic's `ifLate`, are ended. In a topic with a limit or a window, jobs whose starts
 * have passed in a pause get others.
 *
 * @param verdicts gets the verdicts of the jobs that do not run
 * @param now ms since the epoch
 * @param by until when a write that ends a job is tried
 * @throws what keeps the topic's pause from being read. Then none of the jobs may run.
 */
export async function judge(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  now: number,
  by: () => Deadline,
  verdicts: Map<string, Verdict>,
): Promise<Judged> {
  const { maxPerSecond, window, ifLate } = policyOf(ctx, topic);
  const putOff = ({ done, unread }: Deferred): void => {
    for (const job of jobs) {
      if (done.has(job.id)) dropJob(ctx, topic, job, "paused", verdicts);
      // Nobody can say whether the job must wait.
      else if (unread.has(job.id)) verdicts.set(job.id, leaveUnknown(now));
    }
  };
  const open = (some: readonly MessageJob[]): MessageJob[] => some.filter(({ id }) => !verdicts.has(id));

  // Before the pause: a release lets a parked job go that has expired, and its message would be parked again.
  const expired = findExpired(jobs, now);
  const ending = new Set(expired.map(({ job }) => job));
  const live = jobs.filter((job) => !ending.has(job));
  // rule: claim-asks-for-a-pause
  const bound = await pauseBound(ctx, topic);
  const held = live.filter((job) => startOf(job) < bound);
  if (held.length > 0) putOff(await parkReceived(ctx, topic, held));
  if (maxPerSecond !== undefined || window !== undefined)
    putOff(await resendMissedStarts(ctx, topic, open(live)));
  const late = ifLate === undefined ? [] : await findTooLate(ctx, topic, open(live), now);

  const ends = [...expired, ...late];
  if (ends.length === 0) return { runnable: open(jobs), changed: [] };
  const outcomes = await endTooLate(ctx, topic, ends, by());
  const changed: MessageJob[] = [];
  for (const [i, { job }] of ends.entries()) {
    const outcome = outcomes[i];
    if (outcome === "changed") verdicts.set(job.id, { verdict: "void" });
    else if (outcome === "refused") changed.push(job);
    // The job may have been ended. So the job must not run, and the message comes again.
    else verdicts.set(job.id, leaveUnknown(now));
  }
  return { runnable: open(jobs).filter((job) => !changed.includes(job)), changed };
}
