import { messageOf } from "../../core/errors.ts";
import type { Head } from "../../core/home.ts";
import { deadKey } from "../../core/item-keys.ts";
import type { Context, Deadline } from "../ports.ts";

/** Removes the entry of a job that was dead when it was read. A failure is only reported: lists pass over an entry whose job is not dead. */
export async function removeDeadEntry(
  ctx: Context,
  { id, topic, finishedAt = 0 }: Head,
  by: Deadline,
): Promise<void> {
  try {
    await ctx.pool.remove([deadKey(topic, finishedAt, id)], by);
  } catch (error) {
    ctx.report({ type: "trouble", topic, what: "removing a dead entry", error: messageOf(error) });
  }
}
