import type { Home } from "../../core/items.ts";

/** Judges what bulks do to jobs. `broken`: told of what must not be. */
export function bulksOf(broken: (id: string, text: string) => void) {
  const cancelling = new Set<string>();
  const moved = new Map<number, Set<string>>();
  return {
    cancels: (topic: string): void => void cancelling.add(topic),
    /** Whether a bulk may be cancelling jobs of this topic. */
    mayCancel: (topic: string): boolean => cancelling.has(topic),

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
