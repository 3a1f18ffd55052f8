import type { RandomBytes } from "../core/job-id.ts";

/** Creates random bytes that are the same for the same seed: the upper bytes of a linear congruential generator, good enough for ids. */
export function seededBytes(seed: number): RandomBytes {
  let state = seed >>> 0;
  return (count) =>
    Uint8Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    });
}
