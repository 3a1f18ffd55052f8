import { REMOVED_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { RECURRING, recurringKey, ttl } from "../../core/item-keys.ts";
import { ITEM_VERSION, type Item, type RecurringItem } from "../../core/items.ts";
import { occurrenceInput, type Schedule, storedInput } from "../../core/occurrence.ts";
import { END, type Position } from "../../core/position.ts";
import { layoutTrouble, requireReadable } from "../../core/readable.ts";
import type { Context } from "../ports.ts";

/** A recurring schedule in the table. */
export type Kept = { readonly name: string; readonly revision: number } & (
  | { readonly schedule: Schedule; readonly changedAt: number; readonly isRemoved: false }
  /** The schedule is deleted. `schedule`: what it was, until Scheduler's copy is deleted too. */
  | { readonly schedule: Schedule | undefined; readonly isRemoved: true }
);

const OPTIONAL = ["flexibleWindow", "paused", "removed", "expiresAt"] as const;

/** @throws `unavailable` if a newer version wrote the item */
export async function readKept(ctx: Context, name: string): Promise<Kept | undefined> {
  const [item] = await ctx.pool.read([recurringKey(name)]);
  const found = requireReadable(item as RecurringItem | undefined, `schedule ${name}`);
  return found && keptIn(found);
}

/** Which of these schedules the table has, and which of them are deleted. */
export async function itemsOf(
  ctx: Context,
  names: readonly string[],
): Promise<{ live: ReadonlySet<string>; removed: ReadonlySet<string> }> {
  if (names.length === 0) return { live: new Set(), removed: new Set() };
  const items = (await ctx.pool.read(names.map(recurringKey))).flatMap((item) => item ?? []);
  const namesIn = (isRemoved: boolean) =>
    new Set(items.filter((item) => "removed" in item === isRemoved).map(({ sk }) => sk));
  return { live: namesIn(false), removed: namesIn(true) };
}

type Seen = Pick<Kept, "revision"> | undefined;

/** Stores a schedule, if its item still has the revision that was seen. Answers the new revision. `changedAt`: when it became what it is. */
export function writeKept(
  ctx: Context,
  schedule: Schedule,
  seen: Seen,
  changedAt: number = ctx.clock(),
): Promise<Seen> {
  return write(ctx, schedule, seen, { changedAt });
}

/** Marks a schedule as deleted, if its item still has the revision that was seen. Answers the new revision. */
export function markRemoved(ctx: Context, schedule: Schedule, seen: Seen): Promise<Seen> {
  const now = ctx.clock();
  return write(ctx, schedule, seen, { changedAt: now, removed: true, expiresAt: ttl(now + REMOVED_AFTER) });
}

/** Removes what a deleted schedule was, such as the body of its jobs. The item stays, so that no late call makes a copy again. */
export async function forgetRemoved(
  ctx: Context,
  { name, revision }: Pick<Kept, "name" | "revision">,
): Promise<void> {
  const change = { key: recurringKey(name), expect: { revision }, set: { input: "" } };
  await ctx.pool.change(change, ctx.clock() + WRITER_DEADLINE);
}

/** The next schedules of the table, also deleted ones. One that cannot be read is reported and left out. */
export async function pageOfKept(
  ctx: Context,
  from: Position,
  limit: number,
): Promise<{ kept: Kept[]; last: string | undefined; more: boolean }> {
  const { items, more } = await ctx.pool.page(RECURRING, from, END, limit);
  const kept = items.flatMap((item) => {
    const found = layoutTrouble(item) === undefined ? keptIn(item as RecurringItem) : undefined;
    if (!found) reportUnreadable(ctx, item);
    return found ?? [];
  });
  return { kept, last: items.at(-1)?.sk, more };
}

async function write(
  ctx: Context,
  schedule: Schedule,
  seen: Seen,
  more: Pick<RecurringItem, "changedAt" | "removed" | "expiresAt">,
): Promise<Seen> {
  const by = ctx.clock() + WRITER_DEADLINE;
  const { name, expression, timezone, flexibleWindow, paused } = schedule;
  const revision = (seen?.revision ?? 0) + 1;
  const set = {
    revision,
    expression,
    timezone,
    input: occurrenceInput(schedule),
    ...(flexibleWindow === undefined ? {} : { flexibleWindow }),
    ...(paused && { paused: true as const }),
    ...more,
  };
  if (seen) {
    const remove = OPTIONAL.filter((one) => set[one] === undefined);
    const change = { key: recurringKey(name), expect: { revision: seen.revision }, set, remove };
    return (await ctx.pool.change(change, by)).changed ? { revision } : undefined;
  }
  const [outcome] = await ctx.pool.insert([{ ...recurringKey(name), v: ITEM_VERSION, ...set }], by);
  if (outcome instanceof Error) throw outcome;
  return outcome === "inserted" ? { revision } : undefined;
}

/** `undefined`: no version has written this item. */
function keptIn(item: RecurringItem): Kept | undefined {
  const { sk: name, expression, timezone, flexibleWindow, paused = false, removed } = item;
  const { revision, changedAt } = item;
  const window = flexibleWindow === undefined ? {} : { flexibleWindow };
  const stored = storedInput(item.input);
  const schedule = stored && { name, expression, timezone, paused, ...window, ...stored };
  if (removed) return { name, revision, schedule, isRemoved: true };
  return schedule && { name, revision, schedule, changedAt, isRemoved: false };
}

function reportUnreadable(ctx: Context, { sk }: Item): void {
  const error = `schedule ${sk} cannot be read: a newer version wrote it, or it is malformed`;
  ctx.report({ type: "trouble", topic: "", what: "reading a schedule", error });
}
