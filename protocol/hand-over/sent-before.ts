import { CLOCK_MARGIN, STARTS_AHEAD } from "../../core/constants.ts";
import { isSentByRelease, startsAt } from "../../core/home.ts";
import { type Home, type Key, parkedKey } from "../../core/items.ts";
import { isUnreadable } from "../../core/readable.ts";
import { chunksOf } from "../../general/batches.ts";
import { knownResume, pauseBounds } from "../gate/known-pauses.ts";
import { limitedTopics } from "../gate/limited-topics.ts";
import { isStartAhead, type KnownJobs } from "../gate/start-gate.ts";
import { isLimited, isNamed } from "../policy.ts";
import type { Context } from "../ports.ts";
import { readApart } from "../store/read-apart.ts";
import { readHomesApart } from "../store/read-job.ts";
import type { Backlogs } from "./backlog.ts";

/** The error of each job whose note cannot be read, by the job's id. Sweeps and audits look at these jobs again later. */
export type Unread = ReadonlyMap<string, Error>;

/**
 * Finds out what became of late jobs of limited topics. Another process may have found such a job before, and have sent or parked it:
 * - A job with a note is `parked`.
 * - A job without a note counts as `behind` if its topic's consumers are behind: its message lies in the queue. At most as many jobs count
 *   as `behind` as the queue has ready messages.
 * - The message of any other job was lost or never sent: the job needs another start.
 *
 * @param isUnsent whether a job lies in no queue (`DueJob.isUnsent`). Its writer may have parked it
 */
export async function findSentOrParked(
  ctx: Context,
  homes: readonly Home[],
  backlogs: Backlogs,
  isUnsent: (home: Home) => boolean = () => false,
): Promise<{ looks: Omit<KnownJobs, "by">; unread: Unread }> {
  const now = ctx.clock();
  const asked = homes.filter((home) => isLimited(ctx, home.topic) && !isStartAhead(home, now));
  if (asked.length === 0) return NOTHING_KNOWN;
  const { noted: parked, unread } = await notedOf(ctx, asked, asked.map(parkedKey));
  const behind = new Set<string>();
  const others = asked.filter((home) => !parked.has(home.id) && !unread.has(home.id) && !isUnsent(home));
  for (const [topic, jobs] of Map.groupBy(others, (home) => home.topic))
    for (const { id } of jobs.slice(0, await backlogs.takeMessages(topic, jobs.length))) behind.add(id);
  return { looks: { parked, behind }, unread };
}

/**
 * Finds the jobs that sweeps and audits leave to a release, and answers their ids. Each of them has a note, and one of these holds:
 * - Its topic is being resumed.
 * - A deploy has removed its topic's limit.
 * - Its topic has a limit, and the job is untracked.
 *
 * If a sweep sent one of these jobs too, the job would be sent twice, and no claim drops the second message of an untracked job. The job
 * would also take two starts of a limit. The job would seem late, too, because only a release records for how long the job was held.
 */
export async function findLeftToReleases(
  ctx: Context,
  homes: readonly Home[],
): Promise<{ left: ReadonlySet<string>; unread: Unread }> {
  const topics = [...new Set(homes.map(({ topic }) => topic))];
  // Reads the pauses of all topics in one call: `knownResume` then finds them known.
  await pauseBounds(ctx, topics);
  const resumes = await Promise.all(topics.map((topic) => knownResume(ctx, topic)));
  const resuming = new Set(topics.filter((_, i) => resumes[i] !== undefined));
  // If the list of limited topics cannot be read, any of these jobs may have a note.
  const listed = await limitedTopics(ctx).catch(() => undefined);
  const mayWait = ({ topic, untracked }: Home): boolean =>
    resuming.has(topic) || (isLimited(ctx, topic) ? untracked === true : (listed?.has(topic) ?? true));
  // If a deploy has removed a topic and its queue takes no messages, releases leave its tracked jobs parked. Sweeps and audits must
  // record these jobs as dead in the end.
  const isLeft = (home: Home): boolean =>
    mayWait(home) && (home.untracked === true || isNamed(ctx, home.topic));
  const asked = homes.filter((home) => home.state === "scheduled" && isLeft(home));
  // A release may have moved a job to its start, by a new revision, and died before it sent the job. Then the note of the revision
  // before is still there.
  const now = ctx.clock();
  const unsent = asked.filter((home) => home.heldUntil !== undefined && startsAt(home) < now);
  const keysBefore = unsent.map((home) => parkedKey({ ...home, revision: home.revision - 1 }));
  const { noted: left, unread } = await notedOf(
    ctx,
    [...asked, ...unsent],
    [...asked.map(parkedKey), ...keysBefore],
  );
  // A limit gives starts only to parked jobs that are due soon. So a sweep on time reads no home a second time.
  const soon = now + STARTS_AHEAD + CLOCK_MARGIN;
  const mayBeReleased = (home: Home): boolean =>
    startsAt(home) < soon || resuming.has(home.topic) || !isLimited(ctx, home.topic);
  const doubtful = asked.filter(
    (home) => home.untracked === true && !left.has(home.id) && !unread.has(home.id) && mayBeReleased(home),
  );
  const released = await releasedSince(ctx, doubtful);
  return { left: new Set([...left, ...released.left]), unread: new Map([...unread, ...released.unread]) };
}

/**
 * Finds the jobs that a release has sent since their homes were read, or is about to send (`sentFor`). The release removes the note of a
 * job after it has sent the job. So a job without a note may have been sent a moment ago.
 */
async function releasedSince(
  ctx: Context,
  homes: readonly Home[],
): Promise<{ left: ReadonlySet<string>; unread: Unread }> {
  const left = new Set<string>();
  const unread = new Map<string, Error>();
  // The homes have bodies, so only some are in memory at once.
  for (const some of chunksOf(homes, ctx.sizes.heads)) {
    const found = await readHomesApart(
      ctx,
      some.map(({ id }) => id),
    );
    for (const [i, { id, heldUntil }] of some.entries()) {
      const present = found[i];
      // A start without `sentFor` has a look. The process that filed the look may have died before it wrote the start, and the write may land
      // only now. Then this sweep must send the job, because perhaps no other process does.
      if (present instanceof Error) unread.set(id, present);
      else if (
        present &&
        !isUnreadable(present) &&
        present.heldUntil !== heldUntil &&
        isSentByRelease(present)
      )
        left.add(id);
    }
  }
  return { left, unread };
}

/**
 * Answers which of these jobs have a note. If a partition of notes cannot be read, only the jobs of this partition are `unread`.
 *
 * @param keys the key of a note for each of the jobs, in their order
 */
async function notedOf(
  ctx: Context,
  homes: readonly Home[],
  keys: readonly Key[],
): Promise<{ noted: Set<string>; unread: Unread }> {
  const notes = await readApart(ctx, keys);
  const noted = new Set<string>();
  const unread = new Map<string, Error>();
  for (const [i, { id }] of homes.entries()) {
    const note = notes[i];
    if (note instanceof Error) unread.set(id, note);
    else if (note) noted.add(id);
  }
  return { noted, unread };
}

const NOTHING_KNOWN = { looks: { parked: new Set<string>(), behind: new Set<string>() }, unread: new Map() };
