import { LONGEST_DELAY, WRITER_DEADLINE } from "../../core/constants.ts";
import { isFinished, isRunning, lastStart, startsAt } from "../../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type Parked, parkedIn, parkedKey, ttl } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import { BEGINNING, END, type Position } from "../../core/position.ts";
import { isUnreadable, type Unreadable } from "../../core/readable.ts";
import type { Context, Deadline } from "../ports.ts";
import { readHomesApart } from "../store/read-job.ts";
import { askUnlessSilent } from "../store/silence.ts";
import { reportUnreadable } from "../store/unreadable.ts";
import { EVERYTHING, heldFromNow, pauseBound, pauseBounds, pauseBoundsNow } from "./known-pauses.ts";
import { listLimited } from "./limited-topics.ts";

/** By topic: writes of its notes. */
const askNotes = askUnlessSilent();
/** How long a note is tried: ms. Jobs of other topics wait for it. */
const PATIENCE = 10_000;

/** `parked`: the ids of jobs that wait now. `spare`: notes of others, which go on, by their ids: to be deleted when they have. */
export type Parking = { readonly parked: ReadonlySet<string>; readonly spare: ReadonlyMap<string, Parked> };

/**
 * Parks those of a topic's jobs that its pause holds: each is noted, and let go when its turn comes in the resume. Throws
 * what kept a job from being noted.
 */
export async function park(ctx: Context, topic: string, homes: readonly Home[]): Promise<Parking> {
  // Counted from before the reading: a note must not come when the pause is long over.
  const by = ctx.clock() + PATIENCE;
  const bounds = await pauseBounds(ctx, [topic]);
  const held = homes.filter((home) => isBehindPause(home, bounds));
  if (held.length === 0) return { parked: new Set(), spare: new Map() };
  const own = await askNotes(ctx, topic, () => noteParked(ctx, held, by));
  // A resume may have read the notes before these stood: what it let go meanwhile goes on from here.
  const boundsNow = await pauseBoundsNow(ctx, [topic]);
  const parked = held.filter((home) => isBehindPause(home, boundsNow));
  if (parked.length > 0) ctx.report({ type: "parked", topic, jobs: parked.length });
  // A note that was there before may be all that is left of a job that waits for its topic's limit.
  const spare = [...own].filter(([home]) => !parked.includes(home));
  return {
    parked: new Set(parked.map(({ id }) => id)),
    spare: new Map(spare.map(([{ id }, note]) => [id, note])),
  };
}

/**
 * Parks jobs of a topic that get no start of its limit now: the next release that finds one free lets them go. Throws what
 * kept a job from being noted. `by`: counted from when the homes were read. A later note could come when a release has let the
 * job go, and would have an untracked job sent twice.
 */
export async function parkForLimit(
  ctx: Context,
  topic: string,
  homes: readonly Home[],
  by: Deadline,
): Promise<void> {
  if (homes.length === 0) return;
  // First, or a tick of a deployment without this limit would not look for the notes. It stays for ever.
  await listLimited(ctx, topic, by);
  await askNotes(ctx, topic, () => noteParked(ctx, homes, Math.min(by, ctx.clock() + PATIENCE)));
  ctx.report({ type: "parked", topic, jobs: homes.length });
}

/** Notes jobs for the next release; a note that is there already says the same. Answers the notes of the jobs that had none. */
async function noteParked(ctx: Context, homes: readonly Home[], by: number): Promise<Map<Home, Parked>> {
  const now = ctx.clock();
  await keepUntracked(ctx, homes, by);
  const notes = homes.map((home): Parked => {
    const mark = home.untracked ? { mark: drawToken(ctx.random) } : {};
    const { id, revision, expiresAfter } = home;
    const last = expiresAfter === undefined ? {} : { last: lastStart(home) };
    return {
      ...parkedKey(home),
      v: ITEM_VERSION,
      id,
      revision,
      ...heldSince(ctx, home, now),
      ...last,
      ...mark,
    };
  });
  // rule: parked-job-has-a-note
  const outcomes = await ctx.pool.insert(notes, by);
  for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
  const own = new Map<Home, Parked>();
  for (const [i, note] of notes.entries()) if (outcomes[i] === "inserted") own.set(homes[i] as Home, note);
  await markAnew(
    ctx,
    notes.filter((_, i) => outcomes[i] === "exists"),
    by,
  );
  return own;
}

/** A late job is held from now on: what the job had lost before stays lateness. */
function heldSince(ctx: Context, home: Home, now: number): { from?: number; start?: number } {
  const [from, start] = [heldFromNow(ctx, home, now), startsAt(home)];
  return { ...(from > home.dueAt && { from }), ...(start > home.dueAt && { start }) };
}

/**
 * Makes the notes of untracked jobs those of a later parking: no audit finds such a job, and whoever wrote a note before, or
 * met it, may be deleting it just now.
 */
async function markAnew(ctx: Context, notes: readonly Parked[], by: number): Promise<void> {
  const marked = notes.filter(({ mark }) => mark !== undefined);
  const outcomes = await ctx.pool.changeMany(
    marked.map(({ pk, sk, mark = "" }) => ({ key: { pk, sk }, expect: {}, set: { mark } })),
    by,
  );
  for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
  const gone = marked.filter((_, i) => outcomes[i] === "refused");
  for (const outcome of await ctx.pool.insert(gone, by)) if (outcome instanceof Error) throw outcome;
}

/** A crashed run waits for no turn: it is not run but settled. */
function isBehindPause(home: Home, bounds: ReadonlyMap<string, number>): boolean {
  const before = bounds.get(home.topic);
  if (before === undefined || startsAt(home) >= before) return false;
  return before === EVERYTHING || home.state === "scheduled";
}

/** TTL takes an untracked home ten days past its time, and a pause may last longer. */
async function keepUntracked(ctx: Context, homes: readonly Home[], by: number): Promise<void> {
  const untracked = homes.filter((home) => home.untracked);
  const expiresAt = ttl(ctx.clock() + LONGEST_DELAY);
  const outcomes = await ctx.pool.changeMany(
    untracked.map(({ id, revision }) => {
      return { key: homeKey(id), expect: { state: "scheduled", revision }, set: { expiresAt } };
    }),
    by,
  );
  for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
}

/** Jobs whose messages do not run now, by their ids. `done`: parked, or sent anew. `unread`: their homes cannot be read for now. */
export type PutOff = { readonly done: ReadonlySet<string>; readonly unread: ReadonlySet<string> };

/** Parks jobs whose messages a paused topic's consumer has met, as far as their messages are their homes' word. */
export async function parkCarried(ctx: Context, topic: string, jobs: readonly MessageJob[]): Promise<PutOff> {
  const { homes, unread } = await homesBefore(ctx, jobs, await pauseBound(ctx, topic));
  const { parked, spare } = await park(ctx, topic, homes);
  // Their messages are there.
  await ctx.pool.remove([...spare.values()], ctx.clock() + WRITER_DEADLINE);
  return { done: parked, unread };
}

/** The homes of those of these jobs that start before a time, as far as their messages are their homes' word. */
export async function homesBefore(
  ctx: Context,
  jobs: readonly MessageJob[],
  before: number,
): Promise<{ homes: Home[]; unread: Set<string> }> {
  const held = jobs.filter((job) => startOf(job) < before);
  if (held.length === 0) return { homes: [], unread: new Set() };
  const now = ctx.clock();
  const found = await readHomesApart(
    ctx,
    held.map(({ id }) => id),
  );
  const homes: Home[] = [];
  const unread = new Set<string>();
  const unreadable: Unreadable[] = [];
  for (const [i, { id, revision }] of held.entries()) {
    const home = found[i];
    if (home instanceof Error) unread.add(id);
    else if (isUnreadable(home)) unreadable.push(home);
    else if (home?.revision === revision && !isFinished(home) && !isRunning(home, now)) homes.push(home);
  }
  reportUnreadable(ctx, "parking jobs", unreadable);
  return { homes, unread };
}

/** What is counted stops here: the answer is then at least that. */
const COUNT_TO = 1000;

/**
 * How many jobs of a topic are parked, counted up to 1,000, in as many `shards`; those that were cancelled or changed meanwhile
 * count until a release meets their notes. `before`: of those that were due before it.
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
    // Each call that changes a parked job leaves a note, until a release meets them.
    for (const item of items) ids.add("id" in item ? item.id : item.sk);
  }
  return Math.min(ids.size, COUNT_TO);
}
