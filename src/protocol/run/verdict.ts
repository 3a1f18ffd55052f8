import { type MessageJob, startOf } from "../../core/message.ts";
import { endTooLate, findExpired, findTooLate, type TooLate } from "../gate/if-late.ts";
import { isPlain, type TopicNow, topicNow } from "../gate/known-pauses.ts";
import { type Deferred, parkReceived } from "../gate/park.ts";
import type { Context, Deadline } from "../ports.ts";
import type { DropReason } from "../reports.ts";
import { resendMissedStarts } from "../send/resend.ts";

/** A job that was claimed. Times are ms since the epoch. */
export type Claimed = {
  readonly verdict: "claimed";
  /** If a void message has claimed the job, this is the current revision. */
  readonly job: MessageJob;
  readonly token: string;
  /** The job may run until then. */
  readonly leaseEnd: number;
  readonly claimedAt: number;
};

/**
 * What the receiver of a job's message does: runs the job (`claimed`), deletes the message, which the job does not need (`void`), or hides it
 * until `until`, ms since the epoch: another run holds the job, or it is unknown whether it may run (`left`).
 */
export type Verdict =
  | Claimed
  | { readonly verdict: "void" }
  | { readonly verdict: "left"; readonly until: number };

/** How long a message is hidden if nothing is known of its job: ms. */
export const REPEAT_AFTER = 5_000;

/** A service gave no answer. `now`: ms since the epoch. */
export function leaveUnknown(now: number): Verdict {
  return { verdict: "left", until: now + REPEAT_AFTER };
}

/** By the jobs' ids. */
export type Verdicts = ReadonlyMap<string, Verdict>;

/** Reports why a message does not run its job. */
export function dropJob(ctx: Context, topic: string, { id }: MessageJob, reason: DropReason): Verdict {
  ctx.report({ type: "dropped", topic, id, reason });
  return { verdict: "void" };
}

export type Judged = {
  readonly runnable: readonly MessageJob[];
  /** Jobs that are not as their messages say: as if their claims were refused. */
  readonly changed: readonly MessageJob[];
  readonly verdicts: Verdicts;
  /** As known when the jobs may be claimed. */
  readonly topicNow: TopicNow;
};

/**
 * Decides before the claims which jobs may run. Others are parked, ended (`expiresAfter`, `ifLate`), or get new starts if theirs passed in a pause.
 * @throws if the topic's pause cannot be read, or if jobs cannot be parked or given new starts. Then none of the jobs may run.
 */
export async function judge(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  now: number,
  by: () => Deadline,
): Promise<Judged> {
  const known = await topicNow(ctx, topic);
  const mayEnd = known.policy.ifLate !== undefined || jobs.some(({ expiresAt }) => expiresAt !== undefined);
  if (isPlain(known) && !mayEnd) return { runnable: jobs, changed: [], verdicts: new Map(), topicNow: known };
  return judgeSpecial(ctx, topic, jobs, now, by);
}

/** The topic has a pause, a limit, a window or `ifLate`, or jobs may expire. */
async function judgeSpecial(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  now: number,
  by: () => Deadline,
): Promise<Judged> {
  const verdicts = new Map<string, Verdict>();
  const open = (some: readonly MessageJob[]): MessageJob[] => some.filter(({ id }) => !verdicts.has(id));
  const note = (some: Verdicts): void => {
    for (const [id, verdict] of some) verdicts.set(id, verdict);
  };

  // Found before the pause is read: a job that expired after its release must not be parked again.
  const expired = findExpired(jobs, now);
  const ending = new Set(expired.map(({ job }) => job));
  const live = jobs.filter((job) => !ending.has(job));
  note(await parkHeld(ctx, topic, live, now));
  const known = await topicNow(ctx, topic);
  note(putOff(ctx, topic, live, now, await resendMissedStarts(ctx, known, open(live))));
  const late = findTooLate(known, open(live), now);
  const ended = await endAll(ctx, topic, [...expired, ...late], now, by);
  note(ended.verdicts);
  const others = open(jobs).filter((job) => !ended.changed.includes(job));
  // The topic may have been paused meanwhile.
  note(await parkHeld(ctx, topic, others, now));
  return {
    runnable: open(others),
    changed: ended.changed,
    verdicts,
    topicNow: await topicNow(ctx, topic),
  };
}

/** Answers the verdicts of the jobs that must not run. */
async function parkHeld(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  now: number,
): Promise<Verdicts> {
  const known = await topicNow(ctx, topic);
  // rule: claim-asks-for-a-pause
  const bound = known.pauseBound;
  const held = jobs.filter((job) => startOf(job) < bound);
  if (held.length === 0) return new Map();
  return putOff(ctx, topic, jobs, now, await parkReceived(ctx, known, held));
}

/** If a job's home cannot be read, it is unknown whether the job must wait. */
function putOff(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  now: number,
  { done, unread }: Deferred,
): Verdicts {
  return new Map(
    jobs.flatMap((job): [string, Verdict][] => {
      if (done.has(job.id)) return [[job.id, dropJob(ctx, topic, job, "paused")]];
      return unread.has(job.id) ? [[job.id, leaveUnknown(now)]] : [];
    }),
  );
}

/** `changed`: jobs that are not as their messages say. */
async function endAll(
  ctx: Context,
  topic: string,
  late: readonly TooLate[],
  now: number,
  by: () => Deadline,
): Promise<{ verdicts: Verdicts; changed: readonly MessageJob[] }> {
  if (late.length === 0) return { verdicts: new Map(), changed: [] };
  const outcomes = await endTooLate(ctx, topic, late, by());
  const verdicts = new Map<string, Verdict>();
  for (const [i, { job }] of late.entries()) {
    const outcome = outcomes[i];
    if (outcome === "changed") verdicts.set(job.id, { verdict: "void" });
    // The job may have been ended. It must not run now, and its message comes again.
    else if (outcome !== "refused") verdicts.set(job.id, leaveUnknown(now));
  }
  return { verdicts, changed: late.flatMap(({ job }, i) => (outcomes[i] === "refused" ? job : [])) };
}
