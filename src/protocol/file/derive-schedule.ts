import { isDeepStrictEqual } from "node:util";
import { keepsChanging, MinutehandError } from "../../core/errors.ts";
import { occurrenceInput, type Schedule, storedInput } from "../../core/occurrence.ts";
import type { Context, Schedules, StoredSchedule } from "../ports.ts";
import { nextOccurrences, startDateOf } from "./occurrences.ts";
import { forgetRemoved, type Kept, readKept } from "./schedule-items.ts";

/** How often a call tries to change what other calls keep changing. */
export const TRIES = 5;

/**
 * Makes Scheduler's copy of a schedule equal to the schedule's item. Scheduler has no conditional update, so each call that has written the
 * copy reads the item once more: the item's last change wins. Answers whether it wrote the copy. @throws `bad-request`, `unavailable`
 */
export async function derive(ctx: Context, name: string): Promise<boolean> {
  const schedules = schedulesOf(ctx);
  let written: number | undefined;
  for (let i = 0; i < TRIES; i++) {
    const kept = await readKept(ctx, name);
    if (!kept || kept.revision === written) return written !== undefined;
    const copy = await schedules.read(name);
    if (await isDerived(ctx, kept, copy)) return written !== undefined;
    if (await writeCopy(ctx, kept, copy)) written = kept.revision;
  }
  throw keepsChanging(`schedule ${name}`);
}

/** Says whether Scheduler's copy is what the item says, or belongs to a deployment. An unneeded update could lose an occurrence that is due. */
export async function isDerived(
  ctx: Context,
  kept: Kept,
  copy: StoredSchedule | undefined,
): Promise<boolean> {
  if (copy?.schedule.declared !== undefined) return true;
  if (kept.isRemoved) return copy === undefined && kept.schedule === undefined;
  if (copy && !isDeepStrictEqual(asStored(kept.schedule), copy.schedule)) return false;
  if (copy?.isAimed) return true;
  // Scheduler would refuse a schedule that never occurs again.
  return (await nextOccurrences(kept.schedule, ctx.clock(), 1)).length === 0;
}

/** Answers `false` if another call has just created or deleted the copy. */
async function writeCopy(ctx: Context, kept: Kept, copy: StoredSchedule | undefined): Promise<boolean> {
  const schedules = schedulesOf(ctx);
  if (kept.isRemoved) {
    if (copy) await schedules.remove(kept.name);
    await forgetRemoved(ctx, kept);
    return true;
  }
  const from = await startDateOf(kept.schedule, ctx.clock());
  if (copy) return (await schedules.update(kept.schedule, from)) === "updated";
  return (await schedules.create(kept.schedule, from)) === "created";
}

/** The schedule with its job's body as it is stored. */
export function asStored(schedule: Schedule): Schedule {
  return { ...schedule, ...storedInput(occurrenceInput(schedule)) };
}

/** @throws `unavailable` */
export function schedulesOf({ schedules }: Context): Schedules {
  if (!schedules)
    throw new MinutehandError("unavailable", "this function has no access to EventBridge Scheduler");
  return schedules;
}
