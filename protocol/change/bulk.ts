import {
  BULK_PART,
  CLOCK_MARGIN,
  KNOWN_CALLS,
  LONGEST_DELAY,
  ONCE_AFTER,
  PAGE_JOBS,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { isFinished, isNextRevision, startsAt } from "../../core/home.ts";
import { type Begun, begunKey, type Head, ITEM_VERSION, sortable, timeOf, ttl } from "../../core/items.ts";
import { drawToken } from "../../core/job-id.ts";
import type { CallMark } from "../../core/once.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import { isUnreadable } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import { knownFollowedAt } from "../gate/known-pauses.ts";
import { openingOf } from "../gate/start-gate.ts";
import type { Context } from "../ports.ts";
import { deadPage } from "../read/dead-jobs.ts";
import { type JobPage, listJobs } from "../read/list.ts";
import { readHeads } from "../store/read-job.ts";
import { requireReadable } from "../store/unreadable.ts";
import { differentRequest } from "./calls.ts";
import { cancelMany } from "./cancel.ts";
import { redriveAsRead, sendMovedAgain } from "./redrive.ts";
import { expectNotCancelled, expectUnclaimed, refusalOf } from "./refusals.ts";
import { reschedule } from "./reschedule.ts";

export type BulkAction = "cancel" | "move" | "run" | "redrive";

/** What a bulk does, and to which jobs of a topic. */
export type BulkRequest = {
  action: BulkAction;
  topic: string;
  tag?: string;
  group?: string;
  /** Counts the jobs, and changes none. */
  dryRun: boolean;
  /** Spreads the starts of the jobs that are moved, run or redriven: at most this many a second. */
  ratePerSecond?: number;
};

/**
 * The state of a bulk between two of its calls. The caller gets this state and sends it with the next call. Times are ms since the
 * epoch.
 */
export type Bulk = {
  /** The mark that the bulk writes into the jobs that it cancels, moves or runs. A redrive writes no mark. */
  id: string;
  startedAt: number;
  /** The range of due times: `from ≤ dueAt < to`. For a redrive, the range of the times of death. */
  from: number;
  to: number;
  /** How far the bulk has gone. */
  position: Position;
  /** The start of all jobs that the bulk moves. At a rate, the first start that the bulk has not given yet. */
  nextAt: number;
};

/** What one part of a bulk has done. */
export type BulkPart = {
  /** How many jobs were compared with the request. */
  examined: number;
  matched: number;
  /** How many jobs this call, or an earlier call of the same part, has changed. */
  changed: number;
  /** How many jobs were refused, by the code of the error. */
  skipped: Record<string, number>;
  /** The first ten refusals. */
  errors: { id: string; error: MinutehandError }[];
  /** The bulk has gone through all jobs before this time, in ms since the epoch. */
  reached: number;
  /** Where the next part begins. Absent: the bulk is over. */
  next?: Bulk;
};

const WIDTH = 8;
const ERRORS = 10;
/**
 * A part stops reading pages when it holds `HELD` times as many jobs as it may change. It reads more jobs than it may change,
 * because an earlier call may have changed most of them already.
 */
const HELD = 4;
const SENDING_AGAIN = "sending jobs that a bulk has moved";
const BULK_ID_CHARS = 8;

/**
 * Makes a new bulk. Stores nothing. The range of a redrive ends now at the latest, so that a redriven job that dies again is not
 * redriven twice.
 *
 * @param dueAt the start of the jobs, in ms since the epoch; absent: now
 */
export function beginBulk(
  ctx: Context,
  action: BulkAction,
  range: { from: number; to: number },
  dueAt?: number,
): Bulk {
  const id = drawToken(ctx.random).slice(0, BULK_ID_CHARS);
  const startedAt = ctx.clock();
  const to = action === "redrive" ? Math.min(range.to, startedAt) : range.to;
  const from = Math.min(range.from, to);
  return { id, startedAt, from, to, position: beforeTime(from), nextAt: dueAt ?? startedAt };
}

/**
 * Begins a bulk of a call with an `Idempotency-Key`. Answers the bulk as the first try of the call has begun it, so that a repeat
 * leaves alone the jobs that others have filed since the first try. The beginning is noted for a day.
 *
 * @throws `idempotency-mismatch`; `unavailable`: the call must be repeated
 */
export async function beginRepeatableBulk(
  ctx: Context,
  topic: string,
  call: CallMark,
  bulk: Bulk,
): Promise<Bulk> {
  const key = begunKey(topic, call.key);
  const { id, startedAt, from, to, nextAt } = bulk;
  const noted = {
    request: call.request,
    bulk: id,
    startedAt,
    from,
    to,
    nextAt,
    expiresAt: ttl(startedAt + ONCE_AFTER),
  };
  const by = ctx.clock() + WRITER_DEADLINE;
  const [outcome] = await ctx.pool.insert([{ ...key, v: ITEM_VERSION, ...noted }], by);
  if (outcome instanceof Error) throw outcome;
  if (outcome === "inserted") return bulk;
  const [read] = (await ctx.pool.read([key])) as [Begun | undefined];
  const begun = requireReadable(read, "the beginning of this bulk");
  // A note that is older than a day may still be there, because TTL deletes days late. It is replaced.
  if (!begun || begun.expiresAt * 1000 <= startedAt) {
    const expect = { expiresAt: begun?.expiresAt };
    const changed = await ctx.pool.change({ key, expect, set: noted }, by);
    if (!changed.changed)
      throw new MinutehandError("unavailable", "another call began the same bulk at the same time");
    return bulk;
  }
  if (begun.request !== call.request) throw differentRequest({});
  return {
    id: begun.bulk,
    startedAt: begun.startedAt,
    from: begun.from,
    to: begun.to,
    nextAt: begun.nextAt,
    position: beforeTime(begun.from),
  };
}

/**
 * Runs one part of a bulk: changes at most 500 jobs, for about 5 s. Each job is changed on its own, by the call that a user would
 * make for this job.
 *
 * A part can be called again. The repeat changes the jobs that are left, and goes on after them:
 * - Jobs that carry this bulk's mark are left alone. They count as changed, in the part in which they were due before the change.
 * - Jobs that others have filed or moved since the bulk began are left alone too, and do not count.
 * - At a rate, the jobs that are left get starts which an earlier call has not given. A redrive finds no trace of the jobs that it
 *   has redriven. So it does not count them, and gives their starts a second time.
 * - Near jobs that an earlier call has moved are sent once more: that call may have died before it sent them.
 *
 * @param begun where the part begins: what `beginBulk` or the part before has answered
 */
export async function runBulk(ctx: Context, request: BulkRequest, begun: Bulk): Promise<BulkPart> {
  const bulk = await startAfterResume(ctx, request, begun);
  const part: BulkPart = {
    examined: 0,
    matched: 0,
    changed: 0,
    skipped: {},
    errors: [],
    reached: bulk.to,
  };
  const until = ctx.clock() + BULK_PART;
  // The reads get half of the time, so that the other half is left for the changes.
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
    if (!request.dryRun) await sendMovedAgain(ctx, movedBefore(page, request, at), SENDING_AGAIN);
    const earlier = changedBefore(page, request, at);
    part.examined += page.examined;
    part.matched += earlier + matched.length - results.filter((result) => result === "left").length;
    part.changed += earlier + results.filter((result) => result === "changed").length;
    noteSkipped(part, matched, refused);
    noteSkipped(part, changeable, results);
    if (page.cursor === undefined) return part;
    at = { ...at, position: page.cursor, nextAt: turns.nextAt() };
    if (part.matched >= ctx.sizes.bulkJobs || ctx.clock() >= until) break;
  }
  return { ...part, reached: timeOf(at.position), next: at };
}

/**
 * Lets the starts of a bulk with a rate begin when consumers have followed a resume. Jobs with earlier starts would all run at
 * once.
 */
async function startAfterResume(
  ctx: Context,
  { topic, ratePerSecond }: BulkRequest,
  bulk: Bulk,
): Promise<Bulk> {
  if (ratePerSecond === undefined) return bulk;
  return { ...bulk, nextAt: Math.max(bulk.nextAt, await knownFollowedAt(ctx, topic)) };
}

/**
 * Reads all pages of a part before any job is changed: an earlier call of the same part may have given starts to jobs of any
 * page, and this call should not give these starts again. If many jobs were filed since that call, the part is full before all
 * these starts are seen, and some of them are given twice. The first page is always read, and no other after `until` (ms since the
 * epoch).
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

function pageOf(ctx: Context, request: BulkRequest, at: Bulk, limit: number): Promise<JobPage> {
  const { action, topic, tag, group } = request;
  const filter = { topic, ...(tag === undefined ? {} : { tag }), ...(group === undefined ? {} : { group }) };
  const { from, to, position: cursor } = at;
  if (action === "redrive") return deadPage(ctx, { ...filter, limit, cursor, before: beforeTime(to) });
  return listJobs(ctx, { ...filter, limit, from, to, cursor });
}

/** Answers the jobs of a page that the bulk changes. A change may still be refused. */
function matchedOf({ homes }: JobPage, { action }: BulkRequest, at: Bulk): Head[] {
  return homes.filter((home) => isFor(action, home, at.startedAt) && isFromBefore(home, at));
}

/**
 * Says whether an action applies to a job. Only dead jobs are redriven, and only unfinished jobs are changed otherwise. `run` skips
 * jobs that may start already.
 */
function isFor(action: BulkAction, home: Head, now: number): boolean {
  if (action === "run" && home.state === "scheduled" && startsAt(home) <= now) return false;
  return isFinished(home) === (action === "redrive");
}

/**
 * Says whether neither this bulk nor anybody else has changed a job since the bulk began. The bulk's own changes are known by their
 * marks, and not by clocks. Changes of others count from `CLOCK_MARGIN` after the beginning: a job that was filed just before it,
 * by a clock that is ahead, must not be left out.
 */
function isFromBefore({ bulk, askedAt, createdAt }: Head, { id, startedAt }: Bulk): boolean {
  return !marksIn(bulk).some((mark) => mark.id === id) && (askedAt ?? createdAt) <= startedAt + CLOCK_MARGIN;
}

/**
 * The mark of a bulk in the home of a job that it has changed. `dueAt`: when the job was due before that, in ms since the epoch.
 */
type Mark = { readonly id: string; readonly dueAt: number };

/** Answers the marks that a home has, the newest first. */
function marksIn(bulk = ""): Mark[] {
  return [...bulk.matchAll(/(\S+) (\d+)/g)].map(([, id = "", dueAt]) => ({ id, dueAt: Number(dueAt) }));
}

/**
 * Answers the marks of a job's home once this bulk has changed the job. Earlier marks stay, because a call of an earlier bulk may
 * be repeated.
 */
function marked({ dueAt, bulk }: Head, { id }: Bulk): string {
  const marks = [{ id, dueAt }, ...marksIn(bulk)].slice(0, KNOWN_CALLS);
  return marks.map((mark) => `${mark.id} ${mark.dueAt}`).join(" ");
}

/** Says whether this bulk has changed a job since it was read. `now`: the job's home as it is now. */
function isChangedBy({ id }: Bulk, { dueAt }: Head, now: Pick<Head, "bulk">): boolean {
  return marksIn(now.bulk).some((mark) => mark.id === id && mark.dueAt === dueAt);
}

/** Answers how many jobs that were due on this page an earlier call of this part has changed. */
function changedBefore({ homes, gone, cursor }: JobPage, { action }: BulkRequest, at: Bulk): number {
  // A cancelled job counts only if the bulk cancels.
  const found = [...homes, ...gone].filter(
    (home) => isMarkedHere(home, at, cursor) && (action === "cancel") === (home.state === "cancelled"),
  );
  return new Set(found.map(({ id }) => id)).size;
}

/**
 * Says whether the bulk has changed a job while the job was due on this page. If a marked job on this page was due elsewhere
 * before, the bulk itself has moved the job here.
 */
function isMarkedHere({ id, bulk }: Head, at: Bulk, cursor: Position | undefined): boolean {
  const places = marksIn(bulk).flatMap((mark) => (mark.id === at.id ? `${sortable(mark.dueAt)}#${id}` : []));
  return places.some((place) => place > at.position && place < (cursor ?? beforeTime(at.to)));
}

/**
 * Answers the jobs that were due on this page and that an earlier call of this part has moved. For a redrive: the jobs of any
 * redrive that has not removed the dead entry yet.
 */
function movedBefore({ homes, gone, cursor }: JobPage, { action }: BulkRequest, at: Bulk): Head[] {
  if (action === "cancel") return [];
  if (action === "redrive") return gone;
  const found = [...homes, ...gone].filter((home) => isMarkedHere(home, at, cursor));
  return [...new Map(found.map((home) => [home.id, home])).values()];
}

/** Answers why a job, as it was read, cannot be changed. `undefined`: it can be changed, as far as the bulk knows. */
function refusal(action: BulkAction, home: Head, now: number): MinutehandError | undefined {
  if (action === "redrive") return undefined;
  return refusalOf(home, now, action === "cancel" ? expectUnclaimed : expectNotCancelled);
}

/** Answers the starts that an earlier call of this part has given to jobs of this page, in ms since the epoch. */
function startsTaken({ homes, gone }: JobPage, { id, nextAt }: Bulk): number[] {
  const moved = [...homes, ...gone].filter(
    ({ bulk, wantedAt }) => marksIn(bulk)[0]?.id === id && wantedAt >= nextAt,
  );
  return moved.map(({ wantedAt }) => wantedAt);
}

/** Gives jobs their starts, one after the other. Times are ms since the epoch. */
type Turns = {
  /** The starts of the next `count` jobs, without taken ones and without starts before `now`. */
  next: (now: number, count: number) => number[];
  /** The first start that later parts may give. */
  nextAt: () => number;
};

/**
 * Makes the starts of a part, without the starts that an earlier call of the same part has `taken`. At a rate, starts are
 * numbered slots, `interval` ms apart. All of them lie in the topic's window: jobs with starts outside the window would all start
 * at its next opening. However slow the rate, no start is more than `LONGEST_DELAY` after the bulk's beginning, as no job may be
 * due later.
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
  // The slots are the same as in the earlier call of this part. Otherwise the starts of both calls would mix, at twice the rate.
  const origin = begun > nextAt ? (taken[0] ?? begun) : nextAt;
  const latest = startedAt + LONGEST_DELAY;
  const timeOf = (slot: number): number => Math.min(origin + slot * interval, latest);
  const slotAt = (time: number): number => Math.ceil((Math.max(nextAt, time) - origin) / interval);
  const used = new Set(taken.map((time) => Math.round((time - origin) / interval)));
  /** The first slot at or after this one that lies in the topic's window. */
  const openSlot = (slot: number): number => {
    const opening = openingOf(ctx, topic, timeOf(slot));
    return opening > timeOf(slot) && opening <= latest ? slotAt(opening) : slot;
  };
  const first = slotAt(begun);
  let slot = first;
  let given = 0;
  return {
    next(now, count) {
      const starts: number[] = [];
      for (slot = Math.max(slot, slotAt(now)); starts.length < count; slot += 1) {
        slot = openSlot(slot);
        if (!used.has(slot)) starts.push(Math.round(timeOf(slot)));
      }
      given += count;
      return starts;
    },
    nextAt() {
      // The count begins at the first slot, and not at the last used slot, because somebody may since have moved the job of that
      // slot far ahead. The count skips slots outside the window, because no start lies there.
      let next = first;
      const count = given + [...used].filter((one) => one >= first).length;
      for (let i = 0; i < count; i++) next = openSlot(next) + 1;
      next = Math.max(slot, next);
      while (used.has(next)) next++;
      return Math.ceil(timeOf(next));
    },
  };
}

/** The outcome of one job. `left`: somebody else has changed the job since it was read, so the bulk left it alone. */
type Result = "changed" | "left" | MinutehandError;

/**
 * Changes jobs, each on its own, and answers their outcomes in the same order. `starts`: when the jobs start, in the same order.
 */
async function changeAll(
  ctx: Context,
  { action }: BulkRequest,
  bulk: Bulk,
  homes: readonly Head[],
  starts: readonly number[],
): Promise<Result[]> {
  const asked = new Map(homes.map(({ id, askedAt }) => [id, askedAt]));
  // `askedAt` is compared for equality, too: if another process with a clock that is behind changes the job after it was read, the
  // new `askedAt` may lie before the bulk began.
  const spares = (home: Head): boolean => !isFromBefore(home, bulk) || home.askedAt !== asked.get(home.id);
  if (action === "cancel") {
    const results = await cancelMany(
      ctx,
      homes.map(({ id }) => id),
      spares,
      new Map(homes.map((home) => [home.id, marked(home, bulk)])),
    );
    // Another caller may have cancelled the job since it was read. Then the job does not carry the mark.
    return results.map((result, i) => {
      if (result instanceof MinutehandError) return result;
      return isChangedBy(bulk, homes[i] as Head, result) ? "changed" : "left";
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
    (home, now) => (action === "redrive" ? isNextRevision(now, home.revision) : isChangedBy(bulk, home, now)),
  );
  return results.map((result, i) => (changed.has(homes[i]?.id ?? "") ? "changed" : result));
}

function isUnavailable(result: Result | undefined): boolean {
  return result instanceof MinutehandError && result.code === "unavailable";
}

/**
 * Reads the jobs whose change got no answer. Sends the jobs that were changed all the same, because a change without an answer has
 * sent no message. Answers the ids of these jobs.
 */
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
    await sendMovedAgain(ctx, changed, SENDING_AGAIN);
    return new Set(changed.map(({ id }) => id));
  } catch (error) {
    // The jobs keep their `unavailable`, and the caller may repeat the part.
    const topic = homes[0]?.topic ?? "";
    ctx.report({ type: "trouble", topic, what: SENDING_AGAIN, error: messageOf(error) });
    return new Set();
  }
}

/** Redrives one job. If the job is still dead at the same revision afterwards, its key names another job. */
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

/** Counts the refusals among these outcomes in the part. */
function noteSkipped(part: BulkPart, homes: readonly Head[], results: readonly (Result | undefined)[]): void {
  for (const [i, error] of results.entries()) {
    const id = homes[i]?.id;
    if (!(error instanceof MinutehandError) || id === undefined) continue;
    part.skipped[error.code] = (part.skipped[error.code] ?? 0) + 1;
    if (part.errors.length < ERRORS) part.errors.push({ id, error });
  }
}
