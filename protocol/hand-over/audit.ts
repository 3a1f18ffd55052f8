import {
  AUDIT_AFTER,
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
import type { Home } from "../../core/items.ts";
import { lookAgainAt } from "../../core/look-again.ts";
import { reachedBy } from "../../core/trail.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { releaseLeftKeys } from "../store/keys.ts";
import { fileLooks } from "../store/looks.ts";
import { prolongOnce } from "../store/once-items.ts";
import { pages } from "../store/pages.ts";
import { lookAtUnreadableAgain } from "../store/unreadable.ts";
import type { Backlogs } from "./backlog.ts";
import { progressOf, readCursor } from "./cursor.ts";
import { sendDue } from "./send-due.ts";

const WIDTH = 8;

/**
 * Trails the sweep of one shard by `AUDIT_AFTER` of the sweep's own time, and sends again what should have
 * run and has not: a lost message, a purged queue, a writer that died before it sent. Each job found gets a
 * new look too, since the second message can be lost as well. `until`: no page is begun after it. `backlogs`: asked once for
 * all shards of a tick.
 */
export async function auditShard(
  ctx: Context,
  shard: number,
  until: number,
  backlogs: Backlogs,
): Promise<void> {
  if (ctx.clock() >= until) return;
  const cursor = await readCursor(ctx, shard);
  // rule: audit-trails-the-sweep
  const { position: limit } = reachedBy(cursor.trail, ctx.clock() - AUDIT_AFTER);
  if (limit === undefined || limit <= cursor.audited) return;
  const progress = progressOf(ctx, cursor, "audited");
  let entries = 0;
  let found = 0;
  let isOurs = true;
  for await (const page of pages(ctx, shard, cursor.audited, limit)) {
    if (ctx.clock() >= until) break;
    // rule: each-entry-audited
    const homes = page.entries.flatMap(({ home, sk }) =>
      home && !home.untracked && !isMovedPast(home, sk) ? home : [],
    );
    const [live, finished] = [homes.filter((home) => !isFinished(home)), homes.filter(isFinished)];
    // rule: audit-repairs-before-its-cursor
    found += await repair(ctx, live, backlogs);
    const met = page.entries.flatMap(({ unreadable }) => unreadable ?? []);
    await lookAtUnreadableAgain(ctx, "auditing", met);
    found += met.length;
    // rule: audit-frees-keys-of-finished-jobs
    await freeLeftKeys(ctx, finished);
    entries += page.entries.length;
    isOurs = await progress.reach(page.position, page.entries.length);
    if (!isOurs) break;
  }
  if (isOurs) await progress.end();
  ctx.report({ type: "audited", shard, entries, found });
}

/**
 * Sends, then files looks; the cursor comes last. Answers how many jobs it sent again. Jobs that wait behind a backlog, or that a pause, a
 * limit or a window holds, are not counted.
 */
async function repair(ctx: Context, homes: readonly Home[], backlogs: Backlogs): Promise<number> {
  const now = ctx.clock();
  const overdue: Home[] = [];
  const looks: { id: string; time: number }[] = [];
  for (const home of homes) {
    if (home.state === "running" && !hasCrashed(home, now)) {
      // rule: running-job-has-a-look
      looks.push({ id: home.id, time: (home.leaseEnd ?? now) + CLOCK_MARGIN });
    } else if (home.state === "running" || startsAt(home) <= now) overdue.push(home);
    // Whoever noted its start, which is near then, may have died before sending, and files no look there.
    else if (home.dueAt <= now && isNear(startsAt(home), now + CLOCK_MARGIN))
      looks.push({ id: home.id, time: startsAt(home) });
    // Any other was moved to a later time, and has its look there.
  }
  const toSend: Home[] = [];
  for (const home of overdue) {
    const late = now - startsAt(home);
    // Asked before anything is sent, however late the job is.
    const isBehind = await backlogs(home.topic);
    if (!isBehind || late >= BACKLOG_PATIENCE) toSend.push(home);
    // The sweep has passed that minute, and sends nothing there: the next to come is an audit, which judges again.
    else if (late < BACKLOG_SOON) looks.push({ id: home.id, time: lookAgainAt(home.id, now, 0) });
    else looks.push({ id: home.id, time: lookAgainAt(home.id, now, BACKLOG_PATIENCE) });
  }
  const outcomes = await sendDue(
    ctx,
    toSend.map((home) => ({ home, isLate: true, isFirst: false })),
    backlogs,
  );
  let sentAgain = 0;
  for (const home of toSend) {
    const late = now - startsAt(home);
    const [, after] = AUDIT_LADDER.find(([bound]) => late < bound) ?? AUDIT_LADDER[0];
    const outcome = outcomes.get(home.id)?.outcome;
    if (outcome === "ended") continue;
    // A pause may last a year, and a release lets parked jobs go without a look.
    const isHeld = outcome === "left" || outcome === "held";
    // Nothing was sent that could take its time: nobody could read whether the job may start.
    const isUnread = outcome === "unread";
    const wait = isUnread ? Math.max(FAILING_TOPIC_WAIT, late) : isHeld ? Math.max(after, late) : after;
    // rule: held-job-has-a-look
    looks.push({ id: home.id, time: lookAgainAt(home.id, now, wait) });
    if (!isHeld && !isUnread) sentAgain += 1;
  }
  // rule: audit-files-the-next-looks
  await fileLooks(ctx, looks, now + WRITER_DEADLINE);
  await outlive(ctx, homes, looks);
  return sentAgain;
}

/** Lets keys go that finished jobs have left, and files looks at jobs whose keys gave no answer. */
async function freeLeftKeys(ctx: Context, finished: readonly Home[]): Promise<void> {
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  const failed = await releaseLeftKeys(ctx, finished, by);
  const looks = failed.map(({ id, finishedAt = now }) => {
    const time = lookAgainAt(id, ctx.clock(), Math.max(FAILING_TOPIC_WAIT, now - finishedAt));
    return { id, time };
  });
  await fileLooks(ctx, looks, ctx.clock() + WRITER_DEADLINE);
}

/**
 * Makes sure that the once items of jobs that are late or held are stored until the audit comes again, and a day longer:
 * nobody moves a job that waits for a pause, a limit, or consumers that are down.
 */
async function outlive(
  ctx: Context,
  homes: readonly Home[],
  looks: readonly { id: string; time: number }[],
): Promise<void> {
  const by = ctx.clock() + WRITER_DEADLINE;
  const again = new Map(looks.map(({ id, time }) => [id, time]));
  const early = await inParallel(homes, WIDTH, async (home) => {
    try {
      await prolongOnce(ctx, home, Math.max(startsAt(home), again.get(home.id) ?? 0), by);
      return [];
    } catch (error) {
      // One partition that gives no answer stops no shard. The look before has kept the items for two days from now.
      const what = `keeping the once items of job ${home.id} for longer`;
      ctx.report({ type: "trouble", topic: home.topic, what, error: messageOf(error) });
      return { id: home.id, time: lookAgainAt(home.id, ctx.clock(), DAY) };
    }
  });
  await fileLooks(ctx, early.flat(), ctx.clock() + WRITER_DEADLINE);
}
