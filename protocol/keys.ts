import { messageOf } from "../core/errors.ts";
import { type Home, type KeyItem, keyKey } from "../core/items.ts";
import type { Context, Write } from "./ports.ts";

/**
 * Lets the key item of a finished job go with its home, if it still names that job. A finished job frees
 * its key in any case: this only keeps the table clean, so that its failure is reported and no more.
 */
export async function releaseKey(
  ctx: Context,
  job: { id: string; topic: string; key?: string },
  expiresAt: number,
  by: number,
): Promise<void> {
  if (job.key === undefined) return;
  try {
    const key = keyKey(job.topic, job.key);
    await ctx.pool.change({ key, expect: { id: job.id }, set: { expiresAt } }, by);
  } catch (error) {
    ctx.report({ type: "trouble", topic: job.topic, what: "letting a key go", error: messageOf(error) });
  }
}

/** What a redrive of a keyed job must hold together with: its key still names it, or names none. */
export async function reclaimKey(ctx: Context, home: Home): Promise<Write | "taken"> {
  const key = keyKey(home.topic, home.key ?? "");
  const [holder] = (await ctx.pool.read([key])) as [KeyItem | undefined];
  if (!holder) return { insert: { ...key, v: home.v, id: home.id } };
  if (holder.id !== home.id) return "taken";
  return { change: { key, expect: { id: home.id }, set: {}, remove: ["expiresAt"] } };
}

/** The id of the job that a caller's own key names. */
export async function jobOfKey(ctx: Context, topic: string, key: string): Promise<string | undefined> {
  const [item] = (await ctx.pool.read([keyKey(topic, key)])) as [KeyItem | undefined];
  return item?.id;
}
