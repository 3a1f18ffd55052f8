export type Random = () => number;

/** Tommy Ettinger's mulberry32. The same seed gives the same numbers. Only the lower 32 bits of the seed are used. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function between(random: Random, low: number, high: number): number {
  return low + random() * (high - low);
}

/** Draws as `between`, but evenly by magnitude: 1 to 10 is as likely as 10 to 100. */
export function betweenByMagnitude(random: Random, low: number, high: number): number {
  return low * (high / low) ** random();
}

/** Draws one of the values, with a probability in proportion to its weight. */
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
