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
import { sendDue } from "./send-due.ts";

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
  const overdue: Home[] = [];
  const looks: { id: string; time: number }[] = [];
  for (const home of homes) {
    if (home.state === "running" && !hasCrashed(home, now)) {
      // rule: running-job-has-a-look
      looks.push({ id: home.id, time: home.leaseEnd + CLOCK_MARGIN });
    } else if (home.state === "running" || startsAt(home) <= now) overdue.push(home);
    // A near start that was noted in the home has no look of its own, and the process that noted it may have died.
    else if (home.dueAt <= now && isNear(startsAt(home), now + CLOCK_MARGIN))
      looks.push({ id: home.id, time: startsAt(home) });
    // Any other job was moved to a later time, and has a look there.
  }
  const toSend: Home[] = [];
  for (const home of overdue) {
    const late = now - startsAt(home);
    // Asked now, even about a job that is sent in any case: after the sends below, their messages would count as a backlog.
    const isBehind = await backlogs.isBehind(home.topic);
    if (!isBehind || late >= BACKLOG_PATIENCE) toSend.push(home);
    // The sweep has passed this minute, so the next audit judges the job again.
    else if (late < BACKLOG_SOON) looks.push({ id: home.id, time: lookAgainAt(home.id, now, 0) });
    else looks.push({ id: home.id, time: lookAgainAt(home.id, now, BACKLOG_PATIENCE) });
  }
  const outcomes = await sendDue(
    ctx,
    toSend.map((home) => ({ home, isLate: true })),
    backlogs,
  );
  let sentAgain = 0;
  for (const home of toSend) {
    const late = now - startsAt(home);
    const [, after] = AUDIT_LADDER.find(([bound]) => late < bound) ?? AUDIT_LADDER[0];
    const outcome = outcomes.get(home.id)?.outcome;
    // A job that was ended needs no look, unless it has a key, which a later audit frees if this process dies.
    if (outcome === "ended" && home.key === undefined) continue;
    // A release finds a held job by its note. A pause may last a year, so the looks at the job become rare.
    const isHeld = outcome === "left" || outcome === "held";
    const isUnread = outcome === "unread";
    // If consumers are behind, an older message of the job most likely lies in the queue. If SQS takes no messages, a sweep looks at the job as
    // well. In these two cases the audit's own looks become rare.
    const isSent = outcome === "sent" && !(await backlogs.isBehind(home.topic));
    const rarely = isHeld ? Math.max(after, late) : Math.max(after, Math.min(3 * late, DAY));
    const wait = isUnread ? Math.max(FAILING_TOPIC_WAIT, late) : isSent ? after : rarely;
    // rule: held-job-has-a-look
    looks.push({ id: home.id, time: lookAgainAt(home.id, now, wait) });
    if (!isHeld && !isUnread && outcome !== "ended") sentAgain += 1;
  }
  // rule: audit-files-the-next-looks
  await fileLooksAbout(ctx, looks, now + WRITER_DEADLINE);
  const next = new Map(looks.map(({ id, time }) => [id, time]));
  await keepDueLooks(ctx, toSend, next);
  await keepOnceItems(ctx, homes, next);
  return sentAgain;
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
