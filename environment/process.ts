import { randomBytes } from "node:crypto";
import { LONGEST_TIMER } from "../core/constants.ts";
import type { RandomBytes } from "../core/job-id.ts";
import type { Timers } from "../protocol/ports.ts";

/** The clock, the randomness and the timers of this process. All other code gets them as arguments. */

/** ms since the epoch. */
export const clock = (): number => Date.now();

export const random: RandomBytes = (count) => randomBytes(count);

/** A longer wait is cut to `LONGEST_TIMER`, because Node would fire a longer timer at once. */
export const TIMERS: Timers = {
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_TIMER))),
  after(ms, act) {
    const timer = setTimeout(act, Math.min(ms, LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
};
