import type { RandomBytes } from "./job-id.ts";

/** Draws whole ms from 0 to less than `spread`, all equally likely. `spread` is at most 2^32 ms. */
export function drawWithin(spread: number, random: RandomBytes): number {
  const drawn = random(4).reduce((sum, byte) => sum * 256 + byte, 0);
  return Math.floor((drawn / 2 ** 32) * spread);
}
