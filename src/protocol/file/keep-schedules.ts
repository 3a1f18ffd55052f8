import { BUCKET } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import { minuteOf } from "../../core/item-keys.ts";
import type { Schedule } from "../../core/occurrence.ts";
import { BEGINNING, END, justAfter, type Position } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { derive, isDerived, schedulesOf } from "./derive-schedule.ts";
import { onlyInScheduler } from "./find-schedule.ts";
import {
  type Comparison,
  missedIn,
  nextComparison,
  noteFinished,
  noteUnfinished,
  type Period,
  reportMissed,
} from "./missed-occurrences.ts";
import { forgetRemoved, type Kept, markRemoved, pageOfKept, writeKept } from "./schedule-items.ts";

/** The minute of each hour in which the tick does this: one in which few schedules occur. */
const MINUTE_OF_HOUR = 23;
/** For so long a tick may compare, ms. With `tickConcurrency: 1` the next tick waits for it. */
const COMPARES_FOR = 30_000;
/** A page of the table may have large bodies. */
const PAGE = 25;
const NAMES = 100;
const WIDTH = 8;
const DECLARED = "a construct declares a schedule with this name, so the one in the table was deleted";
const NOT_CHECKED =
  "Scheduler's list could not be read twice, so missed occurrences of these hours are not reported";

/**
 * Once an hour, makes Scheduler's copies equal to the schedules in the table: a copy may be missing after a restore of the table or a lost
 * call, and a deployment may have replaced what the copies invoke. Stores schedules that only Scheduler has: earlier versions kept them
 * there. Declared schedules stay there, because the template has them. Reports occurrences that are not filed, and each failure. An hour
 * later the tick goes on with what it has not compared. `until`: ms on the context's clock after which no page is begun.
 */
export async function keepSchedules(ctx: Context, until: number): Promise<void> {
  if (!ctx.schedules || minuteOf(ctx.clock()) % (60 * BUCKET) !== MINUTE_OF_HOUR * BUCKET) return;
  const by = Math.min(until, ctx.clock() + COMPARES_FOR);
  const what = "comparing schedules with EventBridge Scheduler";
  await guarded(ctx, what, async () => {
    const comparison = await nextComparison(ctx);
    const { names, place } = await keepCopies(ctx, comparison, by);
    const others =
      place === END ? await guarded(ctx, what, () => storeOthers(ctx, names, comparison, by)) : undefined;
    if (others === undefined && comparison.place !== END) {
      await noteUnfinished(ctx, { ...comparison, place });
      return;
    }
    // The schedules of the table must not wait for Scheduler's list any longer.
    if (others === undefined)
      reportTrouble(ctx, "checking the occurrences of declared schedules", NOT_CHECKED);
    if (names.size + (others ?? 0) > 0 || comparison.place !== BEGINNING) await noteFinished(ctx, comparison);
  });
}

/** `names`: of the schedules in the table that it has met. `place`: all schedules before it are compared, and their occurrences checked. */
async function keepCopies(
  ctx: Context,
  comparison: Comparison,
  until: number,
): Promise<{ names: Set<string>; place: Position }> {
  const names = new Set<string>();
  let { place } = comparison;
  let from = place;
  while (from !== END && ctx.clock() < until) {
    const { kept, last, more } = await pageOfKept(ctx, from, PAGE);
    const live = (await inParallel(kept, WIDTH, (one) => keepCopy(ctx, one))).flatMap((one) => one ?? []);
    for (const { schedule } of live) names.add(schedule.name);
    // What was not checked is checked an hour later. The copies of the other schedules do not wait for that.
    const isChecked = place === from && (await checkAll(ctx, live, comparison));
    from = more && last !== undefined ? justAfter(last) : END;
    if (!isChecked) continue;
    place = from;
    // A failure in a later page must not repeat this one's reports.
    if (from !== END) await noteUnfinished(ctx, { ...comparison, place });
  }
  return { names, place };
}

type Unchecked = { readonly schedule: Schedule; readonly changedAt: number };

/** Answers the schedule, unless it is deleted. */
async function keepCopy(ctx: Context, kept: Kept): Promise<Unchecked | undefined> {
  const what = `comparing schedule ${kept.name} with EventBridge Scheduler`;
  const trouble = await guarded(ctx, `writing schedule ${kept.name} to EventBridge Scheduler`, async () => {
    const copy = await schedulesOf(ctx).read(kept.name);
    if (!kept.isRemoved && copy?.schedule.declared !== undefined) return giveUp(ctx, kept.schedule, kept);
    if (await isDerived(ctx, kept, copy)) return;
    // Without a copy, only the body of a deleted schedule is removed.
    if (!(await derive(ctx, kept.name)) || (kept.isRemoved && !copy)) return;
    return "Scheduler's copy was missing or differed from the table, and was written anew";
  });
  if (trouble !== undefined) ctx.report({ type: "trouble", topic: "", what, error: trouble });
  return kept.isRemoved || trouble === DECLARED ? undefined : kept;
}

/** Deletes the item of a schedule whose name a declared one has: a restore of the table has brought it back. */
async function giveUp(ctx: Context, schedule: Schedule, seen: Kept): Promise<string> {
  const removed = await markRemoved(ctx, schedule, seen);
  if (removed) await forgetRemoved(ctx, { ...schedule, ...removed });
  return DECLARED;
}

/**
 * Reports occurrences that are not filed, after all these schedules are checked: so what is repeated is not reported twice. Answers
 * whether they are checked.
 */
async function checkAll(ctx: Context, some: readonly Unchecked[], period: Period): Promise<boolean> {
  const found = await inParallel(some, WIDTH, async ({ schedule, changedAt }) => {
    try {
      return { schedule, times: await missedIn(ctx, schedule, changedAt, period) };
    } catch (error) {
      reportTrouble(ctx, `checking the occurrences of schedule ${schedule.name}`, error);
      // What will not pass, such as an expression that only a newer version can read, must not hold back the others.
      return isUnavailable(error) ? undefined : { schedule, times: [] };
    }
  });
  const checked = found.flatMap((one) => one ?? []);
  if (checked.length < some.length) return false;
  for (const { schedule, times } of checked) reportMissed(ctx, schedule, times);
  return true;
}

/** Answers how many schedules only Scheduler had, or `undefined` if not all are checked. `known`: names that the table has. */
async function storeOthers(
  ctx: Context,
  known: ReadonlySet<string>,
  period: Period,
  until: number,
): Promise<number | undefined> {
  const declared: Unchecked[] = [];
  let stored = 0;
  let cursor: string | undefined;
  do {
    if (ctx.clock() >= until) return undefined;
    const page = await schedulesOf(ctx).list(NAMES, cursor);
    for (const one of await onlyInScheduler(ctx, page.names, known)) {
      if (one.schedule.declared !== undefined) declared.push(one);
      else if (!(await checkAll(ctx, [one], period))) return undefined;
      else if (await writeKept(ctx, one.schedule, undefined, one.changedAt)) stored++;
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return (await checkAll(ctx, declared, period)) ? stored + declared.length : undefined;
}

/** Reports a failure, and then answers `undefined`. */
async function guarded<T>(ctx: Context, what: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    reportTrouble(ctx, what, error);
    return undefined;
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof MinutehandError && error.code === "unavailable";
}

function reportTrouble(ctx: Context, what: string, error: unknown): void {
  ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
}
