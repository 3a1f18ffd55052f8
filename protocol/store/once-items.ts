import { LEAST_ONCE_SLACK, ONCE_AFTER, ONCE_SLACK } from "../../core/constants.ts";
import { isFinished } from "../../core/home.ts";
import { type Home, type OnceItem, onceKey, ttl } from "../../core/items.ts";
import { type OnceNote, onceNotesOf, onceText } from "../../core/once.ts";
import { layoutTrouble } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";

const TRIES = 10;
const WIDTH = 8;

/** Until when a once item is stored, in seconds since the epoch, that must answer until `lasts` ms after `time`. */
export function onceEnd(time: number, lasts = ONCE_AFTER): number {
  return ttl(time + lasts + ONCE_SLACK);
}

/**
 * Whether a once item answers no more: its own time has passed, and its job has been over for a day or is not stored any
 * more. TTL deletes days late, so that an item may still be there. `home`: of its job.
 */
export function isOnceOver({ expiresAt }: OnceItem, home: Home | undefined, now: number): boolean {
  if (expiresAt * 1000 - ONCE_SLACK > now) return false;
  if (!home || home.untracked) return true;
  return isFinished(home) && (home.finishedAt ?? 0) + ONCE_AFTER <= now;
}

/**
 * Makes sure that the once items of a job are stored for two days after `time`, before the job may live until then: it may be
 * late and run for long, and its items answer for a day after its end. TTL would take them, and a repeated request would file a
 * second job. Answers what the home is to say of them from now on.
 */
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
  const expiresAt = onceEnd(time);
  await inParallel(short, WIDTH, (note) => prolong(ctx, home, { ...note, expiresAt }, by));
  return { once: onceText(notes.map((note) => (short.includes(note) ? { ...note, expiresAt } : note))) };
}

/** Only ever prolongs: of two movers at once either may be the one whose move holds. */
async function prolong(ctx: Context, home: Home, { token, expiresAt }: OnceNote, by: number): Promise<void> {
  const key = onceKey(home.topic, token);
  let [item] = (await ctx.pool.read([key])) as [OnceItem | undefined];
  let trouble: string | undefined;
  for (let i = 0; i < TRIES; i++) {
    trouble = item && layoutTrouble(item);
    // It names another job when its time was over and its job too: this one was redriven since.
    if (trouble !== undefined || item?.id !== home.id || item.expiresAt >= expiresAt) break;
    trouble = `others changed it ${TRIES} times meanwhile`;
    const expect = { id: item.id, expiresAt: item.expiresAt };
    const outcome = await ctx.pool.change({ key, expect, set: { expiresAt } }, by);
    if (outcome.changed) return;
    item = outcome.item as OnceItem | undefined;
  }
  // The job goes on: it must not wait for what only a repeated request may need.
  if (trouble !== undefined) {
    const what = `keeping the once item of job ${home.id} for longer`;
    ctx.report({ type: "trouble", topic: home.topic, what, error: trouble });
  }
}
