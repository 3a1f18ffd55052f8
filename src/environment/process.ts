import { randomBytes } from "node:crypto";
import { LONGEST_TIMER } from "../core/constants.ts";
import type { RandomBytes } from "../core/job-id.ts";
import type { Timers } from "../protocol/ports.ts";

/** The clock, the randomness and the timers of this process. All other code gets them as arguments. */

/** ms since the epoch. */
export const clock = (): number => Date.now();

export const random: RandomBytes = (count) => randomBytes(count);

/** Node would fire a timer longer than `LONGEST_TIMER` at once. */
export const TIMERS: Timers = {
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_TIMER))),
  after(ms, act) {
    const timer = setTimeout(act, Math.min(ms, LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
};
