import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { minuteOf } from "../../core/item-keys.ts";
import type { Schedule } from "../../core/occurrence.ts";
import { BEGINNING, justAfter } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { derive, isDerived, schedulesOf } from "./derive-schedule.ts";
import { onlyInScheduler } from "./find-schedule.ts";
import { noteChecked, type Period, reportMissed, uncheckedPeriod } from "./missed-occurrences.ts";
import { type Kept, pageOfKept, writeKept } from "./schedule-items.ts";

/** The minute of each hour in which the tick does this: one in which few schedules occur. */
const MINUTE_OF_HOUR = 23;
/** A page of the table may have large bodies. */
const PAGE = 25;
const NAMES = 100;
const WIDTH = 8;

/**
 * Once an hour, makes Scheduler's copies equal to the schedules in the table: a copy may be missing after a restore of the table or a lost
 * call, and a deployment may have replaced what the copies invoke. Stores schedules that only Scheduler has: earlier versions kept them
 * there. Declared schedules stay there, because the template has them. Reports occurrences that are not filed, and each failure.
 * `until`: ms on the context's clock after which nothing new is begun.
 */
export async function keepSchedules(ctx: Context, until: number): Promise<void> {
  if (!ctx.schedules || minuteOf(ctx.clock()) % (60 * BUCKET) !== MINUTE_OF_HOUR * BUCKET) return;
  await guarded(ctx, "comparing schedules with EventBridge Scheduler", async () => {
    const period = await uncheckedPeriod(ctx);
    const kept = await keepCopies(ctx, period, until);
    const others = await storeOthers(ctx, kept.names, period, until);
    // What was not checked is checked an hour later.
    if (kept.all && others.all && kept.names.size + others.count > 0) await noteChecked(ctx, period);
  });
}

/** `all`: whether all schedules were met, and their occurrences checked. */
async function keepCopies(
  ctx: Context,
  period: Period,
  until: number,
): Promise<{ names: Set<string>; all: boolean }> {
  const names = new Set<string>();
  let from = BEGINNING;
  let all = true;
  for (;;) {
    const { kept, last, more } = await pageOfKept(ctx, from, PAGE);
    const checked = await inParallel(kept, WIDTH, (one) => keepCopy(ctx, one, period, until));
    for (const { name } of kept) names.add(name);
    all &&= !checked.includes(false);
    if (!more || last === undefined) return { names, all };
    if (ctx.clock() >= until) return { names, all: false };
    from = justAfter(last);
  }
}

/** Answers whether its occurrences were checked. */
async function keepCopy(ctx: Context, kept: Kept, period: Period, until: number): Promise<boolean> {
  if (ctx.clock() >= until) return false;
  await guarded(ctx, `writing schedule ${kept.name} to EventBridge Scheduler`, async () => {
    if (await isDerived(ctx, kept, await schedulesOf(ctx).read(kept.name))) return;
    if (!(await derive(ctx, kept.name))) return;
    const error = "Scheduler's copy was missing or differed from the table, and was written anew";
    const what = `comparing schedule ${kept.name} with EventBridge Scheduler`;
    ctx.report({ type: "trouble", topic: "", what, error });
  });
  return kept.isRemoved || checkOccurrences(ctx, kept.schedule, kept.changedAt, period);
}

function checkOccurrences(ctx: Context, schedule: Schedule, since: number, period: Period): Promise<boolean> {
  const what = `checking the occurrences of schedule ${schedule.name}`;
  return guarded(ctx, what, () => reportMissed(ctx, schedule, since, period));
}

/** `known`: names that the table has. */
async function storeOthers(
  ctx: Context,
  known: ReadonlySet<string>,
  period: Period,
  until: number,
): Promise<{ count: number; all: boolean }> {
  let cursor: string | undefined;
  let [count, all] = [0, true];
  do {
    const page = await schedulesOf(ctx).list(NAMES, cursor);
    for (const { schedule, changedAt } of await onlyInScheduler(ctx, page.names, known)) {
      count++;
      if (schedule.declared === undefined) await writeKept(ctx, schedule, undefined);
      else if (!(await checkOccurrences(ctx, schedule, changedAt, period))) all = false;
    }
    cursor = page.cursor;
    if (cursor !== undefined && ctx.clock() >= until) return { count, all: false };
  } while (cursor !== undefined);
  return { count, all };
}

/** Reports a failure. Answers whether there was none. */
async function guarded(ctx: Context, what: string, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
    return false;
  }
}
