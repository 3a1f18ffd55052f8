import {
  BACKLOG_PATIENCE,
  BACKLOG_SOON,
  DAY,
  FAILING_TOPIC_WAIT,
  LEASE_GRACE,
  NEAR_BY_ANY_CLOCK,
  WRITER_DEADLINE,
} from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Home, hasCrashed, isFinished, isMovedPast, startsAt } from "../../core/home.ts";
import { type TroubledJob, timeOf } from "../../core/item-keys.ts";
import { auditAgainAfter, lookAgainAt } from "../../core/look-again.ts";
import type { Position } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { releaseLeftKeys } from "../store/keys.ts";
import { fileLooksAbout, keepDueLooks, type LookTime } from "../store/looks.ts";
import { prolongOnce } from "../store/once-items.ts";
import { type Entry, pages } from "../store/pages.ts";
import { noteTroubled } from "../store/troubled.ts";
import { lookAtUnreadableAgain } from "../store/unreadable.ts";
import type { Backlogs } from "./backlog.ts";
import { auditLimit, auditProgress, readCursor, type ShardCursor } from "./cursor.ts";
import { type Handed, sendDue } from "./send-due.ts";

const KEPT_AT_ONCE = 8;

/**
 * Audits one shard as far as its sweep had come `AUDIT_AFTER` ago. Sends each job again that should have run and has not, and files a new look
 * at it: the second message can be lost as well. `until`: ms on the context's clock after which no page is begun.
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
  // An audit that fails writes its place too. Otherwise the next one would send the same jobs again.
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

/** The later a look was read, the later the next one is. */
async function lookAtUnreadAgain(ctx: Context, entries: readonly Entry[]): Promise<void> {
  const now = ctx.clock();
  const looks = entries.flatMap(({ unread: id, sk }) => {
    if (id === undefined) return [];
    return { id, time: lookAgainAt(id, now, Math.max(FAILING_TOPIC_WAIT, now - timeOf(sk))) };
  });
  await fileLooksAbout(ctx, looks, now + WRITER_DEADLINE);
}

/**
 * Sends overdue jobs again, and files looks at them and at running jobs. Answers how many jobs it tried to send, or left behind a backlog that
 * lasts for longer than `BACKLOG_SOON`.
 */
async function repair(ctx: Context, homes: readonly Home[], backlogs: Backlogs): Promise<number> {
  const now = ctx.clock();
  const looks = homes.flatMap((home) => lookAhead(home, now));
  const overdue: TroubledJob[] = [];
  const toSend: Home[] = [];
  let found = 0;
  for (const home of homes.filter((home) => isOverdue(home, now))) {
    const late = now - startsAt(home);
    // Asked before the sends below, whose messages would count as a backlog.
    const isBehind = await backlogs.isBehind(home.topic);
    if (!isBehind || late >= BACKLOG_PATIENCE) toSend.push(home);
    // The sweep has passed this minute, so a later audit judges the job again.
    else {
      const look = lookAfter(home, now, late < BACKLOG_SOON ? 0 : BACKLOG_PATIENCE);
      looks.push(look);
      overdue.push({ ...look, topic: home.topic, since: startsAt(home) });
      if (late >= BACKLOG_SOON) found += 1;
    }
  }
  const outcomes = await sendDue(ctx, toSend.map(asLate), backlogs);
  for (const home of toSend) {
    const outcome = outcomes.get(home.id)?.outcome;
    // Unless it has a key, which a later audit frees if this process dies.
    if (outcome === "ended" && home.key === undefined) continue;
    const isHeld = outcome === "left" || outcome === "held";
    const isBehind = await backlogs.isBehind(home.topic);
    const look = lookAfter(home, now, waitAfter(now - startsAt(home), outcome, isBehind));
    // rule: held-job-has-a-look
    looks.push(look);
    if (!isHeld) overdue.push({ ...look, topic: home.topic, since: startsAt(home) });
    if (!isHeld && outcome !== "unread" && outcome !== "ended") found += 1;
  }
  // rule: audit-files-the-next-looks
  await fileLooksAbout(ctx, looks, now + WRITER_DEADLINE);
  await noteTroubled(ctx, "late", overdue);
  const next = new Map(looks.map(({ id, time }) => [id, time]));
  await keepDueLooks(ctx, toSend, next);
  await keepOnceItems(ctx, homes, next);
  return found;
}

function asLate(home: Home): { home: Home; isLate: true } {
  return { home, isLate: true };
}

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
  if (home.state === "running") return [{ id, time: home.leaseEnd + LEASE_GRACE }];
  // A start that was noted in the home has no look of its own, and the process that noted it may have died.
  const isUnsent = home.dueAt <= now && startsAt(home) <= now + NEAR_BY_ANY_CLOCK;
  return home.state === "scheduled" && isUnsent ? [{ id, time: startsAt(home) }] : [];
}

/** After how many ms the next look follows a try to send. `late`: how late the job was. */
function waitAfter(late: number, outcome: Handed["outcome"] | undefined, isBehind: boolean): number {
  const after = auditAgainAfter(late);
  if (outcome === "unread") return Math.max(FAILING_TOPIC_WAIT, late);
  // A release finds a held job by its note. A pause may last a year.
  if (outcome === "left" || outcome === "held") return Math.max(after, late);
  // Rarely, if an older message most likely lies in the queue, or if a sweep looks at the job as well, because SQS takes no messages.
  return outcome === "sent" && !isBehind ? after : Math.max(after, Math.min(3 * late, DAY));
}

/** Files looks at jobs whose keys could not be read or written. */
async function freeLeftKeys(ctx: Context, finished: readonly Home[]): Promise<void> {
  const now = ctx.clock();
  const failed = await releaseLeftKeys(ctx, finished, now + WRITER_DEADLINE);
  const looks = failed.map(({ id, finishedAt = now }) => {
    const time = lookAgainAt(id, ctx.clock(), Math.max(FAILING_TOPIC_WAIT, now - finishedAt));
    return { id, time };
  });
  await fileLooksAbout(ctx, looks, ctx.clock() + WRITER_DEADLINE);
}

/** Keeps once items until two days after the job's next look or start: nobody moves a job that a pause, a limit or an outage holds. */
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
      // The last look has prolonged the items until two days from now. So a look in a day is soon enough.
      const what = `keeping the once items of job ${home.id} for longer`;
      ctx.report({ type: "trouble", topic: home.topic, what, error: messageOf(error) });
      return { id: home.id, time: lookAgainAt(home.id, ctx.clock(), DAY) };
    }
  });
  await fileLooksAbout(ctx, early.flat(), ctx.clock() + WRITER_DEADLINE);
}
