import {
  CLOCK_MARGIN,
  FAILING_TOPIC_WAIT,
  LOOKAHEAD,
  UNKNOWN_TOPIC_AFTER,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { isMovedPast, isNear, startsAt } from "../../core/home.ts";
import { type Home, minuteOf, timeOf } from "../../core/items.ts";
import { lookAgainAt } from "../../core/look-again.ts";
import { BEGINNING, beforeTime, END, type Position } from "../../core/position.ts";
import { gapsOf, isUndone, partsIn, type Range } from "../../core/ranges.ts";
import { anyInParallel, inParallel } from "../../general/batches.ts";
import { isNamed } from "../policy.ts";
import type { Context, Sent } from "../ports.ts";
import { die } from "../run/die.ts";
import { fileLooksAbout } from "../store/looks.ts";
import { type Entry, type EntryPage, type PassedOver, pages } from "../store/pages.ts";
import { lookAtUnreadableAgain } from "../store/unreadable.ts";
import { ASKED_AT_ONCE, type Backlogs } from "./backlog.ts";
import { auditLimit, readCursor, type ShardCursor, sweepProgress } from "./cursor.ts";
import { type DueJob, type Handed, sendDue } from "./send-due.ts";

/** How many jobs that could not be handed over are worked on at once: each gets a look, or is recorded as dead. */
const FAILED_AT_ONCE = 8;

/**
 * How a sweep has ended:
 * - `done`: all its jobs are handed over. `isAuditDue`: whether an audit has anything to do.
 * - `left`: the jobs in `ranges` are not handed over. There was no time, or they are overdue and the new jobs of other shards come first.
 * - `stopped`: SQS as a whole does not answer, another sweep goes on with the shard, or looks were stored too late.
 */
export type Swept =
  | { readonly outcome: "done"; readonly isAuditDue: boolean }
  | { readonly outcome: "left"; readonly ranges: readonly Range[] }
  | typeof STOPPED;

const STOPPED = { outcome: "stopped" } as const;

/**
 * Hands over the jobs of one shard that are due in the present minute, or later and within `LOOKAHEAD` from now, page by page. Jobs of earlier
 * minutes are left to `sweepRest`, so that after an outage new jobs do not wait for them. A page's jobs are sent before the cursor records
 * the page. So after a crash the next sweep sends some jobs again: at most the jobs of 2,000 entries (`sizes.mark`) and a page, or of ten
 * seconds' work (`MARK_AFTER`). A minute that cannot be read is left to the next tick.
 *
 * @param until ms on the context's clock after which no page is begun
 * @param backlogs asked once for all shards of a tick
 * @throws at the end, the error of a minute that could not be read, unless jobs are left to `sweepRest`
 */
export async function sweepShard(
  ctx: Context,
  shard: number,
  until: number,
  backlogs: Backlogs,
): Promise<Swept> {
  const now = ctx.clock();
  const limit = now + LOOKAHEAD;
  const cursor = await readCursor(ctx, shard);
  const gaps = gapsOf(cursor, beforeTime(limit));
  const present = beforeTime(minuteOf(now));
  const late = partsIn(gaps, [{ from: BEGINNING, to: present }]);
  const others = partsIn(gaps, [{ from: present, to: END }]);
  const work = { cursor, ranges: others, limit };
  const { outcome, left, error } = await handOverRanges(ctx, shard, work, until, backlogs);
  if (outcome === "stopped") return STOPPED;
  if (outcome === "done" && late.length === 0) {
    if (error !== undefined) throw error;
    return { outcome, isAuditDue: auditLimit(cursor, now) !== undefined };
  }
  if (error !== undefined) {
    // The jobs that are left do not wait for this minute. Once the minute is overdue too, `sweepRest` throws its error.
    const what = `reading minutes of shard ${shard}`;
    ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
  }
  return { outcome: "left", ranges: [...left, ...late] };
}

/** Hands over the jobs in the ranges that `sweepShard` has left. The other parameters and the errors are those of `sweepShard`. */
export async function sweepRest(
  ctx: Context,
  shard: number,
  ranges: readonly Range[],
  until: number,
  backlogs: Backlogs,
): Promise<Swept> {
  const limit = ctx.clock() + LOOKAHEAD;
  const cursor = await readCursor(ctx, shard);
  // Another sweep may have handed over a part of these ranges since.
  const work = { cursor, ranges: partsIn(ranges, gapsOf(cursor, beforeTime(limit))), limit };
  const { outcome, left, error } = await handOverRanges(ctx, shard, work, until, backlogs);
  if (outcome === "stopped") return STOPPED;
  if (outcome === "out-of-time") return { outcome: "left", ranges: left };
  if (error !== undefined) throw error;
  return { outcome, isAuditDue: true };
}

type SweepWork = { readonly cursor: ShardCursor; readonly ranges: readonly Range[]; readonly limit: number };

/** What became of a sweep's ranges. `left`: those for which there was no time. `error`: of a minute that could not be read. */
type HandedOver = {
  readonly outcome: "done" | "out-of-time" | "stopped";
  readonly left: readonly Range[];
  readonly error?: unknown;
};

/** Hands over the jobs of some ranges. The cursor records the ranges that are done, also if the rest fails. */
async function handOverRanges(
  ctx: Context,
  shard: number,
  work: SweepWork,
  until: number,
  backlogs: Backlogs,
): Promise<HandedOver> {
  const { cursor, ranges, limit } = work;
  const progress = sweepProgress(ctx, cursor);
  const passed: PassedOver = {};
  let entries = 0;
  const handOverPages = async (): Promise<HandedOver["outcome"]> => {
    if (ctx.clock() >= until) return "out-of-time";
    for await (const page of pages(ctx, shard, ranges, passed)) {
      if (ctx.clock() >= until) return "out-of-time";
      // rule: send-before-cursor
      const unsent = await handOver(ctx, shard, page, limit, backlogs);
      entries += page.entries.length;
      // rule: cursor-stops-at-the-limit
      const done = { from: page.from, to: unsent?.before ?? page.to };
      if (!(await progress.reach(done, page.entries.length)) || unsent) return "stopped";
    }
    return "done";
  };
  try {
    let isOurs = false;
    const outcome = await handOverPages().finally(async () => {
      isOurs = await progress.end();
    });
    if (!isOurs) return { outcome: "stopped", left: [] };
    const isLeft = outcome === "out-of-time";
    const left = isLeft ? partsIn(ranges, gapsOf(progress.done(), beforeTime(limit))) : [];
    return { outcome, left, error: passed.error };
  } finally {
    // A sweep that failed reports its lag too: an alarm watches the lag.
    ctx.report({ type: "swept", shard, entries, lagMs: Math.max(limit - timeOf(cursor.swept), 0) });
  }
}

/**
 * Sends the waiting jobs of a page, and files looks at jobs that could not be sent. Answers the first entry that the cursor must not record:
 * - the first one whose job was not sent, if SQS as a whole is unreachable. If only some queues fail, the page is done.
 * - the first one of the page, if another sweep has done the page, or may have passed the places of the looks.
 */
async function handOver(
  ctx: Context,
  shard: number,
  page: EntryPage,
  limit: number,
  backlogs: Backlogs,
): Promise<{ before: Position } | undefined> {
  const { entries } = page;
  const now = ctx.clock();
  // rule: each-entry-swept
  const waiting = entries.filter((entry) => isToSend(entry, limit, now));
  const due = dueJobsOf(waiting, now);
  const outcomes = await sendDue(ctx, due, backlogs);
  const first = entries.findIndex(({ home }) => home && outcomes.get(home.id)?.outcome === "unreachable");
  const stopAt = first === -1 || (await answersElsewhere(ctx, outcomes, waiting)) ? entries.length : first;
  const isOurs = async (): Promise<boolean> => isUndone(await readCursor(ctx, shard), page);
  const isDone = await lookAgain(ctx, entries.slice(0, stopAt), outcomes, isOurs);
  // rule: held-jobs-stop-no-cursor
  return entries[isDone ? stopAt : 0];
}

/** Answers the jobs of these entries, and says of each whether it is found after its start. */
function dueJobsOf(waiting: readonly Entry[], now: number): DueJob[] {
  return waiting.flatMap(({ sk, home }) =>
    home ? { home, isLate: startsAt(home) < Math.max(timeOf(sk), now) } : [],
  );
}

/** The outcome of a job that was to be sent and was not sent. */
type Failure = Exclude<Sent, { outcome: "sent" }>;

/** Whether the job was to be sent: SQS took its message, or `send` says why the message was not sent. */
function isAnswer(handed: Handed): handed is Sent {
  return handed.outcome === "sent" || isFailure(handed);
}

function isFailure(handed: Handed): handed is Failure {
  return "reason" in handed && handed.outcome !== "unread";
}

/**
 * Whether the sweep sends the job of this entry now. A near start that was noted in the home has no look of its own, and the process that
 * noted it may have died.
 */
function isToSend({ sk, home }: Entry, limit: number, now: number): boolean {
  if (home?.state !== "scheduled" || isMovedPast(home, sk)) return false;
  return startsAt(home) < limit || (home.heldUntil !== undefined && isNear(home.heldUntil, now));
}

/** Whether SQS answers for another message or topic. If not, the sweep stops: a look at each of its jobs would cost a write. */
async function answersElsewhere(
  ctx: Context,
  outcomes: ReadonlyMap<string, Handed>,
  waiting: readonly Entry[],
): Promise<boolean> {
  if ([...outcomes.values()].some((one) => isAnswer(one) && one.outcome !== "unreachable")) return true;
  const tried = new Set(
    waiting.flatMap(({ home }) => {
      const handed = home && outcomes.get(home.id);
      return handed && isAnswer(handed) ? home.topic : [];
    }),
  );
  const others = Object.keys(ctx.policy.topics).filter((topic) => !tried.has(topic));
  return anyInParallel(others, ASKED_AT_ONCE, (topic) =>
    ctx.queues.depth({ topic }).then(
      () => true,
      () => false,
    ),
  );
}

/** A job that could not be handed over. `since`: when a sweep first failed to, as its looks record it, in ms since the epoch. */
type Failed = { readonly home: Home; readonly sent: Failure; readonly since: number };

/**
 * Files looks at those jobs of these entries that were not sent or could not be read. A job whose message SQS never takes is recorded as
 * dead instead. The looks lie past the limit of each sweep that has begun by now, also if its clock is ahead: such a sweep would miss them.
 * @param isOurs whether no other sweep has done these entries
 * @returns `false` if another sweep has done these entries, or if it may have read the minutes of the looks before they were stored
 */
async function lookAgain(
  ctx: Context,
  entries: readonly Entry[],
  outcomes: ReadonlyMap<string, Handed>,
  isOurs: () => Promise<boolean>,
): Promise<boolean> {
  const now = ctx.clock();
  const failed = new Map<string, Failed>();
  const unread: { id: string; late: number }[] = [];
  for (const { home, unread: id, since = now } of entries) {
    if (id !== undefined) unread.push({ id, late: 0 });
    const handed = home && outcomes.get(home.id);
    if (!handed) continue;
    if (handed.outcome === "unread") unread.push({ id: home.id, late: now - home.dueAt });
    if (!isFailure(handed)) continue;
    const metFirst = failed.get(home.id)?.since ?? since;
    failed.set(home.id, { home, sent: handed, since: Math.min(metFirst, since) });
  }
  const unreadable = entries.flatMap((entry) => entry.unreadable ?? []);
  if (failed.size + unread.length + unreadable.length === 0) return true;
  // This process may have been frozen since it read the page. Then looks would only send the jobs again.
  if (!(await isOurs())) return false;
  await inParallel([...failed.values()], FAILED_AT_ONCE, (one) => giveUpOrLookAgain(ctx, one, now));
  await lookAtUnreadableAgain(ctx, "sweeping", unreadable);
  const looks = unread.map(({ id, late }) => {
    return { id, time: lookAgainAt(id, now + LOOKAHEAD, Math.max(FAILING_TOPIC_WAIT, late)) };
  });
  await fileLooksAbout(ctx, looks, now + WRITER_DEADLINE);
  return ctx.clock() - now <= FAILING_TOPIC_WAIT - CLOCK_MARGIN;
}

/** Records a job as dead if its queue will not take its message, and files the next look at it otherwise. */
async function giveUpOrLookAgain(ctx: Context, { home, sent, since }: Failed, now: number): Promise<void> {
  const isUnknown = !isNamed(ctx, home.topic);
  // Counted from the first failure, not from the due time: a deploy may remove a topic for some minutes.
  const isGivenUp = isUnknown && now - since >= UNKNOWN_TOPIC_AFTER;
  if (sent.outcome === "refused" || sent.outcome === "missing" || isGivenUp) {
    const error = `the job cannot be handed over: ${sent.reason}`;
    try {
      await die(ctx, home, "giveUp", { error });
      return;
    } catch (thrown) {
      // The job gets a look: the other jobs of the page must not fail because of this one.
      const what = `recording job ${home.id} as dead`;
      ctx.report({ type: "trouble", topic: home.topic, what, error: messageOf(thrown) });
    }
  }
  // The longer the failure lasts, the longer is the wait. No audit sends an untracked job meanwhile, so a job that was late before must not
  // wait for as long again.
  const isCounted = isUnknown || home.untracked;
  const wait = Math.max(FAILING_TOPIC_WAIT, now - (isCounted ? since : home.dueAt));
  const time = lookAgainAt(home.id, now + LOOKAHEAD, wait);
  await fileLooksAbout(ctx, [{ id: home.id, time, ...(isCounted && { since }) }], now + WRITER_DEADLINE);
}
