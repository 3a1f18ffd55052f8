import type { Timers } from "../protocol/ports.ts";

/**
 * The timers of a queue in memory. They never wait: a message is delivered or received when its job can start, and no time passes in a run or in a
 * call of the client.
 */
export const STILL: Timers = {
  async wait(ms) {
    throw new Error(`the queue's clock stands still, so nothing can wait for ${ms} ms`);
  },
  after: () => () => {},
};
