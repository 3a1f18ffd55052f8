import {
  FAILING_TOPIC_WAIT,
  LOOKAHEAD,
  LOOKS_FILED_WITHIN,
  UNKNOWN_TOPIC_AFTER,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Home, isMovedPast, isNear, startsAt } from "../../core/home.ts";
import { minuteOf, timeOf } from "../../core/item-keys.ts";
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

/** Each of these jobs gets a look, or is recorded as dead. */
const FAILED_AT_ONCE = 8;

/** `left`: for `ranges` there was no time, or others come first. `stopped`: SQS is silent, another sweep goes on, or looks came too late. */
export type Swept =
  | { readonly outcome: "done"; readonly isAuditDue: boolean }
  | { readonly outcome: "left"; readonly ranges: readonly Range[] }
  | typeof STOPPED;

const STOPPED = { outcome: "stopped" } as const;

/**
 * Hands over the jobs of one shard from the present minute to `LOOKAHEAD` from now. Jobs of earlier minutes are left to `sweepRest`, so that
 * after an outage new jobs do not wait for them. A page's jobs are sent before the cursor records the page: after a crash the next sweep
 * sends at most the jobs of `sizes.mark` entries and a page, or of `MARK_AFTER`, again.
 * @param until ms on the context's clock after which no page is begun
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
    // Once this minute is overdue too, `sweepRest` throws its error.
    const what = `reading minutes of shard ${shard}`;
    ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
  }
  return { outcome: "left", ranges: [...left, ...late] };
}

/** Hands over the ranges that `sweepShard` has left. Throws as `sweepShard`. */
export async function sweepRest(
  ctx: Context,
  shard: number,
  ranges: readonly Range[],
  until: number,
  backlogs: Backlogs,
): Promise<Swept> {
  const limit = ctx.clock() + LOOKAHEAD;
  const cursor = await readCursor(ctx, shard);
  // Another sweep may have handed over a part since.
  const work = { cursor, ranges: partsIn(ranges, gapsOf(cursor, beforeTime(limit))), limit };
  const { outcome, left, error } = await handOverRanges(ctx, shard, work, until, backlogs);
  if (outcome === "stopped") return STOPPED;
  if (outcome === "out-of-time") return { outcome: "left", ranges: left };
  if (error !== undefined) throw error;
  return { outcome, isAuditDue: true };
}

type SweepWork = { readonly cursor: ShardCursor; readonly ranges: readonly Range[]; readonly limit: number };

/** `left`: ranges for which there was no time. `error`: of a minute that could not be read. */
type SweptRanges = {
  readonly outcome: "done" | "out-of-time" | "stopped";
  readonly left: readonly Range[];
  readonly error?: unknown;
};

/** The cursor records the ranges that are done, also if the rest fails. */
async function handOverRanges(
  ctx: Context,
  shard: number,
  work: SweepWork,
  until: number,
  backlogs: Backlogs,
): Promise<SweptRanges> {
  const { cursor, ranges, limit } = work;
  const progress = sweepProgress(ctx, cursor);
  const passed: PassedOver = {};
  let entries = 0;
  const handOverPages = async (): Promise<SweptRanges["outcome"]> => {
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
    // A sweep that failed reports its lag too, for the alarm.
    ctx.report({ type: "swept", shard, entries, lagMs: Math.max(limit - timeOf(cursor.swept), 0) });
  }
}

/**
 * Sends the waiting jobs of a page, and files looks at jobs that could not be sent. Answers the first entry that the cursor must not record: of
 * a job that was not sent, if SQS as a whole is unreachable; of the page, if another sweep has done it or may have passed its looks.
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

function dueJobsOf(waiting: readonly Entry[], now: number): DueJob[] {
  return waiting.flatMap(({ sk, home }) =>
    home ? { home, isLate: startsAt(home) < Math.max(timeOf(sk), now) } : [],
  );
}

type Failure = Exclude<Sent, { outcome: "sent" }>;

/** SQS took the job's message, or `send` says why not. */
function isAnswer(handed: Handed): handed is Sent {
  return handed.outcome === "sent" || isFailure(handed);
}

function isFailure(handed: Handed): handed is Failure {
  return "reason" in handed && handed.outcome !== "unread";
}

/** A start that was noted in the home has no look of its own, and the process that noted it may have died. */
function isToSend({ sk, home }: Entry, limit: number, now: number): boolean {
  if (home?.state !== "scheduled" || isMovedPast(home, sk)) return false;
  return startsAt(home) < limit || (home.heldUntil !== undefined && isNear(home.heldUntil, now));
}

/** Whether SQS answers for another message or topic. If not, a look at each of the sweep's jobs would cost a write. */
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

/** `since`: when a sweep first failed to hand it over, as its looks record it, in ms since the epoch. */
type Failed = { readonly home: Home; readonly sent: Failure; readonly since: number };

/**
 * Files looks at jobs that were not sent or read, past the limit of each sweep that has begun by now, also if its clock is ahead. A job whose
 * message SQS never takes is recorded as dead instead. `false`: another sweep has done these entries, or may have passed the looks.
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
  // After a freeze of this process, looks would only send the jobs again.
  if (!(await isOurs())) return false;
  await inParallel([...failed.values()], FAILED_AT_ONCE, (one) => giveUpOrLookAgain(ctx, one, now));
  await lookAtUnreadableAgain(ctx, "sweeping", unreadable);
  const looks = unread.map(({ id, late }) => {
    return { id, time: lookAgainAt(id, now + LOOKAHEAD, Math.max(FAILING_TOPIC_WAIT, late)) };
  });
  await fileLooksAbout(ctx, looks, now + WRITER_DEADLINE);
  return ctx.clock() - now <= LOOKS_FILED_WITHIN;
}

async function giveUpOrLookAgain(ctx: Context, { home, sent, since }: Failed, now: number): Promise<void> {
  const isUnknown = !isNamed(ctx, home.topic);
  // The time counts from the first failure: a deploy may remove a topic for some minutes.
  const isGivenUp = isUnknown && now - since >= UNKNOWN_TOPIC_AFTER;
  if (sent.outcome === "refused" || sent.outcome === "missing" || isGivenUp) {
    const error = `the job cannot be handed over: ${sent.reason}`;
    try {
      await die(ctx, home, "giveUp", { error });
      return;
    } catch (thrown) {
      // The other jobs of the page must not fail because of this one.
      const what = `recording job ${home.id} as dead`;
      ctx.report({ type: "trouble", topic: home.topic, what, error: messageOf(thrown) });
    }
  }
  // The longer the failure lasts, the longer the wait. No audit sends an untracked job, so its earlier lateness does not count.
  const isCounted = isUnknown || home.untracked;
  const wait = Math.max(FAILING_TOPIC_WAIT, now - (isCounted ? since : home.dueAt));
  const time = lookAgainAt(home.id, now + LOOKAHEAD, wait);
  await fileLooksAbout(ctx, [{ id: home.id, time, ...(isCounted && { since }) }], now + WRITER_DEADLINE);
}
