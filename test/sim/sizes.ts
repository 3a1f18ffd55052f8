import { SIZES, type Sizes } from "../../core/work-sizes.ts";
import { drawsOf } from "./draws.ts";

/** Sizes so small that the jobs of a history fill several pages, packs or batches. */
const FEW = [1, 2, 3, 7];
const FEW_BYTES = [1, 300, 1000, 5000];

/**
 * How much the code under test reads, sends and keeps at once in one history. One history in four has the sizes of
 * production. In the others each small size is drawn separately, because a fault may need one size that is smaller than another:
 * a full page in the middle of a mark, or a mark in the middle of a page.
 */
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
