import { NO_ANSWER_AFTER } from "../../core/constants.ts";
import type { Depth, QueueName, Queues } from "../ports.ts";

/**
 * Wraps the queues for one tick, so that a queue that hangs is not asked again: each such call takes `HANGS_FOR`. After a send that hung, `send` and
 * `depth` fail at once, and after any `depth` that failed, `depth`. After a send that failed at once, the queue is asked again, because no caller waits for it. `hung`: what `hung()` has answered in the tick that shares its work.
 */
export function circuitBreaker(
  queues: Queues,
  clock: () => number,
  hung: readonly string[] = [],
): Queues & { readonly hung: () => readonly string[] } {
  const reason = "not asked again for now: the queue hung when the tick sent to it";
  const unsent = new Map(hung.map((name) => [name, reason]));
  const unanswered = new Map<string, unknown>(hung.map((name) => [name, new Error(reason)]));
  return {
    hung: () => [...unsent.keys()],
    receive: (queue, options) => queues.receive(queue, options),
    remove: (queue, handles, patience) => queues.remove(queue, handles, patience),
    hide: (queue, messages, patience) => queues.hide(queue, messages, patience),
    depth: depthsOf(queues, unanswered),
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
  };
}

/** Asks each queue once at a time, and not again after an error, which it notes in `unanswered`. */
function depthsOf(queues: Queues, unanswered: Map<string, unknown>): Queues["depth"] {
  const asking = new Map<string, Promise<Depth>>();
  return async (queue) => {
    const name = nameOf(queue);
    if (unanswered.has(name)) throw unanswered.get(name);
    const answer = asking.get(name) ?? queues.depth(queue);
    asking.set(name, answer);
    try {
      return await answer;
    } catch (error) {
      // SQS may fail one kind of call and not another. So `send` still calls the queue.
      unanswered.set(name, error);
      throw error;
    } finally {
      asking.delete(name);
    }
  };
}

/** For a process that lives longer than a tick: a queue that hangs is asked again after at most `ms`. */
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
