import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Home, hasExpired, startsAt } from "../../core/home.ts";
import { endExpired } from "../gate/if-late.ts";
import { isPlain, type TopicsNow, topicsNow } from "../gate/known-pauses.ts";
import { limitedTopics } from "../gate/limited-topics.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import { type HandedOver, reportFailures, send, uniqueJobs } from "../send/send.ts";
import type { Backlogs } from "./backlog.ts";
import { findLeftToReleases, findParked } from "./find-parked.ts";

export type DueJob = {
  readonly home: Home;
  /** It is found after its start: somebody may have sent or parked it before. */
  readonly isLate: boolean;
};

/** `left`: a release will send the job. `ended`: it had expired, and is recorded so. `unread`: it could not be read whether it may start. */
export type Handed = HandedOver | { outcome: "left" | "ended" } | { outcome: "unread"; reason: string };

/** Sends jobs that a sweep or an audit has found, unless a pause, a limit or a window holds them. Answers the outcomes by the jobs' ids. */
export async function sendDue(
  ctx: Context,
  due: readonly DueJob[],
  backlogs: Backlogs,
): Promise<Map<string, Handed>> {
  const homes = uniqueJobs(due.map(({ home }) => home));
  if (homes.length === 0) return new Map();
  const topics = await topicsNow(
    ctx,
    homes.map(({ topic }) => topic),
  );
  // If the list cannot be read, any of these topics may have had a limit.
  const listed = await limitedTopics(ctx).catch(() => undefined);
  const isPlainHere = ({ topic }: Home): boolean => {
    const now = topics.known.get(topic);
    return now !== undefined && isPlain(now) && listed?.has(topic) === false;
  };
  const [plain, special] = [homes.filter(isPlainHere), homes.filter((home) => !isPlainHere(home))];
  const { outcomes, toSend, parked } = await sortSpecial(ctx, special, due, topics, listed);
  const all = [...plain, ...toSend];
  await askForBacklogs(all, ctx.clock(), backlogs);
  const sent = await send(ctx, all, { parked });
  const handed = new Map<string, Handed>([...outcomes, ...sent]);
  reportUnread(ctx, homes, handed);
  return handed;
}

/** What is done with jobs whose topics have, or had, a pause, a limit or a window. `parked`: of those to send, by id. */
type Sorted = {
  readonly outcomes: ReadonlyMap<string, Handed>;
  readonly toSend: readonly Home[];
  readonly parked: ReadonlySet<string>;
};

const NOTHING: Sorted = { outcomes: new Map(), toSend: [], parked: new Set() };

async function sortSpecial(
  ctx: Context,
  homes: readonly Home[],
  due: readonly DueJob[],
  topics: TopicsNow,
  listed: ReadonlySet<string> | undefined,
): Promise<Sorted> {
  if (homes.length === 0) return NOTHING;
  const outcomes = new Map<string, Handed>();
  const open = (): Home[] => homes.filter(({ id }) => !outcomes.has(id));
  const noteUnread = (errors: ReadonlyMap<string, unknown>, nameOf: (home: Home) => string): void => {
    for (const home of open()) {
      const error = errors.get(nameOf(home));
      if (error !== undefined) outcomes.set(home.id, { outcome: "unread", reason: messageOf(error) });
    }
  };
  const idOf = ({ id }: Home): string => id;
  noteUnread(topics.unknown, ({ topic }) => topic);

  const released = await findLeftToReleases(ctx, open(), topics, listed);
  noteUnread(released.unread, idOf);
  for (const { id } of open()) if (released.left.has(id)) outcomes.set(id, { outcome: "left" });

  for (const id of await endExpiredLimited(ctx, open())) outcomes.set(id, { outcome: "ended" });

  const lateIds = new Set(due.flatMap(({ home, isLate }) => (isLate ? home.id : [])));
  const { parked, unread } = await findParked(
    ctx,
    open().filter(({ id }) => lateIds.has(id)),
  );
  noteUnread(unread, idOf);
  return { outcomes, toSend: open(), parked };
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

/** Answers the ids of the jobs that it has ended without a message. */
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

/** Asks before any overdue job is sent: later these jobs would count as a backlog, and audits would leave lost jobs alone for an hour. */
async function askForBacklogs(homes: readonly Home[], now: number, backlogs: Backlogs): Promise<void> {
  const overdue = homes.flatMap((home) => (startsAt(home) <= now ? home.topic : []));
  await Promise.all([...new Set(overdue)].map((topic) => backlogs.isBehind(topic)));
}
