import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { isFinished, isRunning, lastStart, startsAt } from "../../core/home.ts";
import { type Home, ITEM_VERSION, type Parked, parkedIn, parkedKey } from "../../core/items.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import { BEGINNING, END, type Position } from "../../core/position.ts";
import type { Unreadable } from "../../core/readable.ts";
import type { Context, Deadline } from "../ports.ts";
import { readHomesApart } from "../store/read-job.ts";
import { askUnlessSilent } from "../store/silence.ts";
import { reportUnreadable } from "../store/unreadable.ts";
import { isPaused, type TopicNow, topicJustNow, topicNow } from "./known-pauses.ts";
import { listLimited } from "./limited-topics.ts";

/** Runs the writes of a topic's notes, by the topic's name. */
const askNotes = askUnlessSilent();
/** How long the write of a note is repeated: ms. Jobs of other topics wait meanwhile. */
const PATIENCE = 10_000;

export type Parking = {
  /** The ids of the jobs that are parked now. */
  readonly parked: ReadonlySet<string>;
  /** Notes that this call wrote for jobs that turned out not to be held, by the jobs' ids. The caller deletes them once the jobs are sent. */
  readonly spare: ReadonlyMap<string, Parked>;
};

/** The ids of jobs whose messages must not run them now. */
export type Deferred = {
  /** The jobs were parked, sent in new messages, or got looks. */
  readonly done: ReadonlySet<string>;
  /** The homes of these jobs cannot be read for now. */
  readonly unread: ReadonlySet<string>;
};

/** `countParked` stops at this number, so that it reads little. */
const COUNT_TO = 1000;

/**
 * Parks the jobs of a topic that its pause holds: writes a note for each, so that the resume releases the job when its turn comes.
 * @throws the error of the first note that was not written
 */
export async function park(ctx: Context, topic: string, homes: readonly Home[]): Promise<Parking> {
  // It counts from before the read: a note must not be written when the pause is long over.
  const by = ctx.clock() + PATIENCE;
  const before = await topicNow(ctx, topic);
  const held = homes.filter((home) => isBehindPause(home, before));
  if (held.length === 0) return { parked: new Set(), spare: new Map() };
  const own = await askNotes(ctx, topic, () => noteParked(ctx, held, by));
  // A resume may have read the notes before this call wrote its own. A job that had a note before stays parked: a release gives it a new
  // start, from which its lateness counts.
  const after = await topicJustNow(ctx, topic);
  const parked = held.filter((home) => !own.has(home) || isBehindPause(home, after));
  if (parked.length > 0) ctx.report({ type: "parked", topic, jobs: parked.length });
  const spare = [...own].filter(([home]) => !parked.includes(home));
  return {
    parked: new Set(parked.map(({ id }) => id)),
    spare: new Map(spare.map(([{ id }, note]) => [id, note])),
  };
}

/**
 * Parks jobs that get no start of their topic's limit now. The next release that finds a free start for a job releases the job.
 * @param by the time from which no note is written: the homes were read too long ago then
 * @throws the error of the first note that was not written
 */
export async function parkForLimit(
  ctx: Context,
  topic: string,
  homes: readonly Home[],
  by: Deadline,
): Promise<void> {
  if (homes.length === 0) return;
  // First, because a tick of a deployment without this limit looks for the notes of listed topics only.
  await listLimited(ctx, topic, by);
  await askNotes(ctx, topic, () => noteParked(ctx, homes, Math.min(by, ctx.clock() + PATIENCE)));
  ctx.report({ type: "parked", topic, jobs: homes.length });
}

/**
 * Says whether a pause holds a job. A resume at a rate does not hold a job whose run crashed: its message only makes the reader settle that
 * run.
 */
function isBehindPause(home: Home, now: TopicNow): boolean {
  return startsAt(home) < now.pauseBound && (isPaused(now) || home.state === "scheduled");
}

/** Writes the notes of jobs for the next release. A note that exists means the same, and stays. Answers the notes that this call wrote. */
async function noteParked(ctx: Context, homes: readonly Home[], by: number): Promise<Map<Home, Parked>> {
  const notes = homes.map((home): Parked => {
    const { id, revision, expiresAfter } = home;
    const last = expiresAfter === undefined ? {} : { last: lastStart(home) };
    return { ...parkedKey(home), v: ITEM_VERSION, id, revision, ...last };
  });
  // rule: parked-job-has-a-note
  const outcomes = await ctx.pool.insert(notes, by);
  for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
  const own = new Map<Home, Parked>();
  for (const [i, note] of notes.entries()) if (outcomes[i] === "inserted") own.set(homes[i] as Home, note);
  return own;
}

/** Removes notes, and answers whether this succeeded. Notes that stay make a release send the jobs again, in messages that are void. */
export async function removeNotes(ctx: Context, topic: string, notes: readonly Parked[]): Promise<boolean> {
  if (notes.length === 0) return true;
  try {
    await ctx.pool.remove(notes, ctx.clock() + BATCH_PATIENCE);
    return true;
  } catch (error) {
    ctx.report({ type: "trouble", topic, what: "removing notes", error: messageOf(error) });
    return false;
  }
}

/** Parks jobs that a pause holds and whose messages a consumer has received. Void messages are left out. */
export async function parkReceived(
  ctx: Context,
  { topic, pauseBound }: TopicNow,
  jobs: readonly MessageJob[],
): Promise<Deferred> {
  const { homes, unread } = await readHomesStartingBefore(ctx, jobs, pauseBound);
  const { parked, spare } = await park(ctx, topic, homes);
  // These jobs need no note: their messages are with the consumer.
  await removeNotes(ctx, topic, [...spare.values()]);
  return { done: parked, unread };
}

/**
 * Reads the homes of the jobs that start before a time. Answers only homes that wait or have crashed, in the revision of their messages.
 * Reports unreadable jobs.
 * @param before ms since the epoch
 * @returns `unread`: the ids of the jobs whose homes cannot be read for now
 */
export async function readHomesStartingBefore(
  ctx: Context,
  jobs: readonly MessageJob[],
  before: number,
): Promise<{ homes: Home[]; unread: Set<string> }> {
  const held = jobs.filter((job) => startOf(job) < before);
  if (held.length === 0) return { homes: [], unread: new Set() };
  const now = ctx.clock();
  const homes: Home[] = [];
  const unread = new Set<string>();
  const unreadable: Unreadable[] = [];
  for (const [{ id, revision }, read] of await readHomesApart(ctx, held)) {
    if (read.is === "unknown") unread.add(id);
    else if (read.is === "unreadable") unreadable.push(read.home);
    else if (
      read.is === "found" &&
      read.value.revision === revision &&
      !isFinished(read.value) &&
      !isRunning(read.value, now)
    )
      homes.push(read.value);
  }
  reportUnreadable(ctx, "parking jobs", unreadable);
  return { homes, unread };
}

/**
 * Counts the parked jobs of a topic in its first `shards` shards that were due before a position. The answer 1,000 means 1,000 or more.
 * Jobs that were cancelled or changed meanwhile count until a release reads their notes.
 */
export async function countParked(
  ctx: Context,
  topic: string,
  shards: number,
  before: Position = END,
): Promise<number> {
  const ids = new Set<string>();
  for (let shard = 0; shard < shards && ids.size < COUNT_TO; shard++) {
    const { items } = await ctx.pool.page(parkedIn(topic, shard), BEGINNING, before, COUNT_TO);
    // Each call that changes a parked job leaves a note behind.
    for (const item of items) ids.add("id" in item ? item.id : item.sk);
  }
  return Math.min(ids.size, COUNT_TO);
}
