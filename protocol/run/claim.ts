import { BATCH_PATIENCE, UNREADABLE_WAIT } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import {
  hasCrashed,
  isBeyondBound,
  isFinished,
  isNear,
  isOwed,
  isRunning,
  startsAt,
} from "../../core/home.ts";
import { type Home, homeKey } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import {
  heldUntilOf,
  jobText,
  type MessageJob,
  messageText,
  parseMessage,
  startOf,
} from "../../core/message.ts";
import { isUnreadable, type Unreadable } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import { endTooLate, findExpired, findTooLate } from "../gate/if-late.ts";
import { pausedSince } from "../gate/known-pauses.ts";
import { type PutOff, parkCarried } from "../gate/park.ts";
import { isCounted, isGiven, isShut } from "../gate/start-gate.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import type { DropReason } from "../reports.ts";
import { sendMissed } from "../send/missed-starts.ts";
import { mayDropVoid, send } from "../send/send.ts";
import { readHomesApart } from "../store/read-job.ts";
import { reportUnreadable } from "../store/unreadable.ts";
import { settleCrash, settleOtherwise } from "./settle.ts";

/**
 * A claim in hand: the job may run until `leaseEnd`. Times are ms since the epoch. `job`: the job to run. Where a void message
 * has claimed it, the job is newer than the message says.
 */
export type Claimed = {
  verdict: "claimed";
  job: MessageJob;
  token: string;
  leaseEnd: number;
  claimedAt: number;
};

/**
 * What a message's claim of one job came to. `claimed`: run it. `void`: this message has nothing to say about it any more.
 * `left`: another run holds it, or nobody knows; the message must stay, invisible, until `until` (ms).
 */
export type Verdict = Claimed | { verdict: "void" } | { verdict: "left"; until: number };

/** ms until a message comes again of whose claim nothing is known. */
export const REPEAT_AFTER = 5_000;

/**
 * What became of claims. `rest` has the verdicts, in the jobs' order, when crashed runs have been settled and missing messages
 * been sent, for which the pool or SQS may take long. It never rejects.
 */
export type Claims = { readonly rest: Promise<readonly Verdict[]> };

/** `onClaimed` is told of each claimed job as soon as it is known, while claims of other jobs may still be repeated. */
export type ClaimOptions = {
  /** ms since the epoch: a claim that is not known by then is not repeated. Absent: `leaseEnd`. */
  readonly by?: number;
  readonly onClaimed?: (claimed: Claimed) => void;
  /** Claims of jobs as they stand, whose messages were void. */
  readonly isRenewed?: boolean;
};

/**
 * Takes jobs before they run, in one batch: a revision is claimed at most once, never over another claim.
 * `jobs` names no job twice. `leaseEnd`, ms since the epoch, is when the runner is dead for certain, or else looks
 * at the clock itself before a job is started. Those of a paused topic are parked instead. A claim that DynamoDB
 * throttles is repeated for `BATCH_PATIENCE` at most: the leases of the others have begun. Resolves when `onClaimed` has been
 * told of all that are claimed. Throws when the pool does not say whether the topic is paused: nothing is claimed then.
 *
 * A void message claims its job as it stands, if the job was postponed beyond its bound. Each further call makes a new revision
 * of such a job, perhaps before any message is claimed: the job would never start.
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
  // First, as a release lets go what has expired without a start, and it would be parked again.
  const expired = findExpired(jobs, claimedAt);
  const isExpired = new Set(expired.map(({ job }) => job));
  const live = jobs.filter((job) => !isExpired.has(job));
  const later = { verdict: "left", until: claimedAt + REPEAT_AFTER } as const;
  const putOff = ({ done, unread }: PutOff): void => {
    for (const id of done) {
      verdicts.set(id, { verdict: "void" });
      ctx.report({ type: "dropped", topic, id, reason: "paused" });
    }
    // Whether it must wait, nobody can say.
    for (const id of unread) verdicts.set(id, later);
  };
  // rule: claim-asks-for-a-pause
  const parked = await parkCarried(ctx, topic, live);
  putOff(parked);
  const unparked = live.filter(({ id }) => !verdicts.has(id));
  putOff(await sendMissed(ctx, topic, unparked));
  const unmissed = unparked.filter(({ id }) => !verdicts.has(id));
  const late = [...expired, ...(await findTooLate(ctx, topic, unmissed, claimedAt))];
  const ended = await endTooLate(ctx, topic, late, patience());
  const refused: MessageJob[] = [];
  const unknown: MessageJob[] = [];
  for (const [i, { job }] of late.entries()) {
    const outcome = ended[i];
    if (outcome === "changed") verdicts.set(job.id, { verdict: "void" });
    // What was refused is looked at as a refused claim is; what is unknown must not run, and comes again.
    else if (outcome === "refused") refused.push(job);
    else verdicts.set(job.id, later);
  }

  const runnable = jobs.filter((job) => !verdicts.has(job.id) && !refused.includes(job));
  // rule: claim-token-is-drawn
  const tokens = new Map(runnable.map((job) => [job.id, drawToken(ctx.random)]));
  const take = (job: MessageJob): void => {
    if (verdicts.has(job.id)) return;
    const claimed = {
      verdict: "claimed",
      job,
      token: tokens.get(job.id) ?? "",
      leaseEnd,
      claimedAt,
    } as const;
    verdicts.set(job.id, claimed);
    onClaimed(claimed);
  };
  const outcomes = await ctx.pool.changeMany(
    runnable.map((job) => ({
      key: homeKey(job.id),
      // rule: claim-by-revision
      expect: { revision: job.revision, state: "scheduled" },
      set: {
        state: "running",
        token: tokens.get(job.id) ?? "",
        // rule: lease-covers-the-run
        leaseEnd,
        claimedAt,
        attempt: job.attempt,
        ...(job.sentAt === undefined ? {} : { sentAt: Date.parse(job.sentAt) }),
        ...pausedOf(ctx, topic, job, claimedAt),
      },
    })),
    patience(),
    (i) => take(runnable[i] as MessageJob),
  );
  for (const [i, job] of runnable.entries()) {
    const outcome = outcomes[i];
    if (outcome === "changed") take(job);
    else {
      if (outcome instanceof Error) {
        ctx.report({ type: "trouble", topic, what: "claiming a job", error: outcome.message });
        unknown.push(job);
      } else refused.push(job);
    }
  }
  const fail = (error: unknown): void =>
    // What was claimed must run all the same, or it would burn an attempt.
    ctx.report({ type: "trouble", topic, what: "looking at refused claims", error: messageOf(error) });
  let ending = Promise.resolve();
  try {
    if (refused.length > 0) {
      const met = await judgeRefused(ctx, topic, refused, tokens, take, verdicts, !isRenewed);
      ending = endMet(ctx, topic, met, verdicts).catch(fail);
      if (met.renewed.length > 0) {
        const renewed = await claim(ctx, topic, met.renewed, leaseEnd, { by, onClaimed, isRenewed: true });
        const note = (some: readonly Verdict[]): void => {
          for (const [i, verdict] of some.entries()) verdicts.set(met.renewed[i]?.id ?? "", verdict);
        };
        ending = Promise.all([ending, renewed.rest.then(note)]).then(() => {});
      }
    }
  } catch (error) {
    fail(error);
  }
  // Not awaited: DynamoDB has just given no answer for these jobs, and the others can start.
  if (unknown.length > 0) {
    const looking = lookAtUnknown(ctx, topic, unknown, tokens, verdicts).catch(fail);
    ending = Promise.all([ending, looking]).then(() => {});
  }
  const verdictOf = ({ id }: MessageJob): Verdict => verdicts.get(id) ?? later;
  return { rest: ending.then(() => jobs.map(verdictOf)) };
}

/** What pauses took of the time since a job's start, while its message lay in the queue. */
function pausedOf(ctx: Context, topic: string, job: MessageJob, now: number): { pausedMs?: number } {
  const pausedMs = pausedSince(ctx, topic, startOf(job), now);
  return pausedMs > 0 ? { pausedMs } : {};
}

/**
 * Looks at claims for which DynamoDB gave no answer. Such a claim may have been applied. Then the job is given back, and no attempt is
 * counted: the consumer has gone on to other jobs.
 */
async function lookAtUnknown(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  tokens: ReadonlyMap<string, string>,
  verdicts: Map<string, Verdict>,
): Promise<void> {
  const ours: MessageJob[] = [];
  const met = await judgeRefused(ctx, topic, jobs, tokens, (job) => void ours.push(job), verdicts, false);
  const giveBack = inParallel(ours, 8, async ({ id, attempt }) => {
    const held = { id, topic, attempt, token: tokens.get(id) ?? "" };
    if ((await settleOtherwise(ctx, held, { end: "retry-in", wait: 0 })) === "settled")
      verdicts.set(id, { verdict: "void" });
  });
  await Promise.all([endMet(ctx, topic, met, verdicts), giveBack]);
}

/**
 * What is to be done about refused claims: crashed runs to settle, jobs to send whose message may be missing, and jobs to claim
 * as they stand.
 */
type Met = {
  readonly renewed: readonly MessageJob[];
  readonly crashed: readonly { job: MessageJob; home: Home }[];
  readonly waiting: readonly Home[];
};

/** What stands where a claim was refused. */
async function judgeRefused(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
  tokens: ReadonlyMap<string, string>,
  take: (job: MessageJob) => void,
  verdicts: Map<string, Verdict>,
  canRenew: boolean,
): Promise<Met> {
  const homes = await readHomesApart(
    ctx,
    jobs.map((job) => job.id),
  );
  const now = ctx.clock();
  const waiting: Home[] = [];
  const renewed: MessageJob[] = [];
  const crashed: { job: MessageJob; home: Home }[] = [];
  const unreadable: Unreadable[] = [];
  const drop = (job: MessageJob, reason: DropReason): void => dropJob(ctx, topic, job, reason, verdicts);
  for (const [i, job] of jobs.entries()) {
    const home = homes[i];
    // Its message comes again soon.
    if (home instanceof Error) continue;
    if (isUnreadable(home)) {
      // A newer version has it in hand. The message serves if that one does not come back; the later it is, the longer it waits.
      const late = Math.min(Math.max(now - startOf(job), REPEAT_AFTER), UNREADABLE_WAIT.longest);
      verdicts.set(job.id, { verdict: "left", until: now + late });
      unreadable.push(home);
    }
    // What was filed untracked has no home either, but its message says so and needs no claim.
    else if (!home) drop(job, "gone");
    // rule: claim-knows-its-own-token
    // Our own claim, whose answer was lost.
    else if (home.state === "running" && home.token === tokens.get(job.id)) take(job);
    else if (isFinished(home)) drop(job, home.state === "expired" ? "expired" : "finished");
    else if (home.revision !== job.revision && !isOfVoidMessage(home)) {
      const current = canRenew && isDueByBound(ctx, home) ? messageJobOf(home) : undefined;
      if (current) {
        renewed.push(current);
        continue;
      }
      // rule: void-message-sends-the-owed-job
      if (!job.spare && isOwed(home, job.revision) && isNear(startsAt(home), now))
        waiting.push({ ...home, spare: true });
      drop(job, "moved");
    } else if (isRunning(home, now)) {
      verdicts.set(job.id, { verdict: "left", until: home.leaseEnd ?? now });
      ctx.report({ type: "dropped", topic, id: job.id, reason: "running" });
    }
    // rule: claim-settles-a-crashed-run
    else if (hasCrashed(home, now)) crashed.push({ job, home });
    else if (heldUntilOf(job) !== home.heldUntil) {
      // It was given a start since, by which it may be too late or not. One that is far has a look there.
      if (isNear(startsAt(home), now)) waiting.push({ ...home, spare: true });
      drop(job, "moved");
    }
  }
  reportUnreadable(ctx, "claiming jobs", unreadable);
  return { crashed, waiting, renewed };
}

/**
 * Whether a job runs by a void message, which stays until the run has ended. The job may have no other message: SQS refuses some
 * texts.
 */
function isOfVoidMessage({ state, sentAt, postponeUntil }: Home): boolean {
  return state === "running" && sentAt === undefined && postponeUntil !== undefined;
}

/** Whether a job was postponed beyond its bound and may start now: its window is open, and a limit has given it this start. */
function isDueByBound(ctx: Context, home: Home): boolean {
  const now = ctx.clock();
  const isDue = home.state === "scheduled" && isBeyondBound(home, now) && startsAt(home) <= now;
  return (
    isDue && !isShut(ctx, home) && (!isLimited(ctx, home.topic) || (isCounted(home) && isGiven(home, now)))
  );
}

/**
 * A job as it stands, as its own message would say it, but for when that was sent. `undefined`: nobody could read that
 * message.
 */
function messageJobOf(home: Home): MessageJob | undefined {
  return parseMessage(messageText(home.topic, home.group, [jobText(home)]))?.jobs[0];
}

async function endMet(
  ctx: Context,
  topic: string,
  { crashed, waiting }: Met,
  verdicts: Map<string, Verdict>,
): Promise<void> {
  const now = ctx.clock();
  await inParallel(crashed, 8, async ({ job, home }) => {
    try {
      await settleCrash(ctx, home);
      dropJob(ctx, topic, job, "crashed", verdicts);
    } catch (error) {
      ctx.report({ type: "trouble", topic, what: "settling a crashed run", error: messageOf(error) });
    }
  });
  const sent = await send(ctx, waiting);
  for (const home of waiting) {
    // The message in hand is the only one certain to come back.
    if (!mayDropVoid(sent.get(home.id)))
      verdicts.set(home.id, { verdict: "left", until: now + REPEAT_AFTER });
  }
}

function dropJob(
  ctx: Context,
  topic: string,
  { id }: MessageJob,
  reason: DropReason,
  verdicts: Map<string, Verdict>,
): void {
  verdicts.set(id, { verdict: "void" });
  ctx.report({ type: "dropped", topic, id, reason });
}
