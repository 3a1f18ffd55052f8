import {
  AUDIT_LADDER,
  BACKLOG_PATIENCE,
  BACKLOG_SOON,
  CLOCK_MARGIN,
  DAY,
  FAILING_TOPIC_WAIT,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { hasCrashed, isFinished, isMovedPast, isNear, startsAt } from "../../core/home.ts";
import { type Home, timeOf } from "../../core/items.ts";
import { lookAgainAt } from "../../core/look-again.ts";
import type { Position } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { releaseLeftKeys } from "../store/keys.ts";
import { fileLooksAbout, keepDueLooks } from "../store/looks.ts";
import { prolongOnce } from "../store/once-items.ts";
import { type Entry, pages } from "../store/pages.ts";
import { lookAtUnreadableAgain } from "../store/unreadable.ts";
import type { Backlogs } from "./backlog.ts";
import { auditLimit, auditProgress, readCursor, type ShardCursor } from "./cursor.ts";
import { type Handed, sendDue } from "./send-due.ts";

/** For how many jobs at once their once items are prolonged. */
const KEPT_AT_ONCE = 8;

/**
 * Audits one shard as far as its sweep had come `AUDIT_AFTER` ago. Sends each job again that should have run and has not: its message was
 * lost, or its writer died. Each of these jobs also gets a new look, because the second message can be lost as well.
 *
 * @param until ms on the context's clock after which no page is begun
 * @param backlogs asked once for all shards of a tick
 */
export async function auditShard(
  ctx: Context,
  shard: number,
  until: number,
  backlogs: Backlogs,
): Promise<void> {
  if (ctx.clock() >= until) return;
  const cursor = await readCursor(ctx, shard);
  const limit = auditLimit(cursor, ctx.clock());
  if (limit === undefined) return;
  await auditPages(ctx, shard, { cursor, limit, until }, backlogs);
}

/** Audits the pages of a shard, the oldest first, and reports what was found. */
async function auditPages(
  ctx: Context,
  shard: number,
  { cursor, limit, until }: { cursor: ShardCursor; limit: Position; until: number },
  backlogs: Backlogs,
): Promise<void> {
  const progress = auditProgress(ctx, cursor);
  let entries = 0;
  let found = 0;
  let isOurs = true;
  // An audit that fails writes its place too. Otherwise the next one would send the same jobs again, each minute.
  try {
    for await (const page of pages(ctx, shard, [{ from: cursor.audited, to: limit }])) {
      if (ctx.clock() >= until) break;
      // rule: each-entry-audited
      const homes = page.entries.flatMap(({ home, sk }) =>
        home && !home.untracked && !isMovedPast(home, sk) ? home : [],
      );
      const [live, finished] = [homes.filter((home) => !isFinished(home)), homes.filter(isFinished)];
      // rule: audit-repairs-before-its-cursor
      found += await repair(ctx, live, backlogs);
      const unreadable = page.entries.flatMap((entry) => entry.unreadable ?? []);
      await lookAtUnreadableAgain(ctx, "auditing", unreadable);
      await lookAtUnreadAgain(ctx, page.entries);
      found += unreadable.length;
      // rule: audit-frees-keys-of-finished-jobs
      await freeLeftKeys(ctx, finished);
      entries += page.entries.length;
      isOurs = await progress.reach(page, page.entries.length);
      if (!isOurs) break;
    }
  } finally {
    if (isOurs) await progress.end();
  }
  ctx.report({ type: "audited", shard, entries, found });
}

/** Files looks at jobs whose homes could not be read. The later a look was read, the later the next one is. */
async function lookAtUnreadAgain(ctx: Context, entries: readonly Entry[]): Promise<void> {
  const now = ctx.clock();
  const looks = entries.flatMap(({ unread: id, sk }) => {
    if (id === undefined) return [];
    return { id, time: lookAgainAt(id, now, Math.max(FAILING_TOPIC_WAIT, now - timeOf(sk))) };
  });
  await fileLooksAbout(ctx, looks, now + WRITER_DEADLINE);
}

/**
 * Sends overdue jobs again, and then files the next looks at them and at running jobs. The caller moves the cursor only after this call, so
 * that a crash leaves no job without a look. Answers how many jobs it tried to send again.
 */
async function repair(ctx: Context, homes: readonly Home[], backlogs: Backlogs): Promise<number> {
  const now = ctx.clock();
  const looks = homes.flatMap((home) => lookAhead(home, now));
  const toSend: Home[] = [];
  for (const home of homes.filter((home) => isOverdue(home, now))) {
    const late = now - startsAt(home);
    // Asked now, even about a job that is sent in any case: after the sends below, their messages would count as a backlog.
    const isBehind = await backlogs.isBehind(home.topic);
    if (!isBehind || late >= BACKLOG_PATIENCE) toSend.push(home);
    // The sweep has passed this minute, so a later audit judges the job again: the next one, if the job is not very late.
    else looks.push(lookAfter(home, now, late < BACKLOG_SOON ? 0 : BACKLOG_PATIENCE));
  }
  const due = toSend.map((home) => ({ home, isLate: true }));
  const outcomes = await sendDue(ctx, due, backlogs);
  let sentAgain = 0;
  for (const home of toSend) {
    const outcome = outcomes.get(home.id)?.outcome;
    // A job that was ended needs no look, unless it has a key, which a later audit frees if this process dies.
    if (outcome === "ended" && home.key === undefined) continue;
    const isHeld = outcome === "left" || outcome === "held";
    const isBehind = await backlogs.isBehind(home.topic);
    // rule: held-job-has-a-look
    looks.push(lookAfter(home, now, waitAfter(now - startsAt(home), outcome, isBehind)));
    if (!isHeld && outcome !== "unread" && outcome !== "ended") sentAgain += 1;
  }
  // rule: audit-files-the-next-looks
  await fileLooksAbout(ctx, looks, now + WRITER_DEADLINE);
  const next = new Map(looks.map(({ id, time }) => [id, time]));
  await keepDueLooks(ctx, toSend, next);
  await keepOnceItems(ctx, homes, next);
  return sentAgain;
}

type LookTime = { readonly id: string; readonly time: number };

function lookAfter({ id }: Home, now: number, wait: number): LookTime {
  return { id, time: lookAgainAt(id, now, wait) };
}

function isOverdue(home: Home, now: number): boolean {
  return home.state === "running" ? hasCrashed(home, now) : startsAt(home) <= now;
}

/** The look at a job that is not overdue and has none ahead. Any other job was moved to a later time, and has a look there. */
function lookAhead(home: Home, now: number): LookTime[] {
  if (isOverdue(home, now)) return [];
  const { id } = home;
  // rule: running-job-has-a-look
  if (home.state === "running") return [{ id, time: home.leaseEnd + CLOCK_MARGIN }];
  // A near start that was noted in the home has no look of its own, and the process that noted it may have died.
  const isUnsent = home.dueAt <= now && isNear(startsAt(home), now + CLOCK_MARGIN);
  return home.state === "scheduled" && isUnsent ? [{ id, time: startsAt(home) }] : [];
}

/** How long after an audit has tried to send a job the next look at it lies, in ms. `late`: how late the job was. */
function waitAfter(late: number, outcome: Handed["outcome"] | undefined, isBehind: boolean): number {
  const [, after] = AUDIT_LADDER.find(([bound]) => late < bound) ?? AUDIT_LADDER[0];
  if (outcome === "unread") return Math.max(FAILING_TOPIC_WAIT, late);
  // A release finds a held job by its note. A pause may last a year, so the looks at the job become rare.
  if (outcome === "left" || outcome === "held") return Math.max(after, late);
  // If consumers are behind, an older message of the job most likely lies in the queue. If SQS takes no messages, a sweep looks at the job as
  // well. In these two cases the audit's own looks become rare.
  return outcome === "sent" && !isBehind ? after : Math.max(after, Math.min(3 * late, DAY));
}

/** Frees the keys that finished jobs have left, and files looks at the jobs whose keys could not be read or written. */
async function freeLeftKeys(ctx: Context, finished: readonly Home[]): Promise<void> {
  const now = ctx.clock();
  const failed = await releaseLeftKeys(ctx, finished, now + WRITER_DEADLINE);
  const looks = failed.map(({ id, finishedAt = now }) => {
    const time = lookAgainAt(id, ctx.clock(), Math.max(FAILING_TOPIC_WAIT, now - finishedAt));
    return { id, time };
  });
  await fileLooksAbout(ctx, looks, ctx.clock() + WRITER_DEADLINE);
}

/**
 * Keeps the once items of these jobs until two days after the job's next look or start. Otherwise only moves prolong them, and nobody moves a
 * job that waits for a pause, for a limit, or for consumers that are down.
 */
async function keepOnceItems(
  ctx: Context,
  homes: readonly Home[],
  next: ReadonlyMap<string, number>,
): Promise<void> {
  const by = ctx.clock() + WRITER_DEADLINE;
  const early = await inParallel(homes, KEPT_AT_ONCE, async (home) => {
    try {
      await prolongOnce(ctx, home, Math.max(startsAt(home), next.get(home.id) ?? 0), by);
      return [];
    } catch (error) {
      // The items were prolonged until two days from now when the last look was filed. So a look in a day is soon enough.
      const what = `keeping the once items of job ${home.id} for longer`;
      ctx.report({ type: "trouble", topic: home.topic, what, error: messageOf(error) });
      return { id: home.id, time: lookAgainAt(home.id, ctx.clock(), DAY) };
    }
  });
  await fileLooksAbout(ctx, early.flat(), ctx.clock() + WRITER_DEADLINE);
}
