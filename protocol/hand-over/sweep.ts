import {
  BATCH_PATIENCE,
  BUCKET,
  FAILING_TOPIC_WAIT,
  LOOKAHEAD,
  UNKNOWN_TOPIC_AFTER,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { hasExpired, isMovedPast, isNear, startsAt } from "../../core/home.ts";
import { type Home, timeOf } from "../../core/items.ts";
import { lookAgainAt } from "../../core/look-again.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import { anyInParallel, inParallel } from "../../general/batches.ts";
import { endExpired } from "../gate/if-late.ts";
import { unknownPauses } from "../gate/known-pauses.ts";
import { isLimited, isNamed } from "../policy.ts";
import type { Context, Pool } from "../ports.ts";
import { die } from "../run/die.ts";
import { type HandedOver, isHandedOver, reportFailures, send } from "../send/send.ts";
import { fileLooks } from "../store/looks.ts";
import { type Entry, type PassedOver, pages } from "../store/pages.ts";
import { lookAtUnreadableAgain } from "../store/unreadable.ts";
import type { Backlogs } from "./backlog.ts";
import { progressOf, readCursor } from "./cursor.ts";
import { leftToReleases, sentBefore } from "./sent-before.ts";

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
  const unknown = await unknownPauses(
    ctx,
    waiting.flatMap(({ home }) => home?.topic ?? []),
  );
  const known = waiting.filter(({ home }) => home && !unknown.has(home.topic));
  const { left, unread } = await leftToReleases(
    ctx,
    known.flatMap(({ home }) => home ?? []),
  );
  const free = known.filter(({ home }) => home && !left.has(home.id) && !unread.has(home.id));
  const ended = await endLimited(
    ctx,
    free.flatMap(({ home }) => home ?? []),
  );
  const living = free.filter(({ home }) => home && !ended.has(home.id));
  await askForBacklogs(ctx, living, backlogs);
  const passed = (until: (entry: Entry) => number): Home[] =>
    living.flatMap((entry) => (entry.home && startsAt(entry.home) < until(entry) ? entry.home : []));
  const again = new Set(passed(({ sk }) => timeOf(sk)).map(({ id }) => id));
  const before = await sentBefore(
    ctx,
    passed(({ sk }) => Math.max(timeOf(sk), now)),
    backlogs,
    ({ id }) => !again.has(id),
  );
  const due = living.filter(({ home }) => home && !before.unread.has(home.id));
  const outcomes = await send(
    ctx,
    due.flatMap(({ home }) => home ?? []),
    { ...before.looks, by: now + WRITER_DEADLINE },
  );
  // Nobody could read whether these may go. Their queue is not asked, and they do not die of it.
  const notAsked = new Map<string, { topic: string; reason: string }>();
  for (const { home } of waiting) {
    const error = home && (unknown.get(home.topic) ?? unread.get(home.id) ?? before.unread.get(home.id));
    if (home && error !== undefined) notAsked.set(home.id, { topic: home.topic, reason: messageOf(error) });
  }
  for (const [topic, failures] of Map.groupBy(notAsked.values(), (one) => one.topic))
    reportFailures(
      ctx,
      topic,
      failures.map(({ reason }) => reason),
    );
  const first = entries.findIndex(({ home }) => home && outcomes.get(home.id)?.outcome === "unreachable");
  const stopAt = first === -1 || (await answersElsewhere(ctx, outcomes, due)) ? entries.length : first;
  const failed = new Map<string, Failed>();
  for (const { home, since = now } of entries.slice(0, stopAt)) {
    const sent = home && outcomes.get(home.id);
    if (!home || !sent || isHandedOver(sent)) continue;
    const first = failed.get(home.id)?.since ?? since;
    failed.set(home.id, { home, sent, since: Math.min(first, since) });
  }
  await inParallel([...failed.values()], WIDTH, (one) => giveUpOrLookAgain(ctx, one, limit));
  const met = entries.slice(0, stopAt).flatMap(({ unreadable }) => unreadable ?? []);
  await lookAtUnreadableAgain(ctx, "sweeping", met);
  const later = entries.slice(0, stopAt).flatMap(({ unread: id, home }) => {
    if (id !== undefined) return { id, late: 0 };
    return home && notAsked.has(home.id) ? { id: home.id, late: now - home.dueAt } : [];
  });
  await fileLooks(
    ctx,
    later.map(({ id, late }) => ({ id, time: lookAgainAt(id, limit, Math.max(FAILING_TOPIC_WAIT, late)) })),
    now + WRITER_DEADLINE,
  );
  // rule: held-jobs-stop-no-cursor
  return entries[stopAt];
}

/** Ends the expired jobs of limited topics, of which an outage may leave thousands. Answers the ids of those that it has ended. */
async function endLimited(ctx: Context, homes: readonly Home[]): Promise<Set<string>> {
  const now = ctx.clock();
  const expired = homes.filter((home) => isLimited(ctx, home.topic) && hasExpired(home, now));
  // A page may have a job's home and looks at the job.
  const unique = new Map(expired.map((home) => [home.id, home]));
  const ended = new Set<string>();
  for (const [topic, jobs] of Map.groupBy(unique.values(), (home) => home.topic)) {
    const outcomes = await endExpired(ctx, topic, jobs, ctx.clock() + BATCH_PATIENCE);
    for (const [i, { id }] of jobs.entries()) if (outcomes[i] === "changed") ended.add(id);
  }
  return ended;
}

/**
 * Asks for the backlogs of topics before the tick sends what is overdue: such messages are ready at once, and would be taken for
 * those of slow consumers. Then audits would leave lost jobs alone for an hour, and late jobs of a limited topic would be sent
 * without starts.
 */
async function askForBacklogs(ctx: Context, due: readonly Entry[], backlogs: Backlogs): Promise<void> {
  const now = ctx.clock();
  const overdue = due.flatMap(({ home }) => (home && startsAt(home) <= now ? home.topic : []));
  await Promise.all([...new Set(overdue)].map(backlogs));
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

/** Whether SQS answers for another message or topic, so that what was unreachable is some queues' trouble. */
async function answersElsewhere(
  ctx: Context,
  outcomes: ReadonlyMap<string, HandedOver>,
  due: readonly Entry[],
): Promise<boolean> {
  const asked = [...outcomes.values()].filter(({ outcome }) => outcome !== "held");
  if (asked.some(({ outcome }) => outcome !== "unreachable")) return true;
  const tried = new Set(due.map(({ home }) => home?.topic));
  const [first, ...others] = Object.keys(ctx.policy.topics).filter((topic) => !tried.has(topic));
  const answers = (topic: string): Promise<boolean> =>
    ctx.queues.depth({ topic }).then(
      () => true,
      () => false,
    );
  if (first === undefined) return false;
  // That one may have trouble of its own, as may many.
  return (await answers(first)) || anyInParallel(others, ASKED_AT_ONCE, answers);
}

/** A job that could not be handed over. `since`: when a sweep first met it so, as far as its look says: ms since the epoch. */
type Failed = { readonly home: Home; readonly sent: HandedOver; readonly since: number };

async function giveUpOrLookAgain(ctx: Context, { home, sent, since }: Failed, limit: number): Promise<void> {
  const now = ctx.clock();
  const late = now - home.dueAt;
  const isUnknown = !isNamed(ctx, home.topic);
  // However long the job has waited before: a deploy may take a topic away for minutes.
  const isGivenUp = isUnknown && now - since >= UNKNOWN_TOPIC_AFTER;
  if (sent.outcome === "refused" || sent.outcome === "missing" || isGivenUp) {
    const reason = "reason" in sent ? sent.reason : sent.outcome;
    const error = `it cannot be handed over: ${reason}`;
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
