import type { Home } from "../../../src/core/home.ts";
import { diedAt } from "../../../src/core/timeline.ts";
import type { Bench } from "./bench.ts";
import type { DeadLetters } from "./dead-letters.ts";
import { isOpen, type KnownJobs } from "./known-jobs.ts";
import type { untrackedOf } from "./untracked.ts";

/** Judges in the end that no job is lost: each has ended, and a dead one can be redriven. */
export function endsOf(
  { broken }: Bench,
  jobs: KnownJobs,
  deadLetters: DeadLetters,
  untracked: ReturnType<typeof untrackedOf>,
  isErasedNow: (id: string) => boolean,
) {
  return {
    unfinished: (mayLose: boolean): string[] =>
      [...jobs.ids].filter((id) => {
        const job = jobs.of(id);
        return isOpen(job) || untracked.isToCome(job) || !untracked.hasCome(id, mayLose);
      }),
    /** `lies`: whether a dead job's envelope is in its DLQ. */
    judge(mayLose: boolean, lies: (dead: Home) => boolean): void {
      for (const id of jobs.ids) {
        const { acknowledged, home } = jobs.of(id);
        const isGone = isErasedNow(id);
        if (home && deadLetters.mustLie(home) && lies(home) === isGone)
          broken(
            id,
            isGone
              ? "erased, but its envelope stays in the DLQ"
              : "dead, but its envelope is gone from the DLQ",
          );
        if (home && diedAt(home) !== undefined && lies(home))
          broken(id, "dismissed, but its envelope stays in the DLQ");
        const what = acknowledged ? "acknowledged, but" : "filed, but";
        if (isOpen(jobs.of(id))) broken(id, `${what} never ended: ${JSON.stringify(home)}`);
        if (!untracked.hasCome(id, mayLose))
          broken(id, "an untracked job was not handed off, or did not come");
      }
    },
  };
}
