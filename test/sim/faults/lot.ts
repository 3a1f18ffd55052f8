import { type Draws, drawsOf } from "../draws.ts";
import type { Weather } from "../faults.ts";
import type { Stretch } from "../stretch.ts";

export type Lot = {
  readonly seed: number;
  readonly draws: Draws;
  readonly start: number;
  readonly calmFrom: number;
  readonly stretch: Pick<Stretch, "span" | "spells" | "faultRates" | "shards">;
  readonly topics: readonly string[];
  readonly isHurt: boolean;
  /** Draws whether there is a fault of some kind: only in `hurt` weather. */
  some(probability: number): boolean;
  /** Notes that a fault happens. Answers `false` if it must be left out. */
  happens(key: string, what: string): boolean;
};

export function lotOf(
  seed: number,
  weather: Weather,
  settings: Pick<Lot, "start" | "stretch" | "topics"> & {
    suppressed: ReadonlySet<string>;
    onFault: (key: string, what: string) => void;
  },
): Lot {
  const { start, stretch, topics, suppressed, onFault } = settings;
  const draws = drawsOf(seed, "plan");
  const isHurt = weather === "hurt";
  return {
    ...{ seed, draws, start, stretch, topics, isHurt },
    calmFrom: start + (weather === "calm" ? 0 : stretch.span),
    some: (probability) => draws.chance(probability) && isHurt,
    happens(key, what) {
      if (suppressed.has(key)) return false;
      onFault(key, what);
      return true;
    },
  };
}
