import { MinutehandError } from "../../core/errors.ts";
import type { Schedule } from "../../core/occurrence.ts";
import { BEGINNING, justAfter, type Position } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context, StoredSchedule } from "../ports.ts";
import { schedulesOf } from "./derive-schedule.ts";
import { itemsOf, type Kept, pageOfKept, readKept } from "./schedule-items.ts";

/** `kept`: its item, also that of a deleted schedule. `schedule`: absent if there is no such schedule. `since`: when it became what it is. */
export type Found = {
  readonly kept: Kept | undefined;
  readonly schedule: Schedule | undefined;
  readonly since: number;
};

export type SchedulesPage = { schedules: Schedule[]; cursor?: string };

/** How many calls of Scheduler may read its copies at once. */
const WIDTH = 8;
/** How many pages of Scheduler's names one page of the list may read. Almost all of them are names of schedules in the table. */
const MOST_PAGES = 10;
const IN_TABLE = "table:";
const IN_SCHEDULER = "scheduler:";

/**
 * Finds a schedule in the table or, if a deployment or an earlier version has created it, in Scheduler. A declared schedule comes before one
 * that a restore has brought back into the table.
 */
export async function findSchedule(ctx: Context, name: string): Promise<Found> {
  const [kept, copy] = await Promise.all([readKept(ctx, name), schedulesOf(ctx).read(name)]);
  if (kept?.isRemoved === false && copy?.schedule.declared === undefined)
    return { kept, schedule: kept.schedule, since: kept.changedAt };
  const schedule = copy && isSchedule(copy.schedule, kept) ? copy.schedule : undefined;
  return { kept, schedule, since: copy?.changedAt ?? 0 };
}

/** Says whether a copy without a live item is a schedule, and not that of a deleted one. */
function isSchedule({ declared }: Schedule, removed: unknown): boolean {
  return declared !== undefined || !removed;
}

/** A page can have fewer schedules than `limit`. Schedules of the table come first, and then those that only Scheduler has. */
export async function listSchedules(
  ctx: Context,
  limit: number,
  cursor: string | undefined = IN_TABLE,
): Promise<SchedulesPage> {
  if (cursor.startsWith(IN_SCHEDULER)) {
    const token = cursor.slice(IN_SCHEDULER.length) || undefined;
    return listFromScheduler(ctx, limit, token, new Set());
  }
  if (!cursor.startsWith(IN_TABLE))
    throw new MinutehandError("bad-request", "cursor must be the cursor of an earlier answer");
  const { kept, last, more } = await pageOfKept(ctx, placeAfter(cursor.slice(IN_TABLE.length)), limit);
  const schedules = kept.flatMap((one) => (one.isRemoved ? [] : one.schedule));
  if (more && last !== undefined) return { schedules, cursor: `${IN_TABLE}${last}` };
  const known = new Set(schedules.map(({ name }) => name));
  const rest = await listFromScheduler(ctx, limit - schedules.length, undefined, known);
  const all = [...schedules, ...rest.schedules].sort((one, other) => (one.name < other.name ? -1 : 1));
  return { ...rest, schedules: all };
}

function placeAfter(name: string): Position {
  return name === "" ? BEGINNING : justAfter(name);
}

/** Lists up to `limit` schedules that only Scheduler has. `known`: names that the table is known to have. */
async function listFromScheduler(
  ctx: Context,
  limit: number,
  from: string | undefined,
  known: ReadonlySet<string>,
): Promise<SchedulesPage> {
  const schedules: Schedule[] = [];
  let token = from;
  for (let i = 0; i < MOST_PAGES && schedules.length < limit; i++) {
    const page = await schedulesOf(ctx).list(limit - schedules.length, token);
    const copies = await onlyInScheduler(ctx, page.names, known);
    schedules.push(...copies.map(({ schedule }) => schedule));
    token = page.cursor;
    if (token === undefined) return { schedules };
  }
  return { schedules, cursor: `${IN_SCHEDULER}${token ?? ""}` };
}

/** Those of these schedules that are not in the table: a deployment or an earlier version has created them. */
export async function onlyInScheduler(
  ctx: Context,
  names: readonly string[],
  known: ReadonlySet<string>,
): Promise<StoredSchedule[]> {
  const unknown = names.filter((name) => !known.has(name));
  const items = await itemsOf(ctx, unknown);
  const outside = unknown.filter((name) => !items.live.has(name));
  const copies = await inParallel(outside, WIDTH, (name) => schedulesOf(ctx).read(name));
  return copies.flatMap((copy) => {
    if (!copy) return [];
    return isSchedule(copy.schedule, items.removed.has(copy.schedule.name)) ? copy : [];
  });
}
