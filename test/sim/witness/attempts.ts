import type { Court, Run, Told } from "./bench.ts";
import type { Cancels } from "./cancels.ts";
import { type KnownJob, type KnownJobs, revisionsOf, wordsOf } from "./known-jobs.ts";

/** Judges which runs may begin: one for each attempt, of a revision that may still start, and of no cancelled job. */
export function attemptsOf(court: Court, jobs: KnownJobs, untracked: ReadonlySet<string>, cancels: Cancels) {
  const { violate } = court;
  const notes = jobs.notes(() => ({ oldest: 0 }));
  return {
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
      judgeState(court, run.id, job);
      const revisions = revisionsOf(job, words);
      const { oldest } = notes(run.id);
      if (cancels.isAcknowledged(run.id)) violate("P4", run.id, "started after its cancel was acknowledged");
      if (revisions.length === 0) violate("P4", run.id, `started as it never was: ${words}`);
      else if (Math.max(...revisions) < oldest)
        violate("P4", run.id, `revision ${revisions.at(-1)} started, but ${oldest} was acknowledged`);
      else if (count > revisions.length)
        violate("P5", run.id, `revision ${revisions.at(-1)} started ${count} times`);
    },
    ended(run: Run, well: boolean): void {
      const { ends, successes } = jobs.of(run.id);
      ends.add(wordsOf(run));
      if (well) successes.add(wordsOf(run));
    },
  };
}

function judgeState({ clock, skew, violate }: Court, id: string, { home }: KnownJob): void {
  const { state, leaseEnd = 0 } = home ?? {};
  if (state === "expired" || state === "cancelled") violate("P4", id, `started, and is ${state}`);
  if (state === "running" && clock() > leaseEnd + skew) violate("P5", id, "started past its own lease");
}
