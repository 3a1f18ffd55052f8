import { startsAt } from "../../core/home.ts";
import { type Home, type Key, parkedKey } from "../../core/items.ts";
import { isResuming, pauseBounds } from "../gate/known-pauses.ts";
import { limitedTopics } from "../gate/limited-topics.ts";
import { isStartAhead, type KnownJobs } from "../gate/start-gate.ts";
import { isLimited, isNamed } from "../policy.ts";
import type { Context } from "../ports.ts";
import { readApart } from "../store/read-apart.ts";
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
): Promise<{ looks: KnownJobs; unread: Unread }> {
  const now = ctx.clock();
  const asked = homes.filter(
    (home) => !home.untracked && isLimited(ctx, home.topic) && !isStartAhead(home, now),
  );
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
 *
 * If a sweep sent one of these jobs too, the job would take two starts of a limit. The job would seem late, too, because only a release
 * gives it a new start.
 */
export async function findLeftToReleases(
  ctx: Context,
  homes: readonly Home[],
): Promise<{ left: ReadonlySet<string>; unread: Unread }> {
  const topics = [...new Set(homes.map(({ topic }) => topic))];
  // Reads the pauses of all topics in one call: `isResuming` then finds them known.
  await pauseBounds(ctx, topics);
  const resumes = await Promise.all(topics.map((topic) => isResuming(ctx, topic)));
  const resuming = new Set(topics.filter((_, i) => resumes[i]));
  // If the list of limited topics cannot be read, any of these jobs may have a note.
  const listed = await limitedTopics(ctx).catch(() => undefined);
  const mayWait = (topic: string): boolean =>
    resuming.has(topic) || (!isLimited(ctx, topic) && (listed?.has(topic) ?? true));
  // If a deploy has removed a topic and its queue takes no messages, releases leave its jobs parked. Sweeps and audits must record these
  // jobs as dead in the end.
  const isLeft = ({ topic, untracked }: Home): boolean => !untracked && isNamed(ctx, topic) && mayWait(topic);
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
  const reads = await readApart(ctx, keys, (key) => key);
  const noted = new Set<string>();
  const unread = new Map<string, Error>();
  for (const [i, { id }] of homes.entries()) {
    const [, read] = reads[i] as (typeof reads)[number];
    if (read.is === "unknown") unread.set(id, read.error);
    else if (read.is === "found") noted.add(id);
  }
  return { noted, unread };
}

const NOTHING_KNOWN = { looks: { parked: new Set<string>(), behind: new Set<string>() }, unread: new Map() };
