import { BUCKET } from "./constants.ts";

/** A quarter of the wait at most, so that the wait itself is hardly longer. */
const GRID_PART = 4;

/**
 * When to look at a job again, `wait` ms after `from` or a little later. Times lie on a grid that is the
 * coarser the longer the wait: looks that sweeps and audits file for one job at about the same time become one
 * item, or each would beget two while its queue fails.
 */
export function lookAgainAt(from: number, wait: number): number {
  const minutes = Math.max(wait / BUCKET / GRID_PART, 1);
  const grid = BUCKET * 2 ** Math.floor(Math.log2(minutes));
  return Math.ceil((from + wait) / grid) * grid;
}
