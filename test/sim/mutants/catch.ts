import type { History } from "../simulate.ts";

/** The promise that broke, in which seed, and after how many histories. */
export type Catch = { promise: string; seed: number; after: number };

/** Plays one seed, with the defect or without it. */
type Play = (seed: number) => Promise<Pick<History, "violation">>;

/**
 * Plays these seeds with a defect until one breaks a promise that holds without the defect. A seed that breaks a promise
 * without the defect too proves nothing, so the hunt goes on. A defect that merely throws proves nothing either. `promise`: if
 * given, only this promise counts.
 */
export async function firstCatch(
  seeds: Iterable<number>,
  { damaged, whole, promise }: { damaged: Play; whole: Play; promise?: string | undefined },
): Promise<Catch | undefined> {
  let after = 0;
  for (const seed of seeds) {
    after += 1;
    const { violation } = await damaged(seed);
    if (!violation || violation.promise === "defect") continue;
    if (promise !== undefined && violation.promise !== promise) continue;
    if (!(await whole(seed)).violation) return { promise: violation.promise, seed, after };
  }
  return undefined;
}

/**
 * The known seed first, and then the other seeds. The known seed may be missing in `seeds`, if a longer hunt has found it. 0:
 * none is known.
 */
export function firstOf(seeds: readonly number[], known: number): number[] {
  return known === 0 ? [...seeds] : [known, ...seeds.filter((seed) => seed !== known)];
}
