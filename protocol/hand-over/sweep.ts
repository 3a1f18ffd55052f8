import {
  BUCKET,
  FAILING_TOPIC_WAIT,
  LOOKAHEAD,
  UNKNOWN_TOPIC_AFTER,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { isMovedPast, isNear, startsAt } from "../../core/home.ts";
import { type Home, timeOf } from "../../core/items.ts";
import { lookAgainAt } from "../../core/look-again.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import { anyInParallel, inParallel } from "../../general/batches.ts";
import { isNamed } from "../policy.ts";
import type { Context, Pool, Sent } from "../ports.ts";
import { die } from "../run/die.ts";
import { fileLooks } from "../store/looks.ts";
import { type Entry, type PassedOver, pages } from "../store/pages.ts";
import { lookAtUnreadableAgain } from "../store/unreadable.ts";
import type { Backlogs } from "./backlog.ts";
import { progressOf, readCursor } from "./cursor.ts";
import { type DueJob, type Handed, sendDue } from "./send-due.ts";

/**
 * `done`: up to the limit. `overtaken`: another sweep moved the cursor, and goes on. `out-of-time`,
 * `unreachable` (SQS as a whole): the next tick starts where this one stopped.
 */
export type SweepEnd = "done" | "overtaken" | "out-of-time" | "unreachable";

const WIDTH = 8;
/** Queues that are asked at once whether SQS answers: each that hangs takes as long as its client waits. */
const ASKED_AT_ONCE = 24;

/** By shard: what the last sweep of this process has passed over. Another process reads a little more than it must. */
const passedOver = new WeakMap<Pool, Map<number, PassedOver>>();

/**
 * Hands over what falls due in one shard before `LOOKAHEAD` from now, page by page from the cursor: send, then
 * advance. A crash in between repeats up to 2,000 entries and a page, or some seconds' work, and never skips one. `until`:
 * no page is begun after it. `backlogs`: asked once for all shards of a tick.
 *
 * The cursor stays before a minute that cannot be read. Later minutes are handed over all the same, and each sweep tries that
 * minute again, and throws.
 */
export async function sweepShard(
  ctx: Context,
  shard: number,
  until: number,
  backlogs: Backlogs,
): Promise<SweepEnd> {
  const limit = ctx.clock() + LOOKAHEAD;
  const cursor = await readCursor(ctx, shard);
  if (cursor.swept >= beforeTime(limit)) return "done";
  const progress = progressOf(ctx, cursor, "swept");
  let entries = 0;
  let end: SweepEnd = "done";
  const passed = passedBefore(ctx, shard, cursor.swept);
  try {
    if (ctx.clock() >= until) return "out-of-time";
    for await (const page of pages(ctx, shard, cursor.swept, beforeTime(limit), passed)) {
      if (ctx.clock() >= until) {
        end = "out-of-time";
        break;
      }
      // rule: send-before-cursor
      const unsent = await handOver(ctx, page.entries, limit, backlogs);
      entries += page.entries.length;
      const reached = firstUnread(passed, unsent?.before ?? page.position);
      if (!(await progress.reach(reached, page.entries.length))) return "overtaken";
      if (unsent) {
        end = "unreachable";
        break;
      }
    }
    // rule: cursor-stops-at-the-limit
    // The last of the minutes that were passed over before may have been read since the last page.
    if (end === "done") await progress.reach(firstUnread(passed, beforeTime(limit)), 0);
    if (!(await progress.end())) return "overtaken";
    if (passed.unread.size > 0) throw passed.error;
    return end;
  } finally {
    // Of a sweep that failed, too: its lag is the one that must be told.
    ctx.report({ type: "swept", shard, entries, lagMs: Math.max(limit - timeOf(cursor.swept), 0) });
  }
}

/** What this process has passed over in a shard and nobody has swept since. */
function passedBefore(ctx: Context, shard: number, swept: Position): PassedOver {
  const shards = passedOver.get(ctx.pool) ?? new Map<number, PassedOver>();
  passedOver.set(ctx.pool, shards);
  const last = shards.get(shard);
  const unread = new Map<number, Position>();
  // Another process may have read a part of one since.
  for (const [start, from] of last?.unread ?? [])
    if (beforeTime(start + BUCKET) > swept) unread.set(start, from > swept ? from : swept);
  const beyond = last && unread.size > 0 ? last.beyond : swept;
  const passed: PassedOver = { unread, beyond, error: last?.error };
  shards.set(shard, passed);
  return passed;
}

function firstUnread({ unread }: PassedOver, position: Position): Position {
  let first = position;
  for (const from of unread.values()) if (from < first) first = from;
  return first;
}

/**
 * Sends what the page's looks say. One topic's trouble is its own: only when SQS as a whole is unreachable
 * the page stops, before its first unsent entry.
 */
async function handOver(
  ctx: Context,
  entries: readonly Entry[],
  limit: number,
  backlogs: Backlogs,
): Promise<{ before: Position } | undefined> {
  const now = ctx.clock();
  // rule: each-entry-swept
  const waiting = entries.filter((entry) => isToSend(entry, limit, now));
  const outcomes = await sendDue(ctx, dueJobsOf(waiting, now), backlogs);
  const first = entries.findIndex(({ home }) => home && outcomes.get(home.id)?.outcome === "unreachable");
  const stopAt = first === -1 || (await answersElsewhere(ctx, outcomes, waiting)) ? entries.length : first;
  await lookAgain(ctx, entries.slice(0, stopAt), outcomes, limit);
  // rule: held-jobs-stop-no-cursor
  return entries[stopAt];
}

/** A look is found at the time of its own key, which may lie after the start of its job. */
function dueJobsOf(waiting: readonly Entry[], now: number): DueJob[] {
  const entries = waiting.flatMap(({ sk, home }) => (home ? { home, lookedAt: timeOf(sk) } : []));
  const again = new Set(entries.flatMap(({ home, lookedAt }) => (startsAt(home) < lookedAt ? home.id : [])));
  return entries.map(({ home, lookedAt }) => ({
    home,
    isLate: startsAt(home) < Math.max(lookedAt, now),
    isFirst: !again.has(home.id),
  }));
}

/** A job whose queue was asked, and did not take the job's message. */
type Failure = Exclude<Sent, { outcome: "sent" }>;

function isFailure(handed: Handed): handed is Failure {
  return "reason" in handed && handed.outcome !== "unread";
}

/** A start that was noted in a home has no look of its own: whoever noted it may have died before sending. */
function isToSend({ sk, home }: Entry, limit: number, now: number): boolean {
  if (home?.state !== "scheduled" || isMovedPast(home, sk) || isSentByRelease(home, sk)) return false;
  return startsAt(home) < limit || (home.heldUntil !== undefined && isNear(home.heldUntil, now));
}

/** Looks later than the start are for messages that SQS did not take. */
function isSentByRelease(home: Home, sk: string): boolean {
  const { sentFor } = home;
  return sentFor !== undefined && sentFor === startsAt(home) && timeOf(sk) <= sentFor;
}

/**
 * Whether SQS answers for another message or another topic. If so, only some queues are unreachable, and the sweep goes on. If SQS as a
 * whole is unreachable, the sweep stops: looks at all its jobs would cost a write each.
 */
async function answersElsewhere(
  ctx: Context,
  outcomes: ReadonlyMap<string, Handed>,
  waiting: readonly Entry[],
): Promise<boolean> {
  const asked = [...outcomes.values()].filter((one) => one.outcome === "sent" || isFailure(one));
  if (asked.some(({ outcome }) => outcome !== "unreachable")) return true;
  const tried = new Set(waiting.map(({ home }) => home?.topic));
  const others = Object.keys(ctx.policy.topics).filter((topic) => !tried.has(topic));
  return anyInParallel(others, ASKED_AT_ONCE, (topic) =>
    ctx.queues.depth({ topic }).then(
      () => true,
      () => false,
    ),
  );
}

/** A job that could not be handed over. `since`: when a sweep first met the job so, as far as its look says, in ms since the epoch. */
type Failed = { readonly home: Home; readonly sent: Failure; readonly since: number };

/** Files looks at the jobs of these entries that were not sent and could not be read, past the limit of this sweep. */
async function lookAgain(
  ctx: Context,
  entries: readonly Entry[],
  outcomes: ReadonlyMap<string, Handed>,
  limit: number,
): Promise<void> {
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
  await inParallel([...failed.values()], WIDTH, (one) => giveUpOrLookAgain(ctx, one, limit));
  const met = entries.flatMap(({ unreadable }) => unreadable ?? []);
  await lookAtUnreadableAgain(ctx, "sweeping", met);
  const looks = unread.map(({ id, late }) => {
    return { id, time: lookAgainAt(id, limit, Math.max(FAILING_TOPIC_WAIT, late)) };
  });
  await fileLooks(ctx, looks, now + WRITER_DEADLINE);
}

async function giveUpOrLookAgain(ctx: Context, { home, sent, since }: Failed, limit: number): Promise<void> {
  const now = ctx.clock();
  const late = now - home.dueAt;
  const isUnknown = !isNamed(ctx, home.topic);
  // However long the job has waited before: a deploy may take a topic away for minutes.
  const isGivenUp = isUnknown && now - since >= UNKNOWN_TOPIC_AFTER;
  if (sent.outcome === "refused" || sent.outcome === "missing" || isGivenUp) {
    const error = `it cannot be handed over: ${sent.reason}`;
    try {
      await die(ctx, home, { error, expect: { state: "scheduled" }, envelope: false });
      return;
    } catch (thrown) {
      // Its mates of this page must not wait for it. When the pool as a whole fails, so does the look.
      const what = `recording job ${home.id} as dead`;
      ctx.report({ type: "trouble", topic: home.topic, what, error: messageOf(thrown) });
    }
  }
  // Past the limit, where sweeps have not been, and the longer the trouble lasts, the later.
  const wait = Math.max(FAILING_TOPIC_WAIT, isUnknown ? now - since : late);
  const look = { id: home.id, time: lookAgainAt(home.id, limit, wait), ...(isUnknown && { since }) };
  await fileLooks(ctx, [look], now + WRITER_DEADLINE);
}
