import { median } from "./statistics.ts";

/** Results of runs that took turns: `ours[i]` and `ceiling[i]` were measured one after the other. */
export type Rounds<T, C = T> = { readonly ours: T[]; readonly ceiling: C[] };

/**
 * Runs ours and the ceiling in turns, so that what else the machine does meets both. Who begins changes too,
 * as the emulators slow down as they fill up.
 */
export async function alternate<T, C = T>(
  count: number,
  ours: (round: number) => Promise<T>,
  ceiling: (round: number) => Promise<C>,
): Promise<Rounds<T, C>> {
  const rounds: Rounds<T, C> = { ours: [], ceiling: [] };
  for (let round = 0; round < count; round++) {
    if (round % 2 === 1) rounds.ceiling.push(await ceiling(round));
    rounds.ours.push(await ours(round));
    if (round % 2 === 0) rounds.ceiling.push(await ceiling(round));
  }
  return rounds;
}

/** The median of the rounds' own ratios: neighbours in time are compared, not a good moment with a bad one. */
export function medianRatio(ours: readonly number[], ceiling: readonly number[]): number {
  return median(ours.map((value, round) => value / (ceiling[round] ?? Number.NaN)));
}
