import { type Home, isFinished } from "../../../src/core/home.ts";
import type { Run } from "./bench.ts";

type Starts = { from: number; to: number };

/** `askedAt`: when a caller last asked for the job to be as it is. `since`: when the pool stored the revision. ms since the epoch. */
export type Revision = {
  dueAt: number;
  wantedAt: number;
  body: string;
  attempt: number;
  askedAt: number;
  postponeUntil: number | undefined;
  since: number;
};

export type KnownJob = ReturnType<typeof unknownJob>;

const unknownJob = () => ({
  home: undefined as Home | undefined,
  revisions: [] as Revision[],
  /** How many runs began, by the attempt, due time and body in their message. */
  starts: new Map<string, number>(),
  /** Runs whose handler ended, and runs whose handler succeeded, by the same values. */
  ends: new Set<string>(),
  successes: new Set<string>(),
  handedOff: new Map<string, Starts>(),
  acknowledged: false,
});

export type KnownJobs = ReturnType<typeof knownJobs>;

export function knownJobs(clock: () => number) {
  const ids = new Set<string>();
  const notes = <T extends object>(fresh: () => T): ((id: string) => T) => {
    const known = new Map<string, T>();
    return (id) => {
      const found = known.get(id);
      if (found) return found;
      const made = fresh();
      known.set(id, made);
      ids.add(id);
      return made;
    };
  };
  const of = notes(unknownJob);
  return {
    /** All jobs of which any judge has heard, in the order in which it first heard of them. */
    ids: ids as ReadonlySet<string>,
    of,
    notes,
    noteRevision(home: Home): void {
      const { id, revision, dueAt, wantedAt, body, attempt, postponeUntil, askedAt = home.createdAt } = home;
      const since = clock();
      of(id).revisions[revision] ??= { dueAt, wantedAt, body, attempt, askedAt, postponeUntil, since };
    },
    /** The home of a job, if a judge has heard of the job. A question makes no job known. */
    homeOf: (id: string): Home | undefined => (ids.has(id) ? of(id).home : undefined),
  };
}

export function wordsOf({ attempt, dueAt, body }: Pick<Run, "attempt" | "dueAt" | "body">): string {
  return `${attempt} ${dueAt} ${body}`;
}

/** The revisions to which a message with this attempt, due time and body may belong. */
export function revisionsOf(job: KnownJob, words: string): number[] {
  return job.revisions.flatMap((revision, i) =>
    revision && wordsOf({ ...revision, attempt: revision.attempt + 1 }) === words ? [i] : [],
  );
}

export function isOpen({ home }: KnownJob): boolean {
  return home !== undefined && !home.untracked && !isFinished(home);
}
