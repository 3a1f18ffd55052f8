import { LONGEST_TIMER } from "../core/constants.ts";
import type { Timers } from "../protocol/ports.ts";

/** Timers on the wall clock. A longer wait is cut to `LONGEST_TIMER`, because Node would fire a longer timer at once. */
export const TIMERS: Timers = {
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_TIMER))),
  after(ms, act) {
    const timer = setTimeout(act, Math.min(ms, LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
};
