import { BUCKET } from "./constants.ts";

/** A quarter of the wait at most, so that the wait itself is hardly longer. */
const GRID_PART = 4;

/**
 * When to look at a job again, `wait` ms after `from` or a little later. Times lie on a grid that is the
 * coarser the longer the wait: looks that sweeps and audits file for one job at about the same time become one
 * item, or each would beget two while its queue fails.
 */
export function lookAgainAt(id: string, from: number, wait: number): number {
  const minutes = Math.max(wait / BUCKET / GRID_PART, 1);
  return onGrid(id, from + wait, BUCKET * 2 ** Math.floor(Math.log2(minutes)));
}

/**
 * The first time of a job's own grid at or after `from`. The times of a grid that is twice as coarse are among those of this one,
 * so that looks of different waits meet. Those at many jobs do not: a sweep would be at one instant for minutes.
 */
export function onGrid(id: string, from: number, grid: number): number {
  const offset = parseInt(id.slice(-6), 36);
  return Math.ceil((from - offset) / grid) * grid + offset;
}
