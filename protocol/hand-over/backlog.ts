import type { Context } from "../ports.ts";

/** Whether the consumers of a topic are behind. */
export type Backlogs = (topic: string) => Promise<boolean>;

/**
 * Makes the function that says whether a topic's consumers are behind. Each queue is asked only once, because the messages that a tick
 * sends afterwards are no sign of slow consumers.
 */
export function backlogsOf(ctx: Context): Backlogs {
  const known = new Map<string, Promise<boolean>>();
  return (topic) => {
    const answer = known.get(topic) ?? hasBacklog(ctx, topic);
    known.set(topic, answer);
    return answer;
  };
}

/**
 * Whether a job that the audit finds may still lie in its queue. Such a job is late by seven minutes or more. If it lies there, so do the
 * messages of seven minutes, and these are more than the `delayed` ones, which are those of the next three minutes. Up to
 * `healthyReady` messages may be ready at any moment though consumers keep up. If the queue does not answer, the job is sent.
 */
async function hasBacklog(ctx: Context, topic: string): Promise<boolean> {
  try {
    const { ready, delayed } = await ctx.queues.depth({ topic });
    return ready > Math.max(delayed, ctx.sizes.healthyReady);
  } catch {
    return false;
  }
}
