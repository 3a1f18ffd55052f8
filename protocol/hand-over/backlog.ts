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
 * Whether a job that the audit finds may still lie in its queue. The job is late by seven minutes or more. If its message is still in the
 * queue, the messages of the last seven minutes are there too. These are more than the `delayed` messages, which belong to the next three
 * minutes. Up to `healthyReady` messages may be ready at any moment although consumers keep up. If the queue does not answer, the answer is
 * `false`, so that the job is sent.
 */
async function hasBacklog(ctx: Context, topic: string): Promise<boolean> {
  try {
    const { ready, delayed } = await ctx.queues.depth({ topic });
    return ready > Math.max(delayed, ctx.sizes.healthyReady);
  } catch {
    return false;
  }
}
