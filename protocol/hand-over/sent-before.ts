import { startsAt } from "../../core/home.ts";
import { type Home, type Key, parkedKey } from "../../core/items.ts";
import { knownResume, pauseBounds } from "../gate/known-pauses.ts";
import { limitedTopics } from "../gate/limited-topics.ts";
import { isStartAhead, type Looks } from "../gate/start-gate.ts";
import { isLimited, isNamed } from "../policy.ts";
import type { Context } from "../ports.ts";
import { readApart } from "../store/read-apart.ts";
import type { Backlogs } from "./backlog.ts";

/** Jobs whose notes cannot be read, by their ids, each with the error. Sweeps and audits look at them again later. */
export type Unread = ReadonlyMap<string, Error>;

/**
 * What became of jobs of limited topics that are looked at later than they were to start: somebody has handed each over, or
 * parked it. Where its note is not there and its topic's consumers are behind, it lies in its queue. Else its message was
 * lost, or never sent, and it needs another start. `isFirst`: that this is the first look at a job. Such a job lies in no queue,
 * but whoever filed it may have parked it.
 */
export async function sentBefore(
  ctx: Context,
  homes: readonly Home[],
  backlogs: Backlogs,
  isFirst: (home: Home) => boolean = () => false,
): Promise<{ looks: Omit<Looks, "by">; unread: Unread }> {
  const now = ctx.clock();
  const asked = homes.filter((home) => isLimited(ctx, home.topic) && !isStartAhead(home, now));
  if (asked.length === 0) return NOTHING_KNOWN;
  const { noted: parked, unread } = await notedOf(ctx, asked, asked.map(parkedKey));
  const behind = new Set<string>();
  const others = asked.filter((home) => !parked.has(home.id) && !unread.has(home.id) && !isFirst(home));
  for (const [topic, jobs] of Map.groupBy(others, (home) => home.topic))
    if (await backlogs(topic)) for (const { id } of jobs) behind.add(id);
  return { looks: { parked, behind }, unread };
}

/**
 * The ids of those of these jobs that wait for a release. Each has a note, and its topic is being resumed, or had a limit that a
 * deploy has taken away, or has a limit while the job is untracked. Sweeps and audits leave these jobs to the release. Otherwise a
 * job would be sent twice, and no claim drops the second message of an untracked job. It would also take two starts of a limit,
 * and seem late, as the release alone writes down that a limit has held it.
 */
export async function leftToReleases(
  ctx: Context,
  homes: readonly Home[],
): Promise<{ left: ReadonlySet<string>; unread: Unread }> {
  const topics = [...new Set(homes.map(({ topic }) => topic))];
  // In one call.
  await pauseBounds(ctx, topics);
  const resumes = await Promise.all(topics.map((topic) => knownResume(ctx, topic)));
  const resuming = new Set(topics.filter((_, i) => resumes[i] !== undefined));
  // Where nobody can say it, each of the jobs is asked for its note.
  const listed = await limitedTopics(ctx).catch(() => undefined);
  const mayWait = ({ topic, untracked }: Home): boolean =>
    resuming.has(topic) || (isLimited(ctx, topic) ? untracked === true : (listed?.has(topic) ?? true));
  // A release lets no tracked job of a topic go that a deploy has taken away, unless its queue takes messages.
  const isLeft = (home: Home): boolean =>
    mayWait(home) && (home.untracked === true || isNamed(ctx, home.topic));
  const asked = homes.filter((home) => home.state === "scheduled" && isLeft(home));
  // A release may have died before it sent a job that it had given its last start: the note of before stands still.
  const now = ctx.clock();
  const unsent = asked.filter((home) => home.heldUntil !== undefined && startsAt(home) < now);
  const before = unsent.map((home) => parkedKey({ ...home, revision: home.revision - 1 }));
  const { noted: left, unread } = await notedOf(
    ctx,
    [...asked, ...unsent],
    [...asked.map(parkedKey), ...before],
  );
  return { left, unread };
}

/** Which of these jobs have a note. A partition of notes that cannot be read is trouble of its topic's jobs alone. */
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
