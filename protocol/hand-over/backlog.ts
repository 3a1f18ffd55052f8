import type { Context } from "../ports.ts";

/** Whether the consumers of a topic are behind. */
export type Backlogs = (topic: string) => Promise<boolean>;

/** Asks each queue once: what its asker sends from then on is no sign of slow consumers. */
export function backlogsOf(ctx: Context): Backlogs {
  const known = new Map<string, Promise<boolean>>();
  return (topic) => {
    const answer = known.get(topic) ?? hasBacklog(ctx, topic);
    known.set(topic, answer);
    return answer;
  };
}

/**
 * Whether a job that the audit finds may still lie in its queue. It is seven minutes late or more: so do then the messages of
 * as many minutes, and `delayed` are those of the next three. A queue that does not answer is no reason not to send.
 */
async function hasBacklog(ctx: Context, topic: string): Promise<boolean> {
  try {
    const { ready, delayed } = await ctx.queues.depth({ topic });
    return ready > Math.max(delayed, ctx.sizes.healthyReady);
  } catch {
    return false;
  }
}
