import type { Context } from "../ports.ts";

/** How many queues are asked at once. Each queue that hangs takes as long as its client waits. */
export const ASKED_AT_ONCE = 24;

/** What a tick knows about the queues of the topics. */
export type Backlogs = {
  /** Says whether the consumers of a topic are behind. */
  isBehind(topic: string): Promise<boolean>;
};

/** Asks each queue only once: the messages that a tick sends afterwards are no sign of slow consumers. */
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

/**
 * Asks a topic's queue whether the topic's consumers are behind: docs/internals/decisions/audit.md. If the queue does not answer, they do not
 * count as behind, so jobs are sent.
 */
async function readBacklog(ctx: Context, topic: string): Promise<boolean> {
  try {
    const { ready, delayed } = await ctx.queues.depth({ topic });
    return ready > Math.max(delayed, ctx.sizes.healthyReady);
  } catch {
    return false;
  }
}
