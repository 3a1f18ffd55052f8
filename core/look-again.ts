import { BUCKET } from "./constants.ts";

/** The grid is a quarter of the wait at most, but at least a minute. So it adds at most a quarter of the wait, or a minute, to the wait. */
const GRID_PART = 4;

/**
 * Answers when to look at a job again: `wait` ms after `from`, or a little later, on a grid that is coarser for a longer wait. So looks of
 * a sweep and an audit for one job become one item. Otherwise each look would lead to two while the job's queue fails.
 */
export function lookAgainAt(id: string, from: number, wait: number): number {
  const minutes = Math.max(wait / BUCKET / GRID_PART, 1);
  return onGrid(id, from + wait, BUCKET * 2 ** Math.floor(Math.log2(minutes)));
}

/**
 * Answers the first time at or after `from` on a job's own grid of `grid` ms. Coarser grids lie on finer ones, so that looks of different
 * waits can meet. The grids of jobs are shifted: a sweep would read the looks of many jobs at one instant for minutes.
 */
export function onGrid(id: string, from: number, grid: number): number {
  const offset = parseInt(id.slice(-6), 36);
  return Math.ceil((from - offset) / grid) * grid + offset;
}
