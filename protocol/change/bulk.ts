import {
  BULK_PART,
  CLOCK_MARGIN,
  KNOWN_CALLS,
  LONGEST_DELAY,
  ONCE_AFTER,
  PAGE_JOBS,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { MinutehandError, messageOf, notFiled } from "../../core/errors.ts";
import { isFinished, isOwed, startsAt } from "../../core/home.ts";
import { type Begun, begunKey, type Head, ITEM_VERSION, sortable, timeOf, ttl } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import { isUnreadable } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import { knownFollowedAt } from "../gate/known-pauses.ts";
import { openingOf } from "../gate/start-gate.ts";
import type { Context } from "../ports.ts";
import { deadPage } from "../read/dead-jobs.ts";
import { type JobPage, listJobs } from "../read/list.ts";
import { readHeads } from "../store/read-job.ts";
import { readable } from "../store/unreadable.ts";
import { cancelMany, isDoubtful } from "./cancel.ts";
import { redriveAsRead, sendAgain } from "./redrive.ts";
import { expectNotCancelled, expectUnclaimed, refusalOf } from "./refusals.ts";
import { reschedule } from "./reschedule.ts";

export type BulkAction = "cancel" | "move" | "run" | "redrive";

/** What is done to which jobs of a topic. */
export type BulkRequest = {
  action: BulkAction;
  topic: string;
  tag?: string;
  group?: string;
  /** Only counts. */
  dryRun: boolean;
  /** Spreads the starts of what is moved, run or redriven: at most this many a second. */
  ratePerSecond?: number;
};

/** A bulk between two of its calls. ms since the epoch. */
export type Bulk = {
  /** Marks what it has moved. */
  id: string;
  startedAt: number;
  /** `from ≤ dueAt < to`; of the dead, when they died. */
  from: number;
  to: number;
  position: Position;
  /** When what it moves starts; at a rate, the first start that it has not given yet. */
  nextAt: number;
};

export type BulkPart = {
  examined: number;
  matched: number;
  changed: number;
  /** How many stay as they are, by the code of what stands in the way. */
  skipped: Record<string, number>;
  /** The first ten of them. */
  errors: { id: string; error: MinutehandError }[];
  /** All up to here has been gone through, ms since the epoch. */
  reached: number;
  /** Absent when it is over. */
  next?: Bulk;
};

const WIDTH = 8;
const ERRORS = 10;
/** A part stops reading pages when they hold this many times as many jobs as it changes: most may be changed already. */
const HELD = 4;
const SENDING_AGAIN = "sending what a bulk has moved";
export const BULK_ID_CHARS = 8;

/**
 * `dueAt`: where a move is to. Who dies later has died of something else. `id`: 8 characters,
 * the same where the same call begins its bulk again, as it got no answer.
 */
export function beginBulk(
  ctx: Context,
  action: BulkAction,
  range: { from: number; to: number },
  { dueAt, id = drawToken(ctx.random).slice(0, BULK_ID_CHARS) }: { dueAt?: number; id?: string } = {},
): Bulk {
  const startedAt = ctx.clock();
  const to = action === "redrive" ? Math.min(range.to, startedAt) : range.to;
  const from = Math.min(range.from, to);
  return { id, startedAt, from, to, position: beforeTime(from), nextAt: dueAt ?? startedAt };
}

/**
 * The bulk that this call begins, as its first try has begun it: later tries leave alone what others have filed since that one.
 * It is noted for a day.
 */
export async function beginOnce(ctx: Context, topic: string, bulk: Bulk): Promise<Bulk> {
  const key = begunKey(topic, bulk.id);
  const { startedAt, from, to, nextAt } = bulk;
  const noted = { startedAt, from, to, nextAt, expiresAt: ttl(startedAt + ONCE_AFTER) };
  const by = ctx.clock() + WRITER_DEADLINE;
  const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION, ...noted }], by);
  if (outcome instanceof Error) throw outcome;
  if (outcome === "inserted") return bulk;
  const [read] = (await ctx.pool.read([key])) as [Begun | undefined];
  const begun = readable(read, "what this call began before");
  // TTL deletes days late.
  if (!begun || begun.expiresAt * 1000 <= startedAt) {
    const expect = { expiresAt: begun?.expiresAt };
    const changed = await ctx.pool.change({ key, expect, set: noted }, by);
    if (!changed.changed) throw notFiled(new Error("the same bulk was being begun elsewhere"));
    return bulk;
  }
  return {
    ...bulk,
    startedAt: begun.startedAt,
    from: begun.from,
    to: begun.to,
    nextAt: begun.nextAt,
    position: beforeTime(begun.from),
  };
}

/**
 * One part of a bulk: at most 500 jobs, and about 5 s. Each job is changed by itself, as its caller would. The same part
 * again changes what is left of it, and goes on behind: what is marked as this bulk's is left alone and counted where it was
 * due, as is what others have filed or moved since the bulk began, which is not. At a rate what is left starts when nothing does
 * that was moved before; not so in a redrive, which finds no trace of those: it does not count them, and as many jobs as it has
 * redriven before start at the same times as they. What was moved before and is near is sent once more: the call that moved it
 * may have died before it sent it.
 */
export async function runBulk(ctx: Context, request: BulkRequest, begun: Bulk): Promise<BulkPart> {
  const bulk = await behindResume(ctx, request, begun);
  const part: BulkPart = {
    examined: 0,
    matched: 0,
    changed: 0,
    skipped: {},
    errors: [],
    reached: bulk.to,
  };
  const until = ctx.clock() + BULK_PART;
  const pages = await pagesOf(ctx, request, bulk, until - BULK_PART / 2);
  const taken = pages.flatMap((page) => startsTaken(page, bulk));
  const turns = turnsOf(ctx, request, bulk, taken);
  let at = bulk;
  for (const page of pages) {
    const matched = matchedOf(page, request, at);
    const now = ctx.clock();
    const refused = matched.map((home) => refusal(request.action, home, now));
    const changeable = matched.filter((_, i) => refused[i] === undefined);
    const starts = turns.next(now, changeable.length);
    const results = request.dryRun ? [] : await changeAll(ctx, request, at, changeable, starts);
    if (!request.dryRun) await sendAgain(ctx, movedBefore(page, request, at), SENDING_AGAIN);
    const before = await changedBefore(ctx, page, request, at);
    part.examined += page.examined;
    part.matched += before + matched.length - results.filter((result) => result === "left").length;
    part.changed += before + results.filter((result) => result === "changed").length;
    noteSkipped(part, matched, refused);
    noteSkipped(part, changeable, results);
    if (page.cursor === undefined) return part;
    at = { ...at, position: page.cursor, nextAt: turns.nextAt() };
    if (part.matched >= ctx.sizes.bulkJobs || ctx.clock() >= until) break;
  }
  return { ...part, reached: timeOf(at.position), next: at };
}

/**
 * Reads all pages of a part. They are read before anything is changed, since an earlier call of the same part may have given
 * starts to jobs of any page, and no start is given twice. A part that is full ends before it has seen all such starts, where
 * many jobs were filed since: then as many more may start at once. The first page is always read; no other after `until` (ms
 * since the epoch).
 */
async function pagesOf(ctx: Context, request: BulkRequest, bulk: Bulk, until: number): Promise<JobPage[]> {
  const pages: JobPage[] = [];
  let matched = 0;
  let held = 0;
  for (let at = bulk; ; ) {
    const page = await pageOf(ctx, request, at, Math.min(ctx.sizes.bulkJobs - matched, PAGE_JOBS));
    pages.push(page);
    matched += matchedOf(page, request, at).length;
    held += page.homes.length + page.gone.length;
    const isEnough = matched >= ctx.sizes.bulkJobs || held >= HELD * ctx.sizes.bulkJobs;
    if (page.cursor === undefined || isEnough || ctx.clock() >= until) return pages;
    at = { ...at, position: page.cursor };
  }
}

/** A bulk whose rate begins when consumers have followed a resume: before, all its starts would come at once. */
async function behindResume(ctx: Context, { topic, ratePerSecond }: BulkRequest, bulk: Bulk): Promise<Bulk> {
  if (ratePerSecond === undefined) return bulk;
  return { ...bulk, nextAt: Math.max(bulk.nextAt, await knownFollowedAt(ctx, topic)) };
}

function pageOf(ctx: Context, request: BulkRequest, at: Bulk, limit: number): Promise<JobPage> {
  const { action, topic, tag, group } = request;
  const filter = { topic, ...(tag === undefined ? {} : { tag }), ...(group === undefined ? {} : { group }) };
  const { from, to, position: cursor } = at;
  if (action === "redrive") return deadPage(ctx, { ...filter, limit, cursor, before: beforeTime(to) });
  return listJobs(ctx, { ...filter, limit, from, to, cursor });
}

/** The jobs of a page that a bulk is about. */
function matchedOf({ homes }: JobPage, { action }: BulkRequest, at: Bulk): Head[] {
  return homes.filter((home) => isFor(action, home, at.startedAt) && isFromBefore(home, at));
}

/** The dead are redriven, and only what has not ended is anything else. What may start already needs no `run`. */
function isFor(action: BulkAction, home: Head, now: number): boolean {
  if (action === "run" && home.state === "scheduled" && startsAt(home) <= now) return false;
  return isFinished(home) === (action === "redrive");
}

/**
 * Whether a job is as it was when the bulk began. Its own moves are marked, so that no clock decides; others' count
 * from `CLOCK_MARGIN` on, or what was filed just before by a clock that is ahead would be left out.
 */
function isFromBefore({ bulk, askedAt, createdAt }: Head, { id, startedAt }: Bulk): boolean {
  return !marksIn(bulk).some((mark) => mark.id === id) && (askedAt ?? createdAt) <= startedAt + CLOCK_MARGIN;
}

/** A bulk that has changed a job, and when the job was due until then, ms since the epoch. */
type Mark = { readonly id: string; readonly dueAt: number };

/** The marks that a home has, the newest first. */
function marksIn(bulk = ""): Mark[] {
  return [...bulk.matchAll(/(\S+) (\d+)/g)].map(([, id = "", dueAt]) => ({ id, dueAt: Number(dueAt) }));
}

/**
 * What the home of a job says when this bulk changes it where it is due now. The marks before stay: a call of an earlier bulk
 * may come again.
 */
function marked({ dueAt, bulk }: Head, { id }: Bulk): string {
  const marks = [{ id, dueAt }, ...marksIn(bulk)].slice(0, KNOWN_CALLS);
  return marks.map((mark) => `${mark.id} ${mark.dueAt}`).join(" ");
}

/** Whether this bulk has changed a job where it was due as it was read. */
function isChangedBy({ id }: Bulk, { dueAt }: Head, now: Pick<Head, "bulk">): boolean {
  return marksIn(now.bulk).some((mark) => mark.id === id && mark.dueAt === dueAt);
}

/** How many jobs that were due on this page the bulk has changed already: in a call of this part whose answer was lost. */
async function changedBefore(
  ctx: Context,
  { homes, gone, cursor }: JobPage,
  { action }: BulkRequest,
  at: Bulk,
): Promise<number> {
  // A cancel that came too late for an untracked job was undone.
  const found = [...homes, ...gone].filter(
    (home) => isMarkedHere(home, at, cursor) && (action === "cancel") === (home.state === "cancelled"),
  );
  const changed = new Set(found.map(({ id }) => id));
  // Or it is not known yet whether it came too late.
  const doubtful = found.filter(isDoubtful).map(({ id }) => id);
  const settled = doubtful.length > 0 ? await cancelMany(ctx, doubtful) : [];
  for (const [i, id] of doubtful.entries()) if (settled[i] instanceof Error) changed.delete(id);
  return changed.size;
}

/** Whether a bulk has changed a job that was due on this page. What it meets at another place it has moved there itself. */
function isMarkedHere({ id, bulk }: Head, at: Bulk, cursor: Position | undefined): boolean {
  const places = marksIn(bulk).flatMap((mark) => (mark.id === at.id ? `${sortable(mark.dueAt)}#${id}` : []));
  return places.some((place) => place > at.position && place < (cursor ?? beforeTime(at.to)));
}

/**
 * The jobs that were due on this page and that a call of this part has moved before. Of the dead: those whose redrive, by
 * whomever, has not come to its end.
 */
function movedBefore({ homes, gone, cursor }: JobPage, { action }: BulkRequest, at: Bulk): Head[] {
  if (action === "cancel") return [];
  if (action === "redrive") return gone;
  const found = [...homes, ...gone].filter((home) => isMarkedHere(home, at, cursor));
  return [...new Map(found.map((home) => [home.id, home])).values()];
}

/** What stands in the way of a job's change, as far as the job as it was read says so. */
function refusal(action: BulkAction, home: Head, now: number): MinutehandError | undefined {
  if (action === "redrive") return undefined;
  if (action !== "cancel" && home.untracked) {
    const error = `job ${home.id} can only be cancelled: it was filed while its topic ${home.topic} was untracked`;
    return new MinutehandError("untracked-topic", error, { id: home.id });
  }
  return refusalOf(home, now, action === "cancel" ? expectUnclaimed : expectNotCancelled);
}

/** The starts that another call of this part has given to jobs of this page already. */
function startsTaken({ homes, gone }: JobPage, { id, nextAt }: Bulk): number[] {
  const moved = [...homes, ...gone].filter(
    ({ bulk, wantedAt }) => marksIn(bulk)[0]?.id === id && wantedAt >= nextAt,
  );
  return moved.map(({ wantedAt }) => wantedAt);
}

/** Gives jobs their starts, one after the other. ms since the epoch. */
type Turns = {
  /** The starts of the next `count` jobs: none that is taken, and none before `now`. */
  next: (now: number, count: number) => number[];
  /** The first start that is left for later parts. */
  nextAt: () => number;
};

/**
 * The starts of a part, without those that an earlier call of the same part has `taken`. They lie in the topic's window: the
 * window would let all starts outside it go at its next opening, at once. However slow the rate, no start is later than a job may
 * be due.
 */
function turnsOf(
  ctx: Context,
  { topic, ratePerSecond }: BulkRequest,
  { startedAt, nextAt }: Bulk,
  taken: readonly number[],
): Turns {
  const begun = ctx.clock();
  if (ratePerSecond === undefined)
    return { next: (_, count) => new Array<number>(count).fill(nextAt), nextAt: () => nextAt };
  const interval = 1000 / ratePerSecond;
  // In step with the call before: starts of the two would lie between each other.
  const origin = begun > nextAt ? (taken[0] ?? begun) : nextAt;
  const latest = startedAt + LONGEST_DELAY;
  const timeOf = (slot: number): number => Math.min(origin + slot * interval, latest);
  const slotAt = (time: number): number => Math.ceil((Math.max(nextAt, time) - origin) / interval);
  const used = new Set(taken.map((time) => Math.round((time - origin) / interval)));
  const first = slotAt(begun);
  let slot = first;
  let given = 0;
  return {
    next(now, count) {
      const starts: number[] = [];
      for (slot = Math.max(slot, slotAt(now)); starts.length < count; ) {
        const opening = openingOf(ctx, topic, timeOf(slot));
        if (opening > timeOf(slot) && opening <= latest) slot = slotAt(opening);
        else {
          if (!used.has(slot)) starts.push(Math.round(timeOf(slot)));
          slot += 1;
        }
      }
      given += count;
      return starts;
    },
    nextAt() {
      // Not behind the last that is used: its job's caller may have moved it far ahead since.
      let next = Math.max(slot, first + given + [...used].filter((one) => one >= first).length);
      while (used.has(next)) next++;
      return Math.ceil(timeOf(next));
    },
  };
}

/** What became of a job: `left` is one that somebody else has changed since it was read. */
type Result = "changed" | "left" | MinutehandError;

async function changeAll(
  ctx: Context,
  { action }: BulkRequest,
  bulk: Bulk,
  homes: readonly Head[],
  starts: readonly number[],
): Promise<Result[]> {
  const asked = new Map(homes.map(({ id, askedAt }) => [id, askedAt]));
  // By no clock: one that is behind would say that a change since the reading was before the bulk.
  const spares = (home: Head): boolean => !isFromBefore(home, bulk) || home.askedAt !== asked.get(home.id);
  if (action === "cancel") {
    const results = await cancelMany(
      ctx,
      homes.map(({ id }) => id),
      spares,
      new Map(homes.map((home) => [home.id, marked(home, bulk)])),
    );
    return results.map((result) => {
      if (result instanceof MinutehandError) return result;
      return result.state === "cancelled" ? "changed" : "left";
    });
  }
  const results = await inParallel([...homes.entries()], WIDTH, async ([i, home]): Promise<Result> => {
    const dueAt = starts[i] as number;
    try {
      if (action === "redrive") return await redriveDead(ctx, home, dueAt);
      const moved = await reschedule(ctx, home.id, { dueAt, bulk: marked(home, bulk) }, spares);
      return isChangedBy(bulk, home, moved) ? "changed" : "left";
    } catch (error) {
      if (error instanceof MinutehandError) return error;
      throw error;
    }
  });
  const changed = await changedAfterAll(
    ctx,
    homes.filter((_, i) => isUnavailable(results[i])),
    (home, now) => (action === "redrive" ? isOwed(now, home.revision) : isChangedBy(bulk, home, now)),
  );
  return results.map((result, i) => (changed.has(homes[i]?.id ?? "") ? "changed" : result));
}

function isUnavailable(result: Result | undefined): boolean {
  return result instanceof MinutehandError && result.code === "unavailable";
}

/** Which jobs were changed though the answer was lost. Those are sent: whoever gets no answer sends nothing. */
async function changedAfterAll(
  ctx: Context,
  homes: readonly Head[],
  isChanged: (home: Head, now: Head) => boolean,
): Promise<Set<string>> {
  try {
    const found = await readHeads(
      ctx,
      homes.map(({ id }) => id),
    );
    const changed = found.filter(
      (now, i): now is Head => now !== undefined && !isUnreadable(now) && isChanged(homes[i] as Head, now),
    );
    await sendAgain(ctx, changed, SENDING_AGAIN);
    return new Set(changed.map(({ id }) => id));
  } catch (error) {
    // The caller is told that they are not known to be changed, and may repeat the part.
    const topic = homes[0]?.topic ?? "";
    ctx.report({ type: "trouble", topic, what: SENDING_AGAIN, error: messageOf(error) });
    return new Set();
  }
}

async function redriveDead(ctx: Context, home: Head, dueAt: number): Promise<Result> {
  if (await redriveAsRead(ctx, home, dueAt)) return "changed";
  const [now] = await readHeads(ctx, [home.id]);
  if (now?.state !== "dead" || now.revision !== home.revision) return "left";
  return new MinutehandError(
    "job-already-exists",
    `job ${home.id} was not redriven, because its key names another job by now`,
    {
      id: home.id,
    },
  );
}

function noteSkipped(part: BulkPart, homes: readonly Head[], results: readonly (Result | undefined)[]): void {
  for (const [i, error] of results.entries()) {
    const id = homes[i]?.id;
    if (!(error instanceof MinutehandError) || id === undefined) continue;
    part.skipped[error.code] = (part.skipped[error.code] ?? 0) + 1;
    if (part.errors.length < ERRORS) part.errors.push({ id, error });
  }
}
