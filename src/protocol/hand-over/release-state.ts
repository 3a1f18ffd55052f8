import type { Pause } from "../../core/items.ts";

/** One release of a topic's parked jobs. */
export type Release = {
  readonly topic: string;
  readonly pause: Pause | undefined;
  /** The starts of a limit or a rate lie before this: ms since the epoch. Other starts may lie later. */
  readonly bound: number;
  /** How many starts each period of the limit has left, as far as the release knows, by the period's beginning. */
  readonly room: Map<number, number>;
  /** The same for the turns of the resume's rate. */
  readonly turns: Map<number, number>;
  /** Partitions of notes or homes that could not be read or written. They are left to the next tick. */
  readonly sick: Set<string>;
  /** The queue has not taken a message, so no further starts are given: they would be lost. */
  isClosed: boolean;
};

/** Answers the first free start that the release knows of: ms since the epoch, `Infinity` if there is none. */
export function firstStart(run: Release, now: number): number {
  return firstFree(run, now) ?? now;
}

/** As `firstStart`, but `undefined` if the release has not read how many starts are left from `now` on. */
export function firstFree({ room }: Release, now: number): number | undefined {
  const begins = [...room.keys()];
  if (Math.min(...begins) > now) return undefined;
  return Math.max(Math.min(...begins.filter((begin) => (room.get(begin) ?? 0) > 0)), now);
}
