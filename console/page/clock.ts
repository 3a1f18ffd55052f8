import { signal } from "@preact/signals";

/** How many ms the clock of the local stack was moved ahead of this machine's. A deployed queue has the machine's time. */
export const ahead = signal(0);

/** The present time of the queue, ms since the epoch. */
export function clock(): number {
  return Date.now() + ahead.value;
}
