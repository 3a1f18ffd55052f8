import { NO_ANSWER_AFTER } from "../../core/constants.ts";
import type { Depth, QueueName, Queues } from "../ports.ts";

/**
 * The queues as one tick uses them: one that hangs is not asked again. A call that hangs takes as long as its client
 * waits, and a tick makes many, for many topics. So a queue that hangs costs each of those who ask it at once one such wait;
 * what is asked later is answered the same without a call. The next tick tries anew. A call that fails soon costs nobody a wait, and
 * the next one may well be taken.
 */
export function circuitBreaker(queues: Queues, clock: () => number): Queues {
  const unsent = new Map<string, string>();
  const unanswered = new Map<string, unknown>();
  const asking = new Map<string, Promise<Depth>>();
  return {
    receive: (queue, options) => queues.receive(queue, options),
    remove: (queue, handles, patience) => queues.remove(queue, handles, patience),
    hide: (queue, messages, patience) => queues.hide(queue, messages, patience),
    async send(queue, messages) {
      const name = nameOf(queue);
      const reason = unsent.get(name);
      if (reason !== undefined) return messages.map(() => ({ outcome: "unreachable", reason }));
      const begun = clock();
      const sent = await queues.send(queue, messages);
      if (clock() - begun < NO_ANSWER_AFTER) return sent;
      const failure = sent.find(({ outcome }) => outcome === "unreachable");
      if (failure && "reason" in failure) {
        unsent.set(name, `not asked again for now: ${failure.reason}`);
        unanswered.set(name, new Error(failure.reason));
      }
      return sent;
    },
    async depth(queue) {
      const name = nameOf(queue);
      if (unanswered.has(name)) throw unanswered.get(name);
      const answer = asking.get(name) ?? queues.depth(queue);
      asking.set(name, answer);
      try {
        return await answer;
      } catch (error) {
        // It may still take messages: SQS fails one call and not another.
        unanswered.set(name, error);
        throw error;
      } finally {
        asking.delete(name);
      }
    },
  };
}

/** The queues as a process uses them that lives on: one that nobody reached is asked again at most `ms` later, by `clock`. */
export function renewedBreaker(queues: Queues, clock: () => number, ms: number): () => Queues {
  let until = clock() + ms;
  let breaker = circuitBreaker(queues, clock);
  return () => {
    if (clock() >= until) {
      until = clock() + ms;
      breaker = circuitBreaker(queues, clock);
    }
    return breaker;
  };
}

function nameOf(queue: QueueName): string {
  return JSON.stringify([queue.events, queue.dead, queue.events ? "" : queue.topic]);
}
