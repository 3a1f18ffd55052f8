import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { minuteOf } from "../../core/items.ts";
import { BEGINNING, justAfter } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { derive, isDerived, schedulesOf } from "./derive-schedule.ts";
import { onlyInScheduler } from "./find-schedule.ts";
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
 * there. Declared schedules stay there, because the template has them. Reports each failure. `until`: ms on the context's clock after which nothing new is begun.
 */
export async function keepSchedules(ctx: Context, until: number): Promise<void> {
  if (!ctx.schedules || minuteOf(ctx.clock()) % (60 * BUCKET) !== MINUTE_OF_HOUR * BUCKET) return;
  await guarded(ctx, "comparing schedules with EventBridge Scheduler", async () => {
    const names = await keepCopies(ctx, until);
    await storeOthers(ctx, names, until);
  });
}

/** Answers the names of the schedules. */
async function keepCopies(ctx: Context, until: number): Promise<Set<string>> {
  const names = new Set<string>();
  let from = BEGINNING;
  for (;;) {
    const { kept, last, more } = await pageOfKept(ctx, from, PAGE);
    await inParallel(kept, WIDTH, (one) => keepCopy(ctx, one, until));
    for (const { name } of kept) names.add(name);
    if (!more || last === undefined || ctx.clock() >= until) return names;
    from = justAfter(last);
  }
}

async function keepCopy(ctx: Context, kept: Kept, until: number): Promise<void> {
  if (ctx.clock() >= until) return;
  const what = `writing schedule ${kept.name} to EventBridge Scheduler`;
  await guarded(ctx, what, async () => {
    if (await isDerived(ctx, kept, await schedulesOf(ctx).read(kept.name))) return;
    if (!(await derive(ctx, kept.name))) return;
    const error = "Scheduler's copy was missing or differed from the table, and was written anew";
    ctx.report({ type: "trouble", topic: "", what, error });
  });
}

/** `known`: names that the table has. */
async function storeOthers(ctx: Context, known: ReadonlySet<string>, until: number): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await schedulesOf(ctx).list(NAMES, cursor);
    for (const schedule of await onlyInScheduler(ctx, page.names, known))
      if (schedule.declared === undefined) await writeKept(ctx, schedule, undefined);
    cursor = page.cursor;
  } while (cursor !== undefined && ctx.clock() < until);
}

async function guarded(ctx: Context, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
  }
}
