import { signal } from "@preact/signals";
import { clockOff } from "../../src/general/clock-off.ts";

/** How many ms the clock of the local stack was moved ahead of this machine's. A deployed queue has the machine's time. */
export const ahead = signal(0);

/** How many ms the queue's time is ahead of that besides, because the clock of this machine is wrong. */
export const wrong = signal(0);
/** A smaller difference disturbs nobody, ms. */
const LEAST_WRONG = 5000;
ahead.subscribe(() => {
  wrong.value = 0;
});

/**
 * Learns the time of the queue from the time at which the API answered a call that was sent at `sent`, on this machine's clock, and was
 * answered now. Each time between these two may be right, because an answer can be slow.
 */
export function learnTime(at: string, sent: number): void {
  const off = clockOff(Date.parse(at), queueTime(sent), clock());
  if (Math.abs(off) > LEAST_WRONG) wrong.value += off;
}

/** The time of the queue at a time of this machine's clock, ms since the epoch. */
export function queueTime(ms: number): number {
  return ms + ahead.value + wrong.value;
}

/** The present time of the queue, ms since the epoch. */
export function clock(): number {
  return queueTime(Date.now());
}
