import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { drawToken } from "../../core/job-id.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import { changeOf } from "../../core/states.ts";
import { lateSince } from "../gate/known-pauses.ts";
import type { Change, Context } from "../ports.ts";
import { giveBackUnknown, readRefused, settleCrashes } from "./refused-claims.ts";
import { type Claimed, judge, leaveUnknown, type Verdict } from "./verdict.ts";

export type Claims = {
  /** Resolves to the verdicts, in the jobs' order, when crashed runs have been settled, which may take long. Never rejects. */
  readonly rest: Promise<readonly Verdict[]>;
};

export type ClaimOptions = {
  /** From then on, claims whose outcome is unknown are not tried again: ms since the epoch. Absent: `leaseEnd`. */
  readonly by?: number;
  /** Called with each claimed job as soon as its claim is known, while claims of other jobs may still be tried again. */
  readonly onClaimed?: (claimed: Claimed) => void;
  /** Set if the jobs were read from their homes, because their messages were void. A refused claim of these is not made again. */
  readonly isRenewed?: boolean;
};

/**
 * Claims jobs that may run (`judge`), in one batched write. A claim succeeds only if the job still waits, in the revision that its message
 * says. So of two consumers with the same message only one gets the job, and a message that was sent before a reschedule gets none. Once a
 * postponed job's bound has passed, even a void message claims it: each further call makes a new revision, so it might never start.
 * @param jobs names no job twice
 * @param leaseEnd ms since the epoch. The process that runs the jobs must be dead by then, or must read the clock before it starts a job
 * @returns when `onClaimed` was called with all jobs that are claimed
 * @throws the errors of `judge`. Then no job is claimed.
 */
export async function claim(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  leaseEnd: number,
  { by = leaseEnd, onClaimed = () => {}, isRenewed = false }: ClaimOptions = {},
): Promise<Claims> {
  const claimedAt = ctx.clock();
  // rule: batch-waits-for-no-throttled-claim
  const patience = (): number => Math.min(ctx.clock() + BATCH_PATIENCE, by);
  const verdicts = new Map<string, Verdict>();
  const { runnable, changed } = await judge(ctx, topic, jobs, claimedAt, patience, verdicts);

  // rule: claim-token-is-drawn
  const tokens = new Map(runnable.map((job) => [job.id, drawToken(ctx.random)]));
  const take = (job: MessageJob): void => {
    if (verdicts.has(job.id)) return;
    const token = tokens.get(job.id) ?? "";
    const claimed = { verdict: "claimed", job, token, leaseEnd, claimedAt } as const;
    verdicts.set(job.id, claimed);
    onClaimed(claimed);
  };
  const outcomes = await ctx.pool.changeMany(
    runnable.map((job) => claimOf(ctx, topic, job, tokens.get(job.id) ?? "", claimedAt, leaseEnd)),
    patience(),
    (i) => take(runnable[i] as MessageJob),
  );
  const refused = [...changed];
  const unknown: MessageJob[] = [];
  for (const [i, job] of runnable.entries()) {
    const outcome = outcomes[i];
    if (outcome === "changed") take(job);
    else if (outcome instanceof Error) {
      ctx.report({ type: "trouble", topic, what: "claiming a job", error: outcome.message });
      unknown.push(job);
    } else refused.push(job);
  }
  const verdictOf = ({ id }: MessageJob): Verdict => verdicts.get(id) ?? leaveUnknown(claimedAt);
  if (refused.length === 0 && unknown.length === 0) return { rest: Promise.resolve(jobs.map(verdictOf)) };

  const fail = (error: unknown): void =>
    // This does not throw: the claimed jobs must run, or they lose an attempt.
    ctx.report({ type: "trouble", topic, what: "looking at refused claims", error: messageOf(error) });
  const rest: Promise<void>[] = [];
  try {
    const met = await readRefused(ctx, topic, refused, tokens, take, verdicts, !isRenewed);
    rest.push(settleCrashes(ctx, topic, met, verdicts).catch(fail));
    if (met.renewable.length > 0) {
      const renewed = await claim(ctx, topic, met.renewable, leaseEnd, { by, onClaimed, isRenewed: true });
      const note = (some: readonly Verdict[]): void => {
        for (const [i, verdict] of some.entries()) verdicts.set(met.renewable[i]?.id ?? "", verdict);
      };
      rest.push(renewed.rest.then(note));
    }
  } catch (error) {
    fail(error);
  }
  // The claim does not wait for this: DynamoDB has just given no answer for these jobs.
  if (unknown.length > 0) rest.push(giveBackUnknown(ctx, topic, unknown, tokens, verdicts).catch(fail));
  return { rest: Promise.all(rest).then(() => jobs.map(verdictOf)) };
}

function claimOf(
  ctx: Context,
  topic: string,
  job: MessageJob,
  token: string,
  claimedAt: number,
  leaseEnd: number,
): Change {
  // If the message lay in the queue during a pause, the pause held the job until consumers followed the resume.
  const heldUntil = Math.min(lateSince(ctx, topic, job), claimedAt);
  const { id, revision } = job;
  return changeOf(
    "claim",
    { id, revision },
    {
      token,
      // rule: lease-covers-the-run
      leaseEnd,
      claimedAt,
      attempt: job.attempt,
      ...(job.sentAt === undefined ? {} : { sentAt: Date.parse(job.sentAt) }),
      ...(heldUntil > startOf(job) ? { heldUntil } : {}),
    },
  );
}
