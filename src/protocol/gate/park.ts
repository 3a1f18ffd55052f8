import { BATCH_PATIENCE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Head, type Home, isFinished, isRunning, lastStart, startsAt } from "../../core/home.ts";
import { parkedIn, parkedKey } from "../../core/item-keys.ts";
import { ITEM_VERSION, type Parked } from "../../core/items.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import { BEGINNING, END, type Position } from "../../core/position.ts";
import type { Unreadable } from "../../core/readable.ts";
import type { Context, Deadline } from "../ports.ts";
import { readHomesApart } from "../store/read-job.ts";
import { askUnlessSilent } from "../store/silence.ts";
import { reportUnreadable } from "../store/unreadable.ts";
import { isPaused, type TopicNow, topicJustNow, topicNow } from "./known-pauses.ts";
import { listLimited } from "./limited-topics.ts";

const askNotes = askUnlessSilent();
/** Jobs of other topics wait while a note is written: ms. */
const PATIENCE = 10_000;

export type Parking = {
  /** The ids of the jobs that are parked now. */
  readonly parked: ReadonlySet<string>;
  /** Notes, by the jobs' ids, of jobs that are not held after all. The caller deletes them once the jobs are sent. */
  readonly needless: ReadonlyMap<string, Parked>;
};

/** Jobs, by id, whose messages must not run them now. */
export type Deferred = {
  /** The jobs were parked, sent in new messages, or got looks. */
  readonly done: ReadonlySet<string>;
  /** The homes of these jobs cannot be read for now. */
  readonly unread: ReadonlySet<string>;
};

/** `countParked` stops here, so that it reads little. */
const COUNT_TO = 1000;

/** Writes a note for each job that the topic's pause holds, so that the resume releases it. @throws the error of the first unwritten note */
export async function park(ctx: Context, topic: string, homes: readonly Home[]): Promise<Parking> {
  // Counted from before the read: no note may be written when the pause is long over.
  const by = ctx.clock() + PATIENCE;
  const before = await topicNow(ctx, topic);
  const held = homes.filter((home) => isBehindPause(home, before));
  if (held.length === 0) return { parked: new Set(), needless: new Map() };
  const own = await askNotes(ctx, topic, () => noteParked(ctx, held, by));
  // A resume may have read the notes before this call wrote its own. A job with an earlier note stays parked: a release sends it.
  const after = await topicJustNow(ctx, topic);
  const parked = held.filter((home) => !own.has(home) || isBehindPause(home, after));
  if (parked.length > 0) ctx.report({ type: "parked", topic, jobs: parked.length });
  const needless = [...own].filter(([home]) => !parked.includes(home));
  return {
    parked: new Set(parked.map(({ id }) => id)),
    needless: new Map(needless.map(([{ id }, note]) => [id, note])),
  };
}

/** Parks jobs that get no start now, unless their homes were read too long ago (`by`). @throws the error of the first unwritten note */
export async function parkForLimit(
  ctx: Context,
  topic: string,
  homes: readonly Home[],
  by: Deadline,
): Promise<void> {
  if (homes.length === 0) return;
  // First, because ticks look for the notes of listed topics only.
  await listLimited(ctx, topic, by);
  await askNotes(ctx, topic, () => noteParked(ctx, homes, Math.min(by, ctx.clock() + PATIENCE)));
  ctx.report({ type: "parked", topic, jobs: homes.length });
}

/** A resume at a rate does not hold a job whose run crashed: its message only makes the reader settle that run. */
export function isBehindPause(home: Head, now: TopicNow): boolean {
  return startsAt(home) < now.pauseBound && (isPaused(now) || home.state === "scheduled");
}

/** A note that exists means the same, and stays. Answers the notes that this call wrote. */
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

/** `false`: notes are left. They make a release send the jobs again, in messages that are void. */
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

/** Parks jobs whose messages a consumer has received. Void messages are left out. */
export async function parkReceived(
  ctx: Context,
  { topic, pauseBound }: TopicNow,
  jobs: readonly MessageJob[],
): Promise<Deferred> {
  const { homes, unread } = await readHomesStartingBefore(ctx, jobs, pauseBound);
  const { parked, needless } = await park(ctx, topic, homes);
  // Their messages are with the consumer.
  await removeNotes(ctx, topic, [...needless.values()]);
  return { done: parked, unread };
}

/** Reads homes that start before a time, and wait or have crashed, as their messages say. `unread`: ids that cannot be read for now. */
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

/** Counts parked jobs that were due before a position, up to 1,000. Jobs that have changed count until a release reads their notes. */
export async function countParked(
  ctx: Context,
  topic: string,
  shards: number,
  before: Position = END,
): Promise<number> {
  const ids = new Set<string>();
  for (let shard = 0; shard < shards && ids.size < COUNT_TO; shard++) {
    const { items } = await ctx.pool.page(parkedIn(topic, shard), BEGINNING, before, COUNT_TO);
    // A parked job that is changed gets further notes.
    for (const item of items) ids.add("id" in item ? item.id : item.sk);
  }
  return Math.min(ids.size, COUNT_TO);
}
