import type { History } from "../history.ts";

export type Catch = { promise: string; seed: number; after: number };

type Play = (seed: number) => Promise<Pick<History, "violation">>;

/** Plays seeds until one breaks a promise (`promise`, if given) only with the defect. A defect that merely throws proves nothing. */
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

/** The known seed first, then the others. 0: none is known. A longer hunt may have found one that `seeds` does not have. */
export function firstOf(seeds: readonly number[], known: number): number[] {
  return known === 0 ? [...seeds] : [known, ...seeds.filter((seed) => seed !== known)];
}
