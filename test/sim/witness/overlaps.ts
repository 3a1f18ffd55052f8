import type { Bench, Run } from "./bench.ts";
import type { KnownJobs } from "./known-jobs.ts";

/** Judges that no two handlers run a job at once, because a function is killed before its lease ends. */
export function overlapsOf({ broken }: Bench, jobs: KnownJobs, untracked: ReadonlySet<string>) {
  const notes = jobs.notes(() => ({ running: 0 }));
  return {
    running({ id, topic }: Run): () => void {
      const known = notes(id);
      if (untracked.has(topic)) return () => {};
      known.running += 1;
      if (known.running > 1) broken(id, "runs twice at the same time");
      let over = false;
      return () => {
        if (!over) known.running -= 1;
        over = true;
      };
    },
  };
}
