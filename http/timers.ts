import { LONGEST_TIMER } from "../core/constants.ts";
import type { Timers } from "../protocol/ports.ts";

/** Timers on the wall clock. Node would fire a timer that is longer than `LONGEST_TIMER` at once. */
export const TIMERS: Timers = {
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_TIMER))),
  after(ms, act) {
    const timer = setTimeout(act, Math.min(ms, LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
};
