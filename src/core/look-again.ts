import { AUDIT_LADDER, BUCKET } from "./constants.ts";

/** The grid is a quarter of the wait at most, but at least a minute. */
const GRID_PART = 4;

/** `wait` ms after `from`, or a little later, on a grid, so that looks of a sweep and an audit for one job become one item. */
export function lookAgainAt(id: string, from: number, wait: number): number {
  const minutes = Math.max(wait / BUCKET / GRID_PART, 1);
  return onGrid(id, from + wait, BUCKET * 2 ** Math.floor(Math.log2(minutes)));
}

/** How long after an audit has found a job late it looks at the job again, in ms. `late`: how late the job was, ms. */
export function auditAgainAfter(late: number): number {
  const [, after] = AUDIT_LADDER.find(([bound]) => late < bound) ?? AUDIT_LADDER[0];
  return after;
}

/** Coarser grids lie on finer ones, so that looks of different waits meet. Jobs' grids are shifted, as one sweep cannot send all. */
export function onGrid(id: string, from: number, grid: number): number {
  const offset = parseInt(id.slice(-6), 36);
  return Math.ceil((from - offset) / grid) * grid + offset;
}
