import type { Asked, Court, Told } from "./bench.ts";
import type { KnownJob, KnownJobs, Revision } from "./known-jobs.ts";

/** Judges what answers promise: the job is stored, it is as the caller asked for it, and no earlier revision starts from now on. */
export function grantsOf({ violate }: Court, jobs: KnownJobs, untracked: ReadonlySet<string>) {
  return {
    acknowledged({ id, topic }: Told): void {
      const job = jobs.of(id);
      if (!job.home && !untracked.has(topic)) violate("P1", id, "acknowledged, but not in the pool");
      job.acknowledged = true;
    },

    /** A call gave the job the values that it asked for. `hasToken`: others may have changed the job between the call and its repeat. */
    granted(told: Told, asked: Asked, hasToken = false): void {
      const dueAt = Date.parse(told.dueAt);
      const job = jobs.of(told.id);
      const { body, from, to } = boundedBy(job, told, asked);
      const isAsAsked = (revision: Revision): boolean =>
        (from === undefined || revision.dueAt >= from) &&
        (to === undefined || revision.dueAt <= to) &&
        (body === undefined || revision.body === JSON.stringify(body));
      if (hasToken && job.revisions.slice(0, told.revision).some(isAsAsked)) return;
      if (from !== undefined && dueAt < from)
        violate("P2", told.id, `due ${from - dueAt} ms before it was asked for`);
      if (to !== undefined && dueAt > to)
        violate("P3", told.id, `due ${dueAt - to} ms after it was asked for`);
      const stored = job.revisions[told.revision];
      if (untracked.has(told.topic)) return;
      if (stored?.dueAt !== dueAt)
        violate("P1", told.id, `told to be due at ${dueAt}, stored as ${stored?.dueAt}`);
      const { past } = asked;
      // Whoever asks late, `expiresAfter` and `ifLate` count from the time that was asked for.
      if (past && stored && !isWithin(stored.wantedAt - past.time, past.spread))
        violate("late", told.id, `asked for ${past.time}, and late since ${stored.wantedAt}`);
      if (body !== undefined && stored?.body !== JSON.stringify(body))
        violate("P1", told.id, `asked to be ${JSON.stringify(body)}, stored as ${stored?.body}`);
    },

    moved({ id, revision }: Told): void {
      const { home } = jobs.of(id);
      if (home && home.revision < revision) violate("P1", id, `revision ${revision} was told`);
    },
  };
}

function isWithin(later: number, most: number): boolean {
  return later >= 0 && later <= most;
}

/** The due times that a postponing call allows: those that it asked for, but none after the bound of the key's first request. */
function boundedBy({ revisions }: KnownJob, { outcome, revision }: Told, asked: Asked): Asked {
  const { from = 0, to = 0, postponing } = asked;
  if (!postponing) return asked;
  const { maxDelay } = postponing;
  const { postponeUntil, askedAt = 0 } = revisions[revision - 1] ?? {};
  const first = postponeUntil ?? askedAt + maxDelay;
  const kept = outcome === "postponed" ? first : undefined;
  const most = { from: kept ?? postponing.from + maxDelay, to: kept ?? postponing.to + maxDelay };
  // A time in the past becomes the present time.
  return {
    ...asked,
    from: Math.min(from, most.from),
    to: Math.max(Math.min(to, most.to), postponing.to),
  };
}
