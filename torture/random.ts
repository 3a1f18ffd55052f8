/** Numbers of 0 up to, not with, 1: the same seed gives the same ones. */
export type Random = () => number;

/** Tommy Ettinger's mulberry32, as it is usually written down. `seed`: 32 bits count. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A number of `low` up to, not with, `high`. */
export function between(random: Random, low: number, high: number): number {
  return low + random() * (high - low);
}

/** As `between`, but as many between 1 and 10 as between 10 and 100. */
export function betweenByMagnitude(random: Random, low: number, high: number): number {
  return low * (high / low) ** random();
}

/** One of the values, each as likely as its weight says. */
export function pick<T>(random: Random, weighted: readonly (readonly [value: T, weight: number])[]): T {
  let rest = random() * weighted.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [value, weight] of weighted) {
    rest -= weight;
    if (rest < 0) return value;
  }
  const last = weighted.at(-1);
  if (!last) throw new Error("nothing to pick from");
  return last[0];
}
