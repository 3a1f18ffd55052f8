import type { TrailEntry } from "./items.ts";
import type { Position } from "./position.ts";

/**
 * A cursor's trail with `entry` added, but no closer than `step` ms to the one before: a catch-up advances
 * many times a second, and leaving an entry out only makes the audit wait longer.
 */
export function trailAfter(trail: readonly TrailEntry[], entry: TrailEntry, step: number): TrailEntry[] {
  const last = trail.at(-1);
  return last && entry.reachedAt - last.reachedAt < step ? [...trail] : [...trail, entry];
}

/** The last position that the sweep had reached by `time`; entries before it are of no use any more. */
export function reachedBy(
  trail: readonly TrailEntry[],
  time: number,
): { position: Position | undefined; rest: TrailEntry[] } {
  const at = trail.findLastIndex((entry) => entry.reachedAt <= time);
  return { position: trail[at]?.position, rest: trail.slice(Math.max(at, 0)) };
}
