import { BUCKET } from "./constants.ts";

/** The grid is a quarter of the wait at most, but at least a minute. So it adds at most a quarter of the wait, or a minute, to the wait. */
const GRID_PART = 4;

/**
 * Answers when to look at a job again: `wait` ms after `from`, or a little later. Times lie on a grid, which is coarser for a
 * longer wait. So looks that a sweep and an audit file for one job at about the same time become one item. Otherwise each look
 * would lead to two new looks while the job's queue fails.
 */
export function lookAgainAt(id: string, from: number, wait: number): number {
  const minutes = Math.max(wait / BUCKET / GRID_PART, 1);
  return onGrid(id, from + wait, BUCKET * 2 ** Math.floor(Math.log2(minutes)));
}

/**
 * Answers the first time at or after `from` on a job's own grid of `grid` ms. Each time of a grid that is twice as coarse lies on
 * this grid too, so that looks of different waits can meet. The grids of different jobs are shifted. Otherwise the looks of many
 * jobs would lie at one instant, and a sweep would read the entries of that instant for minutes.
 */
export function onGrid(id: string, from: number, grid: number): number {
  const offset = parseInt(id.slice(-6), 36);
  return Math.ceil((from - offset) / grid) * grid + offset;
}
