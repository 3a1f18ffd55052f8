import type { RandomBytes } from "../core/job-id.ts";

/** Bytes that are the same for the same seed, and good enough for ids: a linear congruential generator's upper ones. */
export function seededBytes(seed: number): RandomBytes {
  let state = seed >>> 0;
  return (count) =>
    Uint8Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    });
}
