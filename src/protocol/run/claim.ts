import type { Holder } from "../../core/actor.ts";
import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { drawToken } from "../../core/job-id.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import { changeOf } from "../../core/states.ts";
import { lastKnown, lateSince, type TopicNow } from "../gate/known-pauses.ts";
import type { Change, Context, Deadline } from "../ports.ts";
import type { ProtocolEvent } from "../reports.ts";
import { giveBackUnknown, readRefused, settleCrashes } from "./refused-claims.ts";
import { type Claimed, judge, leaveUnknown, type Verdict, type Verdicts } from "./verdict.ts";

export type Claims = {
  /** The verdicts in the jobs' order, once crashed runs have been settled, which may take long. Never rejects. */
  readonly rest: Promise<readonly Verdict[]>;
};

export type ClaimOptions = {
  /** From then on, claims whose outcome is unknown are not tried again: ms since the epoch. Absent: `leaseEnd`. */
  readonly by?: number;
  /** Called with each claimed job at once, while claims of others may still be tried again. */
  readonly onClaimed?: (claimed: Claimed) => void;
  /** The jobs were read from their homes, because their messages were void. A refused claim is not made again. */
  readonly isRenewed?: boolean;
};

/** What a claim writes, and what it knows of the jobs' topic. Times are ms since the epoch. */
type Claim = {
  readonly topicNow: TopicNow;
  /** By the jobs' ids. */
  readonly tokens: ReadonlyMap<string, string>;
  readonly claimedAt: number;
  readonly leaseEnd: number;
};

/**
 * Claims jobs that may run (`judge`), in one batched write: those that still wait, in the revisions of their messages. So of two consumers with
 * the same message only one gets the job. A postponed job's bound makes even a void message claim it: docs/internals/decisions/void-messages.md.
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
  const { runnable, changed, topicNow, ...judged } = await judge(ctx, topic, jobs, claimedAt, patience);
  const verdicts = new Map(judged.verdicts);
  // rule: claim-token-is-drawn
  const tokens = new Map(runnable.map((job) => [job.id, drawToken(ctx.random)]));
  const wanted: Claim = { topicNow, tokens, claimedAt, leaseEnd };
  const take = (job: MessageJob): void => {
    if (verdicts.has(job.id)) return;
    const claimed = claimedOf(wanted, job);
    verdicts.set(job.id, claimed);
    onClaimed(claimed);
  };
  const { refused, unknown } = await writeClaims(ctx, wanted, runnable, patience(), take);
  const unclaimed = [...changed, ...refused];
  const verdictOf = ({ id }: MessageJob): Verdict => verdicts.get(id) ?? leaveUnknown(claimedAt);
  if (unclaimed.length === 0 && unknown.length === 0) return { rest: Promise.resolve(jobs.map(verdictOf)) };
  const note = (some: Verdicts): void => {
    for (const [id, verdict] of some) verdicts.set(id, verdict);
  };
  const again = { by, onClaimed, isRenewed: true };
  const rest = [
    ...(await lookAtRefused(ctx, wanted, unclaimed, take, isRenewed ? undefined : again)),
    // Not waited for: DynamoDB has just given no answer for these jobs.
    ...(unknown.length > 0 ? [giveBackUnknown(ctx, topic, unknown, tokens)] : []),
  ];
  const ended = rest.map((one) => one.then(note, (error: unknown) => reportTrouble(ctx, topic, error)));
  return { rest: Promise.all(ended).then(() => jobs.map(verdictOf)) };
}

/** Calls `take` with each claimed job, and answers the others. */
async function writeClaims(
  ctx: Context,
  wanted: Claim,
  jobs: readonly MessageJob[],
  by: Deadline,
  take: (job: MessageJob) => void,
): Promise<{ refused: readonly MessageJob[]; unknown: readonly MessageJob[] }> {
  const outcomes = await ctx.pool.changeMany(
    jobs.map((job) => claimOf(wanted, job)),
    by,
    (i) => take(jobs[i] as MessageJob),
  );
  const { topic } = wanted.topicNow;
  for (const [i, job] of jobs.entries()) {
    const outcome = outcomes[i];
    if (outcome === "changed") take(job);
    else if (outcome instanceof Error)
      ctx.report({ type: "trouble", topic, what: "claiming a job", error: outcome.message });
  }
  return {
    refused: jobs.filter((_, i) => outcomes[i] === "refused"),
    unknown: jobs.filter((_, i) => outcomes[i] instanceof Error),
  };
}

/**
 * Calls `take` with jobs that are claimed all the same. Settles crashed runs, and, with the options `again`, claims jobs of void messages anew.
 * Answers what it has begun. A failure is only reported: the claimed jobs must run, or they lose an attempt.
 */
async function lookAtRefused(
  ctx: Context,
  { topicNow: { topic }, tokens, leaseEnd }: Claim,
  refused: readonly MessageJob[],
  take: (job: MessageJob) => void,
  again: ClaimOptions | undefined,
): Promise<Promise<Verdicts>[]> {
  const pending: Promise<Verdicts>[] = [];
  try {
    const met = await readRefused(ctx, topic, refused, tokens, again !== undefined);
    for (const job of met.claimed) take(job);
    // rule: claim-settles-a-crashed-run
    const crashes = settleCrashes(ctx, topic, met.crashed);
    pending.push(Promise.resolve(met.verdicts), crashes);
    if (met.renewable.length === 0) return pending;
    const renewed = await claim(ctx, topic, met.renewable, leaseEnd, again);
    const verdictsOf = (some: readonly Verdict[]): Verdicts =>
      new Map(some.map((verdict, i) => [met.renewable[i]?.id ?? "", verdict]));
    return [...pending, renewed.rest.then(verdictsOf)];
  } catch (error) {
    reportTrouble(ctx, topic, error);
    return pending;
  }
}

function reportTrouble(ctx: Context, topic: string, error: unknown): void {
  ctx.report({ type: "trouble", topic, what: "looking at refused claims", error: messageOf(error) });
}

function claimedOf({ tokens, leaseEnd, claimedAt }: Claim, job: MessageJob): Claimed {
  const token = tokens.get(job.id) ?? "";
  return { verdict: "claimed", job, token, leaseEnd, claimedAt };
}

function claimOf({ topicNow, tokens, claimedAt, leaseEnd }: Claim, job: MessageJob): Change {
  // A pause held the job until consumers followed the resume, or a window until it opened, if the message lay in the queue.
  const heldUntil = Math.min(lateSince(topicNow, startOf(job)), claimedAt);
  const { id, revision } = job;
  return changeOf(
    "claim",
    { id, revision },
    {
      token: tokens.get(id) ?? "",
      // rule: lease-covers-the-run
      leaseEnd,
      claimedAt,
      attempt: job.attempt,
      ...(job.sentAt === undefined ? {} : { sentAt: Date.parse(job.sentAt) }),
      ...(heldUntil > startOf(job)
        ? { heldUntil, heldBy: { kind: holderOf(topicNow, heldUntil), at: claimedAt } }
        : {}),
    },
  );
}

/** What held a job whose message lay in the queue: its topic's pause, or the window that was shut when consumers followed the resume. */
function holderOf({ followedAt }: TopicNow, heldUntil: number): Holder {
  return heldUntil > followedAt ? "window" : "pause";
}

/** Makes the event for logs and metrics that a job begins to run. The claim has just read the topic's pause. `now`: ms since the epoch. */
export function startedEvent(
  ctx: Context,
  topic: string,
  job: MessageJob,
  now: number,
): Extract<ProtocolEvent, { type: "started" }> {
  const { id, attempt } = job;
  const dueAt = Date.parse(job.dueAt);
  const heldMs = Math.max(Math.min(lateSince(lastKnown(ctx, topic), startOf(job)), now) - dueAt, 0);
  return { type: "started", topic, id, attempt, dueAt, lateMs: now - dueAt, heldMs };
}
