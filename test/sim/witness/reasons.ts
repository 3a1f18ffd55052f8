import { CLOCK_MARGIN } from "../../../src/core/constants.ts";
import { type Home, startsAt } from "../../../src/core/home.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import type { Court } from "./bench.ts";
import type { Bounds } from "./bounds.ts";
import type { bulksOf } from "./bulks.ts";
import type { Cancels } from "./cancels.ts";
import type { DeadLetters } from "./dead-letters.ts";
import type { erasesOf } from "./erases.ts";
import { type KnownJob, wordsOf } from "./known-jobs.ts";
import type { pausesOf } from "./pauses.ts";
import type { repeatsOf } from "./repeats.ts";
import type { tombstonesOf } from "./tombstones.ts";
import type { WebhookIds } from "./webhook-ids.ts";

/** What the witness has seen of users, events, handlers and clocks: the reasons for which a home may change. */
export type Scene = Court & {
  bounds: Bounds;
  topics: Policy["topics"];
  burns: boolean;
  pauses: ReturnType<typeof pausesOf>;
  tombstones: ReturnType<typeof tombstonesOf>;
  bulks: ReturnType<typeof bulksOf>;
  erases: ReturnType<typeof erasesOf>;
  repeats: ReturnType<typeof repeatsOf>;
  cancels: Cancels;
  deadLetters: DeadLetters;
  webhookIds: WebhookIds;
};

export type Change = { job: KnownJob; before: Home; after: Home };

/** Whether a call, a bulk or an event may have cancelled it. A request that lands late must not cancel a job that was moved since. */
export function isCancelled({ cancels, tombstones, bulks, erases }: Scene, { job, before }: Change): boolean {
  const isAsked = cancels.isAsked(before.id, job.revisions[before.revision]?.since ?? 0);
  const mayEvent = before.key !== undefined && tombstones.mayCancel(before);
  const due = job.revisions.map(({ dueAt }) => dueAt);
  return isAsked || bulks.mayCancel(before, due) || erases.mayErase(before) || mayEvent;
}

export function isOverdue({ clock, skew }: Scene, { before }: Change): boolean {
  const { wantedAt, expiresAfter = Number.POSITIVE_INFINITY } = before;
  return clock() + skew > wantedAt + expiresAfter;
}

/** How late a job was when somebody asked for it: ms. */
export function lateWhenAsked({ askedLate, dueAt, wantedAt }: Home): number {
  return askedLate ? Math.max(dueAt - wantedAt, 0) : 0;
}

/**
 * Whether a job is later than its topic's `ifLate` allows, counted from its last start, or from the end of its topic's last pause, with the time
 * that it was late when somebody asked for it.
 */
export function isLate(
  { clock, skew, topics, pauses }: Scene,
  { before }: Change,
  then: "skip" | "expire",
): boolean {
  const { ifLate } = topics[before.topic] ?? {};
  const since = Math.max(startsAt(before), pauses.lastEnd(before.topic) - skew);
  const late = clock() + skew - since + lateWhenAsked(before);
  return ifLate?.do === then && late > ifLate.after * 1000;
}

export function isReleased({ clock, skew }: Scene, { before: { leaseEnd = 0 } }: Change): boolean {
  return clock() + skew >= leaseEnd + CLOCK_MARGIN;
}

/** Says why a run must not have ended: it may end only when its handler has ended, or after its lease. */
export function wrongEnd(scene: Scene, change: Change): string | undefined {
  if (change.job.ends.has(wordsOf(change.before))) return undefined;
  if (!scene.burns) return "an attempt was lost without a run";
  return isReleased(scene, change) ? undefined : "a run ended by somebody else";
}

/** Whether a claim that came too late for a run is given back, and so counts as no attempt. Then no run may start by this claim. */
export function isGivenBack(change: Change): boolean {
  const { before, after } = change;
  if (before.state !== "running" || after.attempt !== before.attempt - 1) return false;
  return after.askedAt === before.askedAt && isGivenUp(change);
}

/** Whether such a claim is given up because the job was cancelled in the meantime. No run of it may start after that. */
export function isGivenUp({ job, before }: Change): boolean {
  const words = wordsOf(before);
  if (job.starts.has(words)) return false;
  job.starts.set(words, 1);
  return true;
}
