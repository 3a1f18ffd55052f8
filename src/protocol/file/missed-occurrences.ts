import { DAY, WRITER_DEADLINE } from "../../core/constants.ts";
import { CHECKED_KEY, onceKey } from "../../core/item-keys.ts";
import { type Checked, ITEM_VERSION } from "../../core/items.ts";
import { occurrenceToken, type Schedule } from "../../core/occurrence.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { occurrencesIn } from "./occurrences.ts";

/** ms. Scheduler may fire a minute late, and Lambda tries again after one minute and after two. */
const FILED_WITHIN = 15 * 60_000;
const READ_AT_ONCE = 100;

/** After `from` and up to `to`: ms since the epoch. */
export type Period = { readonly from: number; readonly to: number };

/** The period whose occurrences must be filed by now, and which no earlier comparison has checked; at most a day. */
export async function uncheckedPeriod(ctx: Context): Promise<Period> {
  const to = ctx.clock() - FILED_WITHIN;
  const [item] = await ctx.pool.read([CHECKED_KEY]);
  const { until = 0 } = (item ?? {}) as Partial<Checked>;
  return { from: Math.max(until, to - DAY), to };
}

export async function noteChecked(ctx: Context, { to }: Period): Promise<void> {
  const by = ctx.clock() + WRITER_DEADLINE;
  const { changed } = await ctx.pool.change({ key: CHECKED_KEY, expect: {}, set: { until: to } }, by);
  if (!changed) await ctx.pool.insert([{ ...CHECKED_KEY, v: ITEM_VERSION, until: to }], by);
}

/**
 * Reports the occurrences of a period that are not filed. `since`: when the schedule became what it is. An untracked topic stores no once items,
 * so nobody knows which of its occurrences are filed.
 */
export async function reportMissed(
  ctx: Context,
  schedule: Schedule,
  since: number,
  { from, to }: Period,
): Promise<void> {
  const { name, paused, flexibleWindow = 0, job } = schedule;
  if (paused || policyOf(ctx, job.topic).tracking === "none") return;
  const times = await occurrencesIn(schedule, Math.max(from - flexibleWindow, since), to - flexibleWindow);
  const missed: number[] = [];
  for (let i = 0; i < times.length; i += READ_AT_ONCE) {
    const some = times.slice(i, i + READ_AT_ONCE);
    const items = await ctx.pool.read(some.map((time) => onceKey(job.topic, occurrenceToken(name, time))));
    missed.push(...some.filter((_, index) => items[index] === undefined));
  }
  if (missed.length === 0) return;
  ctx.report({ type: "missed", topic: job.topic, schedule: name, times: missed });
}
