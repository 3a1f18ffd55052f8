import { DAY, HOME_SURELY_KEPT, LEAST_ONCE_SLACK, ONCE_AFTER, ONCE_SLACK } from "../../core/constants.ts";
import { type Home, isFinished } from "../../core/home.ts";
import { onceKey, ttl } from "../../core/item-keys.ts";
import type { OnceItem, SharedOnceItem } from "../../core/items.ts";
import { type OnceNote, onceNotesOf, onceText } from "../../core/once.ts";
import { layoutTrouble } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { sharedJobs } from "./shared-once-item.ts";

/** A try is refused only if another process has changed the item since it was read. */
const TRIES = 10;
const WIDTH = 8;

/** The TTL (seconds since the epoch) of a once item that must answer until `lasts` ms after `time`. */
export function onceItemTtl(time: number, lasts = ONCE_AFTER): number {
  return ttl(time + lasts + ONCE_SLACK);
}

/** The item answers no repeat any more: its time has passed, and its job ended a day ago, or is not stored. */
export function isOnceOver(
  { expiresAt }: Pick<OnceItem, "expiresAt">,
  home: Home | undefined,
  now: number,
): boolean {
  if (expiresAt * 1000 - ONCE_SLACK > now) return false;
  if (!home) return true;
  return isFinished(home) && home.finishedAt + ONCE_AFTER <= now;
}

/** Whether TTL may have deleted a home that the item names (`HOME_SURELY_KEPT`). If not, a missing home was never stored. */
export function mayHaveEnded({ writtenAt = 0 }: { writtenAt?: number | undefined }, now: number): boolean {
  // rule: ended-job-is-not-stored-again
  return writtenAt + HOME_SURELY_KEPT <= now;
}

/** Keeps a job's once items for two days after `time`, before a move to it. Answers the home's new `once`, if any had to be prolonged. */
export async function prolongOnce(
  ctx: Context,
  home: Home,
  time: number,
  by: number,
): Promise<Pick<Home, "once">> {
  const notes = onceNotesOf(home.once);
  const least = ttl(time + ONCE_AFTER + LEAST_ONCE_SLACK);
  const short = notes.filter(({ expiresAt }) => expiresAt < least);
  if (short.length === 0) return {};
  // The end is rounded up to a whole day: the first move of a batch's jobs prolongs their shared item for all of them.
  const expiresAt = onceItemTtl(Math.ceil(time / DAY) * DAY);
  await inParallel(short, WIDTH, (note) => prolong(ctx, home, { ...note, expiresAt }, by));
  return { once: onceText(notes.map((note) => (short.includes(note) ? { ...note, expiresAt } : note))) };
}

/** Never shortens the item: of two moves at the same time either may win. */
async function prolong(ctx: Context, home: Home, { token, expiresAt }: OnceNote, by: number): Promise<void> {
  const key = onceKey(home.topic, token);
  let [item] = (await ctx.pool.read([key])) as [OnceItem | SharedOnceItem | undefined];
  let trouble: string | undefined;
  for (let i = 0; i < TRIES; i++) {
    trouble = item && layoutTrouble(item);
    // It names another job if it expired, a new request took the token, and then the job was redriven.
    if (trouble !== undefined || !item || !isNamedBy(item, home.id) || item.expiresAt >= expiresAt) break;
    trouble = `others changed it ${TRIES} times meanwhile`;
    const { id, seed }: { id?: string; seed?: string } = item;
    const expect = { id, seed, expiresAt: item.expiresAt };
    const outcome = await ctx.pool.change({ key, expect, set: { expiresAt } }, by);
    if (outcome.changed) return;
    item = outcome.item as OnceItem | SharedOnceItem | undefined;
  }
  // The job must not wait for an item that only a repeated request may need.
  if (trouble !== undefined) {
    const what = `keeping the once item of job ${home.id} for longer`;
    ctx.report({ type: "trouble", topic: home.topic, what, error: trouble });
  }
}

function isNamedBy(item: OnceItem | SharedOnceItem, id: string): boolean {
  return "seed" in item ? sharedJobs(item).some((job) => job?.id === id) : item.id === id;
}
