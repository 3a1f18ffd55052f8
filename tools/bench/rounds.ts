import { median } from "./statistics.ts";

/** The results of alternating runs: `ours[i]` and `ceiling[i]` were measured one directly after the other. */
export type Rounds<T, C = T> = { readonly ours: T[]; readonly ceiling: C[] };

/** Alternately, so that other load affects both. The first of each pair alternates too: the emulators get slower as they fill up. */
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

/** The median of the ratios of the rounds. Each ratio compares two runs of nearly the same time. */
export function medianRatio(ours: readonly number[], ceiling: readonly number[]): number {
  return median(ours.map((value, round) => value / (ceiling[round] ?? Number.NaN)));
}
