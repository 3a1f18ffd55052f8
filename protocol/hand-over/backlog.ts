import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";

/** How many queues are asked at once. Each queue that hangs takes as long as its client waits. */
export const ASKED_AT_ONCE = 24;

/** What a tick knows about the queues of the topics. */
export type Backlogs = {
  /** Says whether the consumers of a topic are behind. */
  isBehind(topic: string): Promise<boolean>;
  /**
   * Says how many of `count` late jobs count as jobs whose messages lie in the queue. In one tick these are at most as many jobs as the
   * queue has ready messages. Suppose that there were no such bound, and that SQS took no messages for an hour. Then the few older messages
   * would make the consumers count as behind, and all late jobs of a limited topic would be sent without starts, and would run at once. A
   * message may contain several jobs, so the bound may be too low. Then a job gets another start although its message lies in the queue,
   * and this start is wasted.
   */
  takeMessages(topic: string, count: number): Promise<number>;
};

/** `left`: how many messages of the queue no call of `takeMessages` has counted yet, 0 if consumers keep up. */
type Backlog = { readonly isBehind: boolean; left: number };

/**
 * Makes the functions that say whether topics' consumers are behind. Each queue is asked only once, because the messages that a tick
 * sends afterwards are no sign of slow consumers.
 */
export function backlogsOf(ctx: Context): Backlogs {
  const known = new Map<string, Promise<Backlog>>();
  const of = (topic: string): Promise<Backlog> => {
    const answer = known.get(topic) ?? readBacklog(ctx, topic);
    known.set(topic, answer);
    return answer;
  };
  return {
    isBehind: async (topic) => (await of(topic)).isBehind,
    takeMessages: async (topic, count) => {
      const backlog = await of(topic);
      const taken = Math.min(count, backlog.left);
      backlog.left -= taken;
      return taken;
    },
  };
}

/** Answers those of these topics whose consumers are behind. */
export async function topicsBehind(
  { isBehind }: Pick<Backlogs, "isBehind">,
  topics: readonly string[],
): Promise<string[]> {
  const answers = await inParallel(topics, ASKED_AT_ONCE, isBehind);
  return topics.filter((_, i) => answers[i]);
}

/**
 * What a further invocation of a tick knows about the queues: only what the tick knew. The queues now have messages that the tick and other
 * invocations have just sent. These would look like a backlog. No late job counts as a job whose message lies in the queue, so
 * in a topic with a limit some starts may be wasted.
 * @param behind the topics whose consumers are behind
 */
export function knownBacklogs(behind: readonly string[]): Backlogs {
  const topics = new Set(behind);
  return {
    isBehind: async (topic) => topics.has(topic),
    takeMessages: async () => 0,
  };
}

/**
 * Asks a topic's queue whether the topic's consumers are behind. If they are, a late job's message may still lie in the queue. A job that
 * the audit finds is late by seven minutes or more. If its message still lies in the queue, the messages of the last seven minutes lie
 * there too. They usually are more than the `delayed` messages, which belong to the next three minutes. Up to `healthyReady` messages may
 * be ready at any moment although consumers keep up. If the queue does not answer, consumers do not count as behind, so jobs are sent.
 */
async function readBacklog(ctx: Context, topic: string): Promise<Backlog> {
  try {
    const { ready, delayed } = await ctx.queues.depth({ topic });
    const isBehind = ready > Math.max(delayed, ctx.sizes.healthyReady);
    return { isBehind, left: isBehind ? ready : 0 };
  } catch {
    return { isBehind: false, left: 0 };
  }
}
