import type { Pause } from "../../core/items.ts";

/** One release of a topic's parked jobs. */
export type Release = {
  readonly topic: string;
  /** The topic's resume, if it is not over. */
  readonly pause: Pause | undefined;
  /** All starts that a limit or a rate gives lie before this time: ms since the epoch. Other starts may lie later. */
  readonly bound: number;
  /** How many starts the topic's limit has left in each period, as far as the release knows, by the period's beginning. */
  readonly room: Map<number, number>;
  /** The same for the turns that the rate of the topic's resume gives. */
  readonly turns: Map<number, number>;
  /** Partitions of notes or homes that could not be read or written. Their jobs are left to the next tick. */
  readonly sick: Set<string>;
  /** The topic's queue has not taken a message. So no further starts are given: they would be lost. */
  isClosed: boolean;
};

/** The first start that a release may still give, as far as it knows: ms since the epoch, `Infinity` if there is none. */
export function firstStart(run: Release, now: number): number {
  return firstFree(run, now) ?? now;
}

/**
 * The first start that is left from `now` on, in ms since the epoch: `Infinity` if there is none, `undefined` if the release has not read
 * how many starts are left from `now` on.
 */
export function firstFree({ room }: Release, now: number): number | undefined {
  const begins = [...room.keys()];
  if (Math.min(...begins) > now) return undefined;
  return Math.max(Math.min(...begins.filter((begin) => (room.get(begin) ?? 0) > 0)), now);
}
