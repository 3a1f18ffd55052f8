import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { hasExpired, startsAt } from "../../core/home.ts";
import type { Home } from "../../core/items.ts";
import { endExpired } from "../gate/if-late.ts";
import { unknownPauses } from "../gate/known-pauses.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import { type HandedOver, reportFailures, send } from "../send/send.ts";
import type { Backlogs } from "./backlog.ts";
import { findLeftToReleases, findParked } from "./find-parked.ts";

/** A job that a sweep or an audit has found. */
export type DueJob = {
  readonly home: Home;
  /** The job is found after its start: somebody may have sent or parked the job before. */
  readonly isLate: boolean;
};

/**
 * What became of a job that a sweep or an audit has found.
 * - `left`: a release will send the job.
 * - `ended`: the job had expired, and is recorded so.
 * - `unread`: it could not be read whether the job may start, so the job was not sent.
 */
export type Handed = HandedOver | { outcome: "left" | "ended" } | { outcome: "unread"; reason: string };

/**
 * Sends the jobs that a sweep or an audit has found, unless a pause, a limit or a window holds them. Answers the outcome of each job, by
 * the jobs' ids.
 *
 * @param backlogs asked once for all shards of a tick
 */
export async function sendDue(
  ctx: Context,
  due: readonly DueJob[],
  backlogs: Backlogs,
): Promise<Map<string, Handed>> {
  const outcomes = new Map<string, Handed>();
  // A page may have a job's home and also looks at the job.
  const homes = [...new Map(due.map(({ home }) => [home.id, home])).values()];
  const open = (): Home[] => homes.filter(({ id }) => !outcomes.has(id));
  const noteUnread = ({ id }: Home, error: unknown): void =>
    void outcomes.set(id, { outcome: "unread", reason: messageOf(error) });

  const unknown = await unknownPauses(
    ctx,
    homes.map(({ topic }) => topic),
  );
  for (const home of homes) if (unknown.has(home.topic)) noteUnread(home, unknown.get(home.topic));

  const released = await findLeftToReleases(ctx, open());
  for (const home of open()) {
    const error = released.unread.get(home.id);
    if (error !== undefined) noteUnread(home, error);
    else if (released.left.has(home.id)) outcomes.set(home.id, { outcome: "left" });
  }

  for (const id of await endExpiredLimited(ctx, open())) outcomes.set(id, { outcome: "ended" });

  await askForBacklogs(open(), ctx.clock(), backlogs);
  const lateIds = new Set(due.flatMap(({ home, isLate }) => (isLate ? home.id : [])));
  const late = open().filter(({ id }) => lateIds.has(id));
  const { parked, unread } = await findParked(ctx, late);
  for (const home of late) {
    const error = unread.get(home.id);
    if (error !== undefined) noteUnread(home, error);
  }

  for (const [id, sent] of await send(ctx, open(), { parked })) outcomes.set(id, sent);
  reportUnread(ctx, homes, outcomes);
  return outcomes;
}

function reportUnread(ctx: Context, homes: readonly Home[], outcomes: ReadonlyMap<string, Handed>): void {
  const unread = homes.flatMap(({ id, topic }) => {
    const handed = outcomes.get(id);
    return handed?.outcome === "unread" ? { topic, reason: handed.reason } : [];
  });
  for (const [topic, some] of Map.groupBy(unread, (one) => one.topic))
    reportFailures(
      ctx,
      topic,
      some.map(({ reason }) => reason),
    );
}

/** Ends the expired jobs of limited topics without a message (`endExpired`). Answers the ids of the jobs that it has ended. */
async function endExpiredLimited(ctx: Context, homes: readonly Home[]): Promise<string[]> {
  const now = ctx.clock();
  const expired = homes.filter(
    (home) => home.state === "scheduled" && isLimited(ctx, home.topic) && hasExpired(home, now),
  );
  const ended: string[] = [];
  for (const [topic, jobs] of Map.groupBy(expired, (home) => home.topic)) {
    const outcomes = await endExpired(ctx, topic, jobs, ctx.clock() + BATCH_PATIENCE);
    for (const [i, { id }] of jobs.entries()) if (outcomes[i] === "changed") ended.push(id);
  }
  return ended;
}

/**
 * Asks whether the consumers of overdue jobs' topics are behind, before any overdue job is sent: a later call would count these jobs as a
 * backlog, and audits would leave lost jobs alone for an hour.
 */
async function askForBacklogs(homes: readonly Home[], now: number, backlogs: Backlogs): Promise<void> {
  const overdue = homes.flatMap((home) => (startsAt(home) <= now ? home.topic : []));
  await Promise.all([...new Set(overdue)].map((topic) => backlogs.isBehind(topic)));
}
