import type { Home } from "../../../src/core/home.ts";
import type { Bench } from "./bench.ts";
import type { KnownJobs } from "./known-jobs.ts";

type Wanted = { readonly topic: string; readonly group: string | undefined };

/** Judges erases: an erased job is gone with the answer, was over before, and never starts again. */
export function erasesOf({ clock, broken }: Bench, jobs: KnownJobs) {
  const begun: Wanted[] = [];
  const stored = new Map<string, Home>();
  const erased = new Set<string>();
  const isMeant = (home: Home, { topic, group }: Wanted): boolean =>
    home.topic === topic && (group === undefined || home.group === group);
  return {
    /** A call asks for an erase. Answers a callback for its last answer. `left`: how many jobs its answers have named as left. */
    begun(wanted: Wanted): (left: number) => void {
      begun.push(wanted);
      const before = [...stored.values()].filter((home) => isMeant(home, wanted)).map(({ id }) => id);
      return (left) => {
        const still = before.filter((id) => stored.has(id));
        if (still.length > left)
          broken(still[0] ?? "", `${still.length} jobs are stored after an erase that left ${left}`);
      };
    },
    /** Whether an erase may have cancelled or deleted a job. */
    mayErase: (home: Home): boolean => begun.some((wanted) => isMeant(home, wanted)),
    isErased: (id: string): boolean => erased.has(id),
    /** A repeat of a call that filed an erased job files the job anew. */
    isGone: (id: string): boolean => erased.has(id) && !stored.has(id),
    written(before: Home | undefined, after: Home | undefined): void {
      if (after) stored.set(after.id, after);
      else if (before) {
        stored.delete(before.id);
        if (!((before.expiresAt ?? Number.POSITIVE_INFINITY) * 1000 < clock())) erased.add(before.id);
      }
    },
    started({ id }: { readonly id: string }): void {
      if (erased.has(id) && jobs.homeOf(id)?.untracked !== true && !stored.has(id))
        broken(id, "started after it was erased");
    },
  };
}
