import type { Court, Run, Told } from "./bench.ts";
import type { Cancels } from "./cancels.ts";
import { type KnownJobs, revisionsOf, wordsOf } from "./known-jobs.ts";

/** Judges which runs may begin: one for each attempt, of a revision that may still start, and of no cancelled job. */
export function attemptsOf(
  { clock, skew, violate }: Court,
  jobs: KnownJobs,
  untracked: ReadonlySet<string>,
  cancels: Cancels,
) {
  /** `oldest`: the oldest revision that may still start. `running`: how many handlers run the job now. */
  const notes = jobs.notes(() => ({ oldest: 0, running: 0 }));

  const judgeState = (id: string): void => {
    const { state, leaseEnd = 0 } = jobs.of(id).home ?? {};
    if (state === "expired" || state === "cancelled") violate("P4", id, `started, and is ${state}`);
    if (state === "running" && clock() > leaseEnd + skew) violate("P5", id, "started past its own lease");
  };

  return {
    /** Only the told revision, or a later one, may start from now on. */
    moved({ id, revision }: Told): void {
      const known = notes(id);
      known.oldest = Math.max(known.oldest, revision);
    },
    started(run: Run): void {
      const job = jobs.of(run.id);
      const words = untracked.has(run.topic) ? "" : wordsOf(run);
      const count = (job.starts.get(words) ?? 0) + 1;
      job.starts.set(words, count);
      if (untracked.has(run.topic)) return;
      judgeState(run.id);
      const revisions = revisionsOf(job, words);
      const { oldest } = notes(run.id);
      if (cancels.isAcknowledged(run.id)) violate("P4", run.id, "started after its cancel was acknowledged");
      if (revisions.length === 0) violate("P4", run.id, `started as it never was: ${words}`);
      else if (Math.max(...revisions) < oldest)
        violate("P4", run.id, `revision ${revisions.at(-1)} started, but ${oldest} was acknowledged`);
      else if (count > revisions.length)
        violate("P5", run.id, `revision ${revisions.at(-1)} started ${count} times`);
    },
    /** A handler runs a job until the callback. Two must not run it at once, because a function is killed before its lease ends. */
    running({ id, topic }: Run): () => void {
      const known = notes(id);
      if (untracked.has(topic)) return () => {};
      known.running += 1;
      if (known.running > 1) violate("P5", id, "runs twice at the same time");
      let over = false;
      return () => {
        if (!over) known.running -= 1;
        over = true;
      };
    },
    ended(run: Run, well: boolean): void {
      const { ends, successes } = jobs.of(run.id);
      ends.add(wordsOf(run));
      if (well) successes.add(wordsOf(run));
    },
  };
}
