import { isDeepStrictEqual } from "node:util";
import { DAY, KNOWN_CALLS } from "../../../src/core/constants.ts";
import { type Home, isFinished } from "../../../src/core/home.ts";
import { keptOptionsOf } from "../../../src/core/job-options.ts";
import { onceNotesOf } from "../../../src/core/once.ts";
import type { ChangeName } from "../../../src/core/states.ts";
import { LATEST_WRITE } from "./bounds.ts";
import { type KnownJob, wordsOf } from "./known-jobs.ts";
import {
  type Change,
  isCancelled,
  isGivenBack,
  isGivenUp,
  isLate,
  isOverdue,
  isReleased,
  type Scene,
  wrongEnd,
} from "./reasons.ts";
import { changesBetween } from "./states.ts";

type Judge = (scene: Scene, change: Change) => string | undefined;

const JUDGES: Record<ChangeName, Judge> = {
  file: nothing,
  fileCancelled: unless(
    ({ tombstones }, { after }) => tombstones.standsFor(after),
    "and no event has cancelled it",
  ),
  move: moved,
  hold: (scene, change) =>
    (change.after.heldUntil ?? 0) + scene.bounds.start + scene.skew < scene.clock()
      ? "to a start that had passed"
      : moved(scene, change),
  keep: nothing,
  claim: unless((_, { before, after }) => after.attempt === before.attempt + 1, "and its attempt is wrong"),
  cancel: unless(isCancelled, "for no reason"),
  skip: unless((scene, change) => isLate(scene, change, "skip"), "too soon"),
  expire: unless((scene, change) => isOverdue(scene, change) || isLate(scene, change, "expire"), "too soon"),
  giveUp: ({ deadLetters }, { after }) => deadLetters.missing(after),
  extend: nothing,
  askToCancel: unless(isCancelled, "cancelled for no reason"),
  keepRunning: nothing,
  finish: unless((_, { job, after }) => job.successes.has(wordsOf(after)), "but no handler succeeded"),
  retry: moved,
  moveCrashed: moved,
  cancelRun: (scene, change) => {
    if (change.before.cancelAskedAt === undefined) return "and no event has cancelled it";
    return isGivenUp(change) ? undefined : wrongEnd(scene, change);
  },
  cancelCrashed: (scene, change) => {
    if (!isCancelled(scene, change)) return "for no reason";
    return isReleased(scene, change) ? undefined : "under a live lease";
  },
  die: (scene, change) => wrongEnd(scene, change) ?? scene.deadLetters.missing(change.after),
  dismiss: unless(isCancelled, "for no reason"),
  redrive: moved,
};

export function changesOf(scene: Scene) {
  const violate = (id: string, text: string): void => scene.violate("state", id, text);
  return {
    changed(job: KnownJob, before: Home | undefined, after: Home): void {
      const wrong = wrongAttributes(before, after) ?? wrongReason(scene, job, before, after);
      if (!wrong) return;
      const change = `${before?.state ?? "nothing"} → ${after.state}`;
      violate(after.id, `${change}${wrong}: ${JSON.stringify(before)} became ${JSON.stringify(after)}`);
    },
    deleted(home: Home): void {
      if (!isFinished(home) && !home.untracked) violate(home.id, "deleted while it is not finished");
    },
  };
}

function wrongAttributes(before: Home | undefined, after: Home): string | undefined {
  if (isFinished(after) !== (after.expiresAt !== undefined) && !after.untracked) return " with a wrong TTL";
  if (after.state === "scheduled" && (after.token !== undefined || after.leaseEnd !== undefined))
    return " with a claim";
  // SQS may refuse the message of an untracked job for good. Otherwise its home is written once.
  if (before?.untracked && after.state !== "dead") return " of an untracked job";
  return before && !remembers(before, after) ? " without its Idempotency-Keys" : undefined;
}

/** A home may have changed in one of several ways: one of them must be right. */
function wrongReason(scene: Scene, job: KnownJob, before: Home | undefined, after: Home): string | undefined {
  let why = "which src/core/states.ts does not allow";
  for (const judge of new Set(changesBetween(before, after).map((name) => JUDGES[name]))) {
    const wrong = judge(scene, { job, before: before ?? after, after });
    if (wrong === undefined) return undefined;
    why = wrong;
  }
  return `, ${why}`;
}

function nothing(): undefined {}

function unless(allows: (scene: Scene, change: Change) => boolean, why: string): Judge {
  return (...asked) => (allows(...asked) ? undefined : why);
}

function moved(scene: Scene, change: Change): string | undefined {
  const { clock, skew, bulks } = scene;
  const { before, after } = change;
  if (after.revision === before.revision) return undefined;
  const isAsked = after.wantedAt !== before.wantedAt || after.body !== before.body;
  if (isAsked && (after.askedAt ?? 0) < clock() - LATEST_WRITE - skew)
    return "and it does not say when it was asked for";
  const { postponeUntil = after.postponeUntil } = before;
  if ((after.postponeUntil ?? postponeUntil) !== postponeUntil) return "and its first bound moved";
  bulks.changed(before, after);
  if (isGivenBack(change)) return undefined;
  if (before.state === "dead") forgetRequests(scene, before);
  restart(scene, change);
  return before.state === "running" ? wrongEnd(scene, change) : undefined;
}

/** When a job is redriven a day or more after it ended, repeats of its requests need not find it any more. */
function forgetRequests({ clock, skew, repeats }: Scene, { id, finishedAt = 0 }: Home): void {
  if (finishedAt + DAY <= clock() + skew) repeats.forget(id);
}

/** Counts a restart of a job's webhook calls: a redrive, or a change of the job that a receiver was called for. */
function restart({ webhookIds }: Scene, { before, after }: Change): void {
  const isOther =
    before.body !== after.body || !isDeepStrictEqual(keptOptionsOf(before), keptOptionsOf(after));
  if (before.state === "dead" || (webhookIds.isCalled(before.id) && isOther)) webhookIds.restarted(before.id);
}

/** Whether a home names the same once items, none for a shorter time. A call that finds a job by its key may replace the oldest of ten. */
function remembers(before: Home, after: Home): boolean {
  const [known, notes] = [onceNotesOf(before.once), onceNotesOf(after.once)];
  const added = after.key === undefined ? [] : notes.slice(-1);
  return [known, [...known, ...added].slice(-KNOWN_CALLS)].some(
    (wanted) =>
      wanted.length === notes.length &&
      wanted.every(({ token, expiresAt }, i) => token === notes[i]?.token && expiresAt <= notes[i].expiresAt),
  );
}
