import { isDeepStrictEqual } from "node:util";
import { type IfMatch, requireAsSeen } from "../../core/as-seen.ts";
import { keepsChanging } from "../../core/errors.ts";
import { type Home, isBeyondBound, startsAt } from "../../core/home.ts";
import { absentOptionsOf, keptOptionsOf } from "../../core/job-options.ts";
import { type CallMark, type OnceNote, onceNotesOf, onceText, withCall } from "../../core/once.ts";
import type { TimedJob } from "../new-job.ts";
import { isFar } from "../policy.ts";
import type { Context, Write } from "../ports.ts";
import { syncPromotions } from "../send/far-ahead.ts";
import { sendIfNear } from "../send/send.ts";
import { readJob } from "../store/read-job.ts";
import { isKnownCall } from "./calls.ts";
import { move } from "./move.ts";
import { requireNotCancelled, requireUnclaimed } from "./refusals.ts";

const TRIES = 10;
const MOVES = { scheduled: "move", running: "moveCrashed" } as const;
type Anew = Pick<Home, "attempt"> & Partial<Home> & { askedAt: number };

export type Reschedule = {
  /** ms since the epoch. */
  dueAt?: number;
  /** The time that was asked for, if it can pass before the job is moved: ms since the epoch. Absent: nobody named a time of the clock. */
  wantedAt?: number;
  body?: string;
  /** As `Home.bulk`. */
  bulk?: string;
  call?: CallMark;
  ifMatch?: IfMatch;
};

/**
 * Moves a job to another time, gives it another body, or both. The job gets a full set of attempts. A repeated `call` changes nothing.
 * @param leavesAlone says whether to leave the job, as it was just read, unchanged
 * @throws `job-not-found`; `job-running`; `job-finished`; `untracked-topic`; `changed-meanwhile`; `idempotency-mismatch`; `unavailable`
 */
export async function reschedule(
  ctx: Context,
  id: string,
  change: Reschedule,
  leavesAlone: (home: Home) => boolean = () => false,
): Promise<Home> {
  for (let i = 0; i < TRIES; i++) {
    const home = await readJob(ctx, id);
    if (leavesAlone(home)) return home;
    if (change.call && isKnownCall(home, change.call)) return completeRepeated(ctx, home);
    const state = (change.bulk === undefined ? requireUnclaimed : requireNotCancelled)(home, ctx.clock());
    requireAsSeen(home, change.ifMatch);
    const also = change.bulk === undefined ? [] : (["cancelAskedAt"] as const);
    // rule: change-notes-when-it-was-asked
    const set: Anew = { attempt: 0, askedAt: ctx.clock() };
    const remove = countRestart(home, change.body !== undefined && change.body !== home.body, set);
    if (change.body !== undefined) set.body = change.body;
    // rule: bulk-marks-what-it-moves
    if (change.bulk !== undefined) set.bulk = change.bulk;
    if (change.call) set.calls = withCall(home.calls, change.call);
    // An overdue job becomes due now, and the time that it has waited must not count as late.
    if (change.dueAt === undefined && home.askedLate && startsAt(home) > ctx.clock()) set.askedLate = true;
    const dueAt = change.dueAt ?? home.dueAt;
    if (isFar(ctx, dueAt)) set.hasSchedule = true;
    const time = change.dueAt === undefined ? { hold: home } : { asked: change };
    const request = { change: MOVES[state], dueAt, ...time, also, set, remove, why: "rescheduled" };
    const moved = await move(ctx, home, request);
    if (!moved.moved) continue;
    await syncPromotions(ctx, [moved.home]);
    return moved.home;
  }
  throw keepsChanging(`job ${id}`);
}

/** Does the last steps of a call again: an earlier try may have died before them. */
async function completeRepeated(ctx: Context, home: Home): Promise<Home> {
  if (home.state === "scheduled") await sendIfNear(ctx, [{ ...home, spare: true }]);
  await syncPromotions(ctx, [home]);
  return home;
}

/**
 * Gives a live job all the fields of a new one. Afterwards the caller must call `syncPromotions`.
 * @returns `undefined`: an item has changed since it was read; `taken`: the `Idempotency-Key` names a job by now
 * @param once the write that makes the call's `Idempotency-Key` name this job, and the home's note of it
 * @throws `job-running`
 */
export async function replaceJob(
  ctx: Context,
  holder: Home,
  job: TimedJob & Pick<Home, "postponeUntil">,
  once: { write: Write; note: OnceNote } | undefined,
  checks: readonly Write[],
): Promise<Home | "taken" | undefined> {
  // Events change these two fields without a new revision.
  const also = ["cancelAskedAt", "eventAt"] as const;
  const change = MOVES[requireUnclaimed(holder, ctx.clock())];
  const set: Anew = {
    body: job.body,
    attempt: 0,
    askedAt: ctx.clock(),
    ...keptOptionsOf(job),
  };
  const isOther = job.body !== holder.body || !isDeepStrictEqual(keptOptionsOf(job), keptOptionsOf(holder));
  if (isFar(ctx, job.dueAt)) set.hasSchedule = true;
  const remove = ["lastError", ...absentOptionsOf(job), ...countRestart(holder, isOther, set)];
  if (job.chain === undefined) remove.push("chain");
  else set.chain = job.chain;
  if (job.traceparent === undefined) remove.push("traceparent");
  else set.traceparent = job.traceparent;
  if (job.postponeUntil === undefined) remove.push("postponeUntil");
  else set.postponeUntil = job.postponeUntil;
  // If a caller replaces the job, the last event's time stays, so that no earlier event cancels the job.
  if (job.createdAt !== undefined) set.eventAt = job.createdAt;
  if (once) set.once = onceText([...onceNotesOf(holder.once), once.note]);
  // With a new turn at each call, the job would always come after the other jobs that wait.
  const keepsTurn = isBeyondBound(job, ctx.clock());
  const request = { change, dueAt: job.dueAt, asked: job, keepsTurn, also, set, remove, why: "replaced" };
  const together = [...checks, ...(once ? [once.write] : [])];
  const moved = await move(ctx, holder, { ...request, ...(together.length > 0 ? { together } : {}) });
  if (moved.moved) return moved.home;
  return once && moved.together?.at(-1) ? "taken" : undefined;
}

/** Counts a restart in `set`, which gives a webhook's calls new ids, if a job that has run becomes another. Answers what to remove. */
function countRestart(home: Home, isOther: boolean, set: Anew): string[] {
  if (home.attempt === 0 && !home.hasRun) return [];
  if (isOther) set.restarts = (home.restarts ?? 0) + 1;
  else set.hasRun = true;
  return isOther ? ["hasRun"] : [];
}
