import type { TrailEntry } from "./items.ts";
import type { Position } from "./position.ts";

/** No entry less than `step` ms after the last: after an outage a sweep advances many times a second. The audit only waits longer. */
export function trailAfter(trail: readonly TrailEntry[], entry: TrailEntry, step: number): TrailEntry[] {
  const last = trail.at(-1);
  return last && entry.reachedAt - last.reachedAt < step ? [...trail] : [...trail, entry];
}

/** Answers the last position that the sweep had reached by `time`. `rest`: the trail without older entries. */
export function positionReachedBy(
  trail: readonly TrailEntry[],
  time: number,
): { position: Position | undefined; rest: TrailEntry[] } {
  const at = trail.findLastIndex((entry) => entry.reachedAt <= time);
  return { position: trail[at]?.position, rest: trail.slice(Math.max(at, 0)) };
}
