import { type Home, startsAt } from "../../core/home.ts";
import { parkedKey } from "../../core/item-keys.ts";
import type { Key } from "../../core/items.ts";
import type { TopicsNow } from "../gate/known-pauses.ts";
import { isStartAhead } from "../gate/start-gate.ts";
import { isLimited, isNamed } from "../policy.ts";
import type { Context } from "../ports.ts";
import { readApart } from "../store/read-apart.ts";

/** The errors of jobs whose notes cannot be read, by id. */
export type Unread = ReadonlyMap<string, Error>;

/** Finds the parked ones among late jobs of limited topics: a release gives them starts. The other late jobs need new starts. */
export async function findParked(
  ctx: Context,
  homes: readonly Home[],
): Promise<{ parked: ReadonlySet<string>; unread: Unread }> {
  const now = ctx.clock();
  const asked = homes.filter(
    (home) => !home.untracked && isLimited(ctx, home.topic) && !isStartAhead(home, now),
  );
  const { noted: parked, unread } = await notedOf(ctx, asked, asked.map(parkedKey));
  return { parked, unread };
}

/**
 * The ids of jobs with notes whose topic is being resumed, or whose limit a deploy has removed. If a sweep sent them too, they would take two
 * starts, and would seem late. `listed`: the topics that ever had a limit; `undefined`: they cannot be read.
 */
export async function findLeftToReleases(
  ctx: Context,
  homes: readonly Home[],
  { known }: TopicsNow,
  listed: ReadonlySet<string> | undefined,
): Promise<{ left: ReadonlySet<string>; unread: Unread }> {
  const mayWait = (topic: string): boolean =>
    known.get(topic)?.isResuming === true || (!isLimited(ctx, topic) && (listed?.has(topic) ?? true));
  // Releases leave the jobs of a removed topic parked. Sweeps and audits record them as dead in the end.
  const isLeft = ({ topic, untracked }: Home): boolean => !untracked && isNamed(ctx, topic) && mayWait(topic);
  const asked = homes.filter((home) => home.state === "scheduled" && isLeft(home));
  // A release may have moved a job by a new revision and died, and left the note of the revision before.
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

/** `keys`: of a note for each job. If a partition cannot be read, only its jobs are `unread`. */
async function notedOf(
  ctx: Context,
  homes: readonly Home[],
  keys: readonly Key[],
): Promise<{ noted: Set<string>; unread: Unread }> {
  if (keys.length === 0) return { noted: new Set(), unread: new Map() };
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
