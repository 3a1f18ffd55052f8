/** The smallest value that at least `share` (0 to 1) of the sorted values do not exceed. 0 if there are no values. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? 0;
}
