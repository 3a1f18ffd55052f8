import { signal } from "@preact/signals";

/** How many ms the clock of the local stack was moved ahead of this machine's. A deployed queue has the machine's time. */
export const ahead = signal(0);

/** How many ms the queue's time is ahead of that besides, because the clock of this machine is wrong. */
export const wrong = signal(0);
/** A smaller difference may be the time that an answer takes, ms. */
const LEAST_WRONG = 5000;
ahead.subscribe(() => {
  wrong.value = 0;
});

/** Learns the time of the queue from the time at which the API has just answered. */
export function learnTime(at: string): void {
  const off = Date.parse(at) - queueTime(Date.now());
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
