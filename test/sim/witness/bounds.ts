import { WRITER_DEADLINE } from "../../../src/core/constants.ts";
import type { Weather } from "../faults.ts";

/** The most ms from the read of a pause to the run: until an invocation reaches its timeout, or a caller of `receive` gives up. */
export const LONGEST_CLAIM = 60_000;

/** The most ms from the moment at which a writer chose the times that it writes to the moment at which the write takes effect. */
export const LATEST_WRITE = WRITER_DEADLINE + 300_000;

export type Bounds = ReturnType<typeof boundsOf>;

/** How long each step of the code may last in some weather. ms. */
export function boundsOf(weather: Weather) {
  const isCalm = weather === "calm";
  const claim = isCalm ? 2000 : LONGEST_CLAIM;
  return {
    claim,
    /** From a start that a job is given until its home says it. If it were longer, the wait for the start would count as lateness. */
    start: isCalm ? WRITER_DEADLINE : LATEST_WRITE,
    /** From the read of a pause to the end of a late job. */
    end: isCalm ? claim : claim + LATEST_WRITE,
    /** From the check of a topic's window to the send: a call may be repeated, or a function may freeze. */
    send: weather === "hurt" ? 200_000 : 65_000,
  };
}
