import type { Context } from "../ports.ts";

/** How many queues are asked at once. */
export const ASKED_AT_ONCE = 24;

export type Backlogs = {
  isBehind(topic: string): Promise<boolean>;
};

/** Asks each queue once: the messages that a tick sends afterwards are no sign of slow consumers. */
export function backlogsOf(ctx: Context): Backlogs {
  const known = new Map<string, Promise<boolean>>();
  return {
    isBehind(topic) {
      const answer = known.get(topic) ?? readBacklog(ctx, topic);
      known.set(topic, answer);
      return answer;
    },
  };
}

/** See docs/internals/decisions/audit.md. If the queue does not answer, the consumers do not count as behind. */
async function readBacklog(ctx: Context, topic: string): Promise<boolean> {
  try {
    const { ready, delayed } = await ctx.queues.depth({ topic });
    return ready > Math.max(delayed, ctx.sizes.healthyReady);
  } catch {
    return false;
  }
}
