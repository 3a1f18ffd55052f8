import { CLOCK_MARGIN, TOMBSTONE_AFTER, WRITER_DEADLINE } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { isFinished, isRunning } from "../core/home.ts";
import { type Home, homeKey, ITEM_VERSION, type Tombstone, tombstoneKey, ttl } from "../core/items.ts";
import { cancelMany } from "./cancel.ts";
import { readKeyHolder } from "./key-holder.ts";
import type { Context } from "./ports.ts";

const TRIES = 10;
const NOT_AS_READ: ReadonlySet<string> = new Set(["job-running", "job-finished", "job-not-found"]);

/** What an event cancels. Times are ms since the epoch. */
export type CancellingEvent = {
  topic: string;
  key: string;
  /** When it happened. */
  at: number;
  /** Until then jobs of the key that are filed are cancelled too; not after `at`: none are. */
  until: number;
};

/**
 * Cancels the job of a key; where there is none yet, leaves a tombstone, under which jobs are cancelled as they are
 * filed. One that runs is not run again. A job that has ended since the event happened shows that it was told before, and
 * one filed after `until` is none of its. Throws `unavailable`: to be repeated.
 */
export async function cancelByEvent(ctx: Context, event: CancellingEvent): Promise<void> {
  for (let i = 0; i < TRIES; i++) {
    const { holder, tombstone } = await readKeyHolder(ctx, event.topic, event.key, true);
    if (holder && !isFinished(holder)) {
      if (isFiledLater(holder, event) || (await cancelHolder(ctx, holder))) return;
    } else if ((holder?.finishedAt ?? 0) >= event.at || event.until <= event.at) return;
    else if (tombstone && tombstone.until >= event.until) return;
    // And look again: who filed a job before it stood has not seen it.
    else await leaveTombstone(ctx, event, tombstone);
  }
  throw new MinutehandError("unavailable", `the key of a job of topic ${event.topic} keeps changing hands`);
}

/** The clocks of whoever files jobs and of the event's sender may differ, and EventBridge counts in whole seconds. */
function isFiledLater({ createdAt }: Home, { until }: CancellingEvent): boolean {
  return createdAt > until + CLOCK_MARGIN;
}

/** Whether it is cancelled, or will be unless the run in hand succeeds; `false`: it is not as it was read any more. */
async function cancelHolder(ctx: Context, home: Home): Promise<boolean> {
  const now = ctx.clock();
  if (isRunning(home, now)) {
    const expect = { state: "running", token: home.token };
    const change = { key: homeKey(home.id), expect, set: { cancelAskedAt: now } };
    return (await ctx.pool.change(change, now + WRITER_DEADLINE)).changed;
  }
  const [result] = await cancelMany(ctx, [home.id]);
  if (!(result instanceof MinutehandError)) return true;
  if (NOT_AS_READ.has(result.code)) return false;
  throw result;
}

async function leaveTombstone(
  ctx: Context,
  { topic, key, at, until }: CancellingEvent,
  before: Tombstone | undefined,
): Promise<void> {
  const place = tombstoneKey(topic, key);
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  // Over or not: an event that files a job, and happened before, may be told later still.
  const says = { eventAt: at, until, expiresAt: ttl(Math.max(until, now) + TOMBSTONE_AFTER) };
  if (before) await ctx.pool.change({ key: place, expect: { until: before.until }, set: says }, by);
  else {
    const [outcome] = await ctx.pool.insert([{ ...place, v: ITEM_VERSION, ...says }], by);
    if (outcome instanceof Error) throw outcome;
  }
  ctx.report({ type: "tombstone", topic, until });
}
