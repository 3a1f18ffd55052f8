export type Draws = {
  next(): number;
  whole(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
};

/** Depends only on the seed and the name: if one decision is left out, all others draw as before. So a history can be shrunk. */
export function drawsOf(seed: number, name: string): Draws {
  // sfc32, seeded with a hash of the name (FNV-1a). Both algorithms are in the public domain.
  let a = 2_166_136_261 ^ seed;
  for (let i = 0; i < name.length; i++) a = Math.imul(a ^ name.charCodeAt(i), 16_777_619);
  let b = Math.imul(seed ^ 0x9e37_79b9, 0x85eb_ca6b);
  let c = a ^ 0x2545_f491;
  let counter = 1;
  const step = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 4_294_967_296;
  };
  for (let i = 0; i < 12; i++) step();
  return {
    next: step,
    whole: (low, high) => low + Math.floor(step() * (high - low + 1)),
    chance: (probability) => step() < probability,
    pick: (from) => from[Math.floor(step() * from.length)] as (typeof from)[number],
  };
}

const HEAVIEST = 100;

/** Draws a weight for each verb, or none: each history has a mixture of its own. Answers a function that draws one of the verbs. */
export function mixOf<T>(draws: Draws, verbs: readonly T[]): (own: Draws) => T {
  const on = verbs.filter(() => draws.chance(0.7));
  const chosen = on.length > 0 ? on : [draws.pick(verbs)];
  const lots = chosen.flatMap((verb) => Array<T>(draws.whole(1, HEAVIEST)).fill(verb));
  return (own) => own.pick(lots);
}

/** Draws a probability for one history: 0, or up to `most`. */
export function shareOf(draws: Draws, most: number): number {
  return draws.chance(0.25) ? 0 : draws.next() * most;
}
