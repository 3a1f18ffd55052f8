import { CLOCK_MARGIN } from "../../core/constants.ts";
import type { Home } from "../../core/items.ts";

/** The jobs that a bulk is for. ms since the epoch. */
export type Range = { topic: string; group: string | undefined; from: number; to: number };

/** Judges what bulks do to jobs. `skew`: ms that a clock may be off. `broken`: told of what must not be. */
export function bulksOf({
  clock,
  skew,
  broken,
}: {
  clock: () => number;
  skew: number;
  broken: (id: string, text: string) => void;
}) {
  const cancelling: (Range & { begunBy: number })[] = [];
  const moved = new Map<number, Set<string>>();
  return {
    /** A bulk is to cancel these. The callback: it has begun by now, if ever. */
    cancels(range: Range): () => void {
      const asked = { ...range, begunBy: Number.POSITIVE_INFINITY };
      cancelling.push(asked);
      return () => {
        asked.begunBy = clock();
      };
    },
    /** Whether a bulk may be cancelling a job that was due at these times: one that it is for, as it was when it began. */
    mayCancel({ topic, group, createdAt, askedAt = createdAt }: Home, due: readonly number[]): boolean {
      return cancelling.some(
        (bulk) =>
          bulk.topic === topic &&
          (bulk.group === undefined || bulk.group === group) &&
          due.some((time) => bulk.from <= time && time < bulk.to) &&
          askedAt <= bulk.begunBy + CLOCK_MARGIN + skew,
      );
    },

    /** A bulk moves jobs to about this time, ms since the epoch: answers one that no other moves anything to. */
    begun(about: number): number {
      let time = about;
      while (moved.has(time)) time += 1;
      moved.set(time, new Set());
      return time;
    },

    /** Whether a bulk moved jobs to this time: it may be hours ahead, when ticks are rare. */
    isMark: (time: number): boolean => moved.has(time),

    /** A job has another revision. */
    changed(before: Home, after: Home): void {
      const jobs = moved.get(after.dueAt);
      if (!jobs) return;
      // Who edits it, or holds it, leaves the time as it is.
      const stays =
        before.dueAt === after.dueAt && (before.body !== after.body || after.heldUntil !== undefined);
      if (!stays && jobs.has(after.id)) broken(after.id, `moved to ${after.dueAt} again by the same bulk`);
      jobs.add(after.id);
    },
  };
}
