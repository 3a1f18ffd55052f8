import { SIZES, type Sizes } from "../../src/core/work-sizes.ts";
import { drawsOf } from "./draws.ts";

/** Sizes so small that the jobs of a history fill several pages, packs or batches. */
const FEW = [1, 2, 3, 7];
const FEW_BYTES = [1, 300, 1000, 5000];

/** One history in four has production's sizes. Else each is drawn alone: a fault may need one size that is smaller than another. */
export function sizesOf(seed: number): Sizes {
  const draws = drawsOf(seed, "sizes");
  if (draws.chance(0.25)) return SIZES;
  const sizes = Object.entries(SIZES).map(([name, usual]) => {
    const small = drawsOf(seed, `size ${name}`);
    const few = small.pick(/bytes/i.test(name) ? FEW_BYTES : FEW);
    return [name, small.chance(0.7) ? Math.min(few, usual) : usual];
  });
  return Object.fromEntries(sizes) as Sizes;
}
