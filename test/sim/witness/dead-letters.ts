import type { Home } from "../../../src/core/home.ts";
import { DEAD_RETENTION } from "../../../src/testing/sqs-limits.ts";
import type { Court } from "./bench.ts";
import type { KnownJobs } from "./known-jobs.ts";

export type DeadLetters = ReturnType<typeof deadLettersOf>;

export function deadLettersOf({ clock, skew }: Court, jobs: KnownJobs, unwanted: string) {
  const notes = jobs.notes(() => ({
    envelopes: new Set<number>(),
    destroyed: new Set<number>(),
    /** The time in each dead entry that lists the job. ms since the epoch. */
    listed: new Set<number>(),
  }));
  const letters = new Map<string, number>();
  return {
    lettersTo: (queue: string): number => letters.get(queue) ?? 0,
    enveloped(queue: string, id: string, revision: number): void {
      notes(id).envelopes.add(revision);
      letters.set(queue, (letters.get(queue) ?? 0) + 1);
    },
    /** A fault destroyed a dead job's envelope, which SQS's own redrive had moved to a ready queue. */
    destroyed: (id: string, revision: number): void => void notes(id).destroyed.add(revision),
    listed(id: string, time: number, isListed: boolean): void {
      const { listed } = notes(id);
      if (isListed) listed.add(time);
      else listed.delete(time);
    },
    /** Says what is missing when a job becomes dead: it must be listed, and its envelope must be in the DLQ unless SQS refuses it. */
    missing({ id, revision, body, finishedAt = 0 }: Home): string | undefined {
      const { envelopes, listed } = notes(id);
      if (!listed.has(finishedAt)) return "dead, but not listed";
      return envelopes.has(revision) || body.includes(unwanted) ? undefined : "dead without an envelope";
    },
    /** Whether the DLQ must have the envelope of a job. It keeps none of a job that has been dead for long. */
    mustLie({ id, state, untracked, body, revision, finishedAt = 0 }: Home): boolean {
      if (state !== "dead" || untracked || body.includes(unwanted)) return false;
      return finishedAt + DEAD_RETENTION > clock() + skew && !notes(id).destroyed.has(revision);
    },
  };
}
