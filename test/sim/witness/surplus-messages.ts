import { BUCKET, DAY, HEALTHY_READY } from "../../../src/core/constants.ts";
import { type Home, startsAt } from "../../../src/core/home.ts";
import type { MessageJob } from "../../../src/core/message.ts";
import type { Bench } from "./bench.ts";
import type { KnownJob, KnownJobs } from "./known-jobs.ts";

const HOUR = DAY / 24;

/** The writer (or a sweep in its place), the revision's own sweep, and the consumer of a message of the revision before. */
const SENDS_A_REVISION = 3;
/** More sends for each job: by audits, whose looks become ever rarer, and by consumers that give a job back. */
const MORE_SENDS = 5;
/** A busy function keeps a job at least so long before it gives the job back. ms. Such sends are counted apart, at most one in this time. */
const KEPT_FOR = 30_000;
/** Further sends of a job if ticks died, or ran at the same time. Then the cursors' compare-and-set stops all of them but one. */
const SENDS_BY_OVERLAP = 2;

const unsent = () => ({
  /** How often SQS accepted a message with the job. `givenBack`: sends of a job split from a pulled pack. */
  sends: 0,
  givenBack: 0,
  /** How many of `givenBack` came `KEPT_FOR` or more after the send before. `sentAt`: when that was, ms since the epoch. */
  hadNoTime: 0,
  sentAt: 0,
  /** Revision and `sentAt` of each message, to recognise one that is sent again. */
  madeAt: new Set<string>(),
  /** How often a repeated call or an event found the job again. Each time its message may be sent once more as a precaution. */
  finds: 0,
  /** The longest that it waited past its start until its home changed. ms. */
  waited: 0,
});

/** Judges how many messages a job gets. `unwritten`: for how many ms no looks can be written: see `Settings`. */
export function surplusMessagesOf({ clock, broken }: Bench, jobs: KnownJobs, unwritten: number) {
  let repeatedTicks = 0;
  const notes = jobs.notes(unsent);
  return {
    sent({ id, revision, sentAt }: MessageJob): void {
      const made = `${revision} ${sentAt}`;
      const known = notes(id);
      known.sends += 1;
      if (known.madeAt.has(made)) {
        known.givenBack += 1;
        if (clock() - known.sentAt >= KEPT_FOR) known.hadNoTime += 1;
      }
      known.madeAt.add(made);
      known.sentAt = clock();
    },
    found(id: string): void {
      notes(id).finds += 1;
    },
    changed(before: Home): void {
      const known = notes(before.id);
      if (before.state === "scheduled") known.waited = Math.max(known.waited, clock() - startsAt(before));
    },
    tickRepeated(): void {
      repeatedTicks += 1;
    },
    judge(): void {
      for (const id of jobs.ids) {
        const [job, known] = [jobs.of(id), notes(id)];
        const most = mostOf(job, known, { repeatedTicks, unwritten });
        const [sends, revisions] = [known.sends, job.revisions.length];
        if (sends > most)
          broken(id, `${sends} messages for ${revisions} revisions, at most ${most} are allowed`);
      }
    },
  };
}

function mostOf(
  { revisions, starts }: KnownJob,
  { givenBack, hadNoTime, waited, finds }: ReturnType<typeof unsent>,
  { repeatedTicks, unwritten }: { repeatedTicks: number; unwritten: number },
): number {
  // The runs of an untracked job have no revisions, so each run counts as one.
  const counted = Math.max(revisions.length, 1) + (starts.get("") ?? 0);
  // A repeated message may be a pack that a puller splits, which causes one more send.
  const repeats = Math.min(repeatedTicks, SENDS_BY_OVERLAP);
  // An audit that can file no look at a job that it has sent comes to the same place again, each minute.
  const audits = Math.ceil(unwritten / BUCKET);
  const again = repeats + Math.min(repeats, givenBack) + audits;
  return (
    SENDS_A_REVISION * counted + Math.max(MORE_SENDS, sendsWhileWaiting(waited)) + hadNoTime + finds + again
  );
}

/**
 * Each look sends it twice: the sweep, and the audit ten minutes later. There is a look each hour until these messages themselves count as
 * a backlog, then at most one a day.
 */
function sendsWhileWaiting(waited: number): number {
  const looks = Math.min(Math.floor(waited / HOUR), HEALTHY_READY / 2 + 1) + Math.ceil(waited / DAY);
  return waited < HOUR ? 0 : 2 * looks;
}
