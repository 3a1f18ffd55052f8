import type { Context } from "./ports.ts";

/** Whether a topic's consumers are merely behind. A queue that does not answer is no reason not to send. */
export async function hasBacklog(ctx: Context, topic: string): Promise<boolean> {
  try {
    return (await ctx.queues.depth({ topic })).ready > 0;
  } catch {
    return false;
  }
}
