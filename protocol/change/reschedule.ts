import { MinutehandError } from "../../core/errors.ts";
import { isBeyondBound } from "../../core/home.ts";
import type { Home } from "../../core/items.ts";
import { absentOptionsOf, keptOptionsOf } from "../../core/job-options.ts";
import { type CallMark, type OnceNote, onceNotesOf, onceText, withCall } from "../../core/once.ts";
import type { NewJob } from "../new-job.ts";
import type { Attribute, Context, Write } from "../ports.ts";
import { isFar, keepPromotions } from "../send/far-ahead.ts";
import { sendIfNear } from "../send/send.ts";
import { readJob } from "../store/read-job.ts";
import { isKnownCall } from "./calls.ts";
import { move } from "./move.ts";
import { expectNotCancelled, expectUnclaimed } from "./refusals.ts";

const TRIES = 10;

/**
 * What a caller may change of a waiting job. ms since the epoch; JSON text. `bulk`: marks it. `call`: the call that came
 * with an `Idempotency-Key`.
 */
export type Reschedule = { dueAt?: number; body?: string; bulk?: string; call?: CallMark };

/**
 * Moves a job to another time, gives it another body, or both, with a full set of attempts. What `spares` says of it as it
 * stands is left as it is. So is a job that the same call has changed before, whatever became of it since: its answer was
 * lost, and somebody else may have changed the job after it.
 * Throws `job-not-found`, `job-running`, `job-finished`, `bad-request` (an untracked topic), `idempotency-mismatch`,
 * `unavailable`.
 */
export async function reschedule(
  ctx: Context,
  id: string,
  change: Reschedule,
  spares: (home: Home) => boolean = () => false,
): Promise<Home> {
  for (let i = 0; i < TRIES; i++) {
    const home = await readJob(ctx, id);
    if (spares(home)) return home;
    if (change.call && isKnownCall(home, change.call)) return again(ctx, home);
    if (home.untracked) {
      throw new MinutehandError(
        "bad-request",
        `job ${id} cannot be changed, because its topic ${home.topic} is untracked`,
      );
    }
    const expect = (change.bulk === undefined ? expectUnclaimed : expectNotCancelled)(home, ctx.clock());
    // rule: change-notes-when-it-was-asked
    const set: Record<string, Attribute> = { attempt: 0, askedAt: ctx.clock(), ...restarted(home) };
    if (change.body !== undefined) set.body = change.body;
    // rule: bulk-marks-what-it-moves
    if (change.bulk !== undefined) set.bulk = change.bulk;
    if (change.call) set.calls = withCall(home.calls, change.call);
    if (change.dueAt !== undefined) set.wantedAt = Math.max(change.dueAt, ctx.clock());
    const dueAt = change.dueAt ?? home.dueAt;
    if (isFar(ctx, dueAt)) set.hasSchedule = true;
    const hold = change.dueAt === undefined ? { hold: home } : {};
    const moved = await move(ctx, home, { dueAt, ...hold, expect, set, why: "rescheduled" });
    if (!moved.moved) continue;
    await keepPromotions(ctx, [moved.home]);
    return moved.home;
  }
  throw new MinutehandError("unavailable", `other calls keep changing job ${id}; repeat the call`);
}

/** The call that changed it may have died before it sent the job. */
async function again(ctx: Context, home: Home): Promise<Home> {
  if (home.state === "scheduled") await sendIfNear(ctx, [{ ...home, spare: true }]);
  await keepPromotions(ctx, [home]);
  return home;
}

/**
 * Gives a live job all the fields of a new one, and leaves its schedule to the caller. `checks`: what else must be as read.
 * `undefined` when something is no longer as read; `taken` when the `Idempotency-Key` names a job by now. Throws `job-running`.
 */
export async function replaceJob(
  ctx: Context,
  holder: Home,
  job: NewJob & Pick<Home, "postponeUntil">,
  once: { write: Write; note: OnceNote } | undefined,
  checks: readonly Write[],
): Promise<Home | "taken" | undefined> {
  const { cancelAskedAt, eventAt, keptAt } = holder;
  // rule: replace-only-what-was-read
  // An event leaves these without a new revision.
  const expect = { ...expectUnclaimed(holder, ctx.clock()), cancelAskedAt, keptAt };
  const wantedAt = Math.max(job.dueAt, ctx.clock());
  const set: Record<string, Attribute> = {
    body: job.body,
    attempt: 0,
    wantedAt,
    askedAt: ctx.clock(),
    ...restarted(holder),
    ...keptOptionsOf(job),
  };
  if (isFar(ctx, job.dueAt)) set.hasSchedule = true;
  const remove = ["lastError", ...absentOptionsOf(job)];
  if (job.postponeUntil === undefined) remove.push("postponeUntil");
  else set.postponeUntil = job.postponeUntil;
  if (job.createdAt !== undefined) set.eventAt = job.createdAt;
  else if (eventAt !== undefined) {
    remove.push("eventAt");
    // What an event has asked for is none of what one cancels that happened before.
    set.keptAt = Math.max(eventAt, keptAt ?? 0);
  }
  if (once) set.once = onceText([...onceNotesOf(holder.once), once.note]);
  // A new turn at each call would always be behind the other jobs that wait.
  const keepsTurn = isBeyondBound(job, ctx.clock());
  const request = { dueAt: job.dueAt, keepsTurn, expect, set, remove, why: "replaced" };
  const together = [...checks, ...(once ? [once.write] : [])];
  const moved = await move(ctx, holder, { ...request, ...(together.length > 0 ? { together } : {}) });
  if (moved.moved) return moved.home;
  return once && moved.together?.at(-1) ? "taken" : undefined;
}

/** What has run as it was is another thing to whoever tells runs apart. */
function restarted({ attempt, restarts = 0 }: Home): { restarts?: number } {
  return attempt > 0 ? { restarts: restarts + 1 } : {};
}
