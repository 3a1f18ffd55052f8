import { type Draws, drawsOf } from "./draws.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long a history lasts, and what only long ones ask for. ms, but `delays`, `pauses`, `longDelays` and `retentions` are s. */
export type Stretch = {
  readonly isOfWeeks: boolean;
  readonly shards: number;
  readonly span: number;
  /** For how long after `span` jobs may still end. */
  readonly patience: number;
  /** The longest duration of a spell: `long` in histories with outages, `short` in the others. */
  readonly spells: { readonly long: number; readonly short: number };
  /** Probabilities, one of which is drawn for each kind of fault, that a call meets the fault. */
  readonly faultRates: readonly number[];
  readonly delays: readonly number[];
  readonly waits: readonly number[];
  readonly pauses: readonly number[];
  readonly reaches: readonly number[];
  readonly rates: readonly string[];
  /** Values of the settings `longDelay` and `retention`, of which each history has one. */
  readonly longDelays: readonly number[];
  readonly retentions: readonly number[];
};

const USUAL: Omit<Stretch, "span" | "shards"> = {
  isOfWeeks: false,
  // If a message is lost late, its job waits for the audit's later looks.
  patience: 30 * HOUR,
  spells: { long: 45 * MINUTE, short: 3 * MINUTE },
  faultRates: [0.002, 0.01, 0.04],
  delays: [],
  waits: [],
  pauses: [],
  reaches: [],
  rates: ["rate(1 minute)", "rate(1 minute)", "rate(2 minutes)"],
  longDelays: [600],
  retentions: [5 * 60, 7 * 86_400],
};

/** Users come for 15 days, and their last jobs end later: longer than queues and TTL keep things, and than `longDelay`. */
const WEEKS: Stretch = {
  isOfWeeks: true,
  // One shard, because sweep and audit each read every minute of every shard.
  shards: 1,
  span: 15 * DAY,
  patience: 30 * DAY,
  spells: { long: DAY, short: HOUR },
  // A tick that reads an hour at once makes so many calls that it could never finish at the usual rates.
  faultRates: [0.0002, 0.001, 0.004],
  delays: [HOUR, 7 * HOUR, DAY, 2 * DAY, 6 * DAY, 8 * DAY, 11 * DAY].map((ms) => ms / SECOND),
  waits: [HOUR, DAY, 3 * DAY, 6 * DAY],
  pauses: [HOUR, 9 * HOUR, DAY].map((ms) => ms / SECOND),
  reaches: [HOUR, 2 * DAY, 14 * DAY],
  rates: ["rate(720 minutes)", "rate(1440 minutes)"],
  longDelays: [600, 7 * 86_400],
  retentions: [86_400, 7 * 86_400],
};

/** ms. In a short span the same users come closer together, and fewer minutes pass without calls. */
const SPANS = [10 * MINUTE, 20 * MINUTE, 30 * MINUTE];
const SHARDS = [1, 2];

/** One history in a hundred lasts weeks, and with `weeks` each history does. */
export function stretchOf(seed: number, weeks: boolean): Stretch {
  const draws = drawsOf(seed, "stretch");
  if (weeks || draws.chance(0.01)) return WEEKS;
  return { ...USUAL, span: draws.pick(SPANS), shards: draws.pick(SHARDS) };
}

export function pickFrom<T>(draws: Draws, usual: readonly T[], more: readonly T[]): T {
  return more.length > 0 && draws.chance(0.5) ? draws.pick(more) : draws.pick(usual);
}
