import type { RandomBytes } from "./job-id.ts";

/** Whole ms, evenly drawn, 0 and more but less than `spread`; `spread` is at most 2^32 ms. */
export function drawWithin(spread: number, random: RandomBytes): number {
  const drawn = random(4).reduce((sum, byte) => sum * 256 + byte, 0);
  return Math.floor((drawn / 2 ** 32) * spread);
}
