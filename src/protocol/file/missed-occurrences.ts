import { DAY, WRITER_DEADLINE } from "../../core/constants.ts";
import { CHECKED_KEY, onceKey } from "../../core/item-keys.ts";
import { type Checked, ITEM_VERSION } from "../../core/items.ts";
import { occurrenceToken, type Schedule } from "../../core/occurrence.ts";
import { BEGINNING, type Position, storedPosition } from "../../core/position.ts";
import { chunksOf } from "../../general/batches.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { occurrencesIn } from "./occurrences.ts";

/** ms. Scheduler may fire a minute late, and Lambda tries again after one minute and after two. */
const FILED_WITHIN = 15 * 60_000;
const READ_AT_ONCE = 100;

/** After `from` and up to `to`: ms since the epoch. */
export type Period = { readonly from: number; readonly to: number };

/** A comparison of all schedules. It checks the occurrences of a period. `place`: all schedules before it are compared. */
export type Comparison = Period & { readonly place: Position };

/**
 * The comparison that an earlier tick has not finished, or else a new one. Its period begins where the last comparison's ended, at most a day
 * before its end. It ends where occurrences may still be filed.
 */
export async function nextComparison(ctx: Context): Promise<Comparison> {
  const [item] = await ctx.pool.read([CHECKED_KEY]);
  const { until = 0, to = ctx.clock() - FILED_WITHIN, place } = (item ?? {}) as Partial<Checked>;
  return {
    from: Math.max(until, to - DAY),
    to,
    place: place === undefined ? BEGINNING : storedPosition(place),
  };
}

export function noteUnfinished(ctx: Context, { from, to, place }: Comparison): Promise<void> {
  return note(ctx, { until: from, to, place });
}

export function noteFinished(ctx: Context, { to }: Comparison): Promise<void> {
  return note(ctx, { until: to });
}

async function note(ctx: Context, set: Pick<Checked, "until" | "to" | "place">): Promise<void> {
  const by = ctx.clock() + WRITER_DEADLINE;
  const remove = (["to", "place"] as const).filter((one) => set[one] === undefined);
  const { changed } = await ctx.pool.change({ key: CHECKED_KEY, expect: {}, set, remove }, by);
  if (!changed) await ctx.pool.insert([{ ...CHECKED_KEY, v: ITEM_VERSION, ...set }], by);
}

/**
 * The occurrences of a period that are not filed. `since`: when the schedule became what it is. An untracked topic stores no once items, so
 * nobody knows which of its occurrences are filed. @throws `bad-request`: only a newer version can read the expression
 */
export async function missedIn(
  ctx: Context,
  schedule: Schedule,
  since: number,
  { from, to }: Period,
): Promise<number[]> {
  const { paused, flexibleWindow = 0, job } = schedule;
  if (paused || policyOf(ctx, job.topic).tracking === "none") return [];
  const times = await occurrencesIn(schedule, Math.max(from - flexibleWindow, since), to - flexibleWindow);
  return notFiled(ctx, schedule, times);
}

/** Those of these occurrences that have no once item. */
export async function notFiled(
  ctx: Context,
  { name, job }: Schedule,
  times: readonly number[],
): Promise<number[]> {
  const missed: number[] = [];
  for (const some of chunksOf(times, READ_AT_ONCE)) {
    const items = await ctx.pool.read(some.map((time) => onceKey(job.topic, occurrenceToken(name, time))));
    missed.push(...some.filter((_, index) => items[index] === undefined));
  }
  return missed;
}

export function reportMissed(ctx: Context, { name, job }: Schedule, times: readonly number[]): void {
  if (times.length > 0) ctx.report({ type: "missed", topic: job.topic, schedule: name, times });
}
