import { type Draws, drawsOf } from "./draws.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * How long the users of a history come, and what they do beside the usual: the lists are empty where there is nothing.
 * Times are ms, and delays s as users say them.
 */
export type Stretch = {
  readonly isOfWeeks: boolean;
  readonly shards: number;
  /** For so long users come and things go wrong. */
  readonly span: number;
  /** From so long after the last fault on nobody waits any more. */
  readonly patience: number;
  /** How long a spell lasts at most: an outage, and an unlucky moment. */
  readonly spells: { readonly long: number; readonly short: number };
  /** How often a call meets a fault. */
  readonly faultRates: readonly number[];
  readonly delays: readonly number[];
  /** Between what one user does and what he does next. */
  readonly waits: readonly number[];
  readonly pauses: readonly number[];
  /** How long until the last job is due that a clerk deals with. */
  readonly reaches: readonly number[];
  readonly rates: readonly string[];
  /** From when on a delay is long, and how long what ended is kept: one of them each. */
  readonly longDelays: readonly number[];
  readonly retentions: readonly number[];
};

const USUAL: Omit<Stretch, "span" | "shards"> = {
  isOfWeeks: false,
  // A message lost late waits for the audit's second ladder.
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

/** Two weeks of users and one more for what they asked for: longer than queues and TTL keep things, and than `longDelay`. */
const WEEKS: Stretch = {
  isOfWeeks: true,
  // Each shard's every minute is read twice.
  shards: 1,
  span: 15 * DAY,
  patience: 30 * DAY,
  spells: { long: DAY, short: HOUR },
  // A tick that goes through an hour at once makes more calls than it would survive at the usual rates.
  faultRates: [0.0002, 0.001, 0.004],
  delays: [HOUR, 7 * HOUR, DAY, 2 * DAY, 6 * DAY, 8 * DAY, 11 * DAY].map((ms) => ms / SECOND),
  waits: [HOUR, DAY, 3 * DAY, 6 * DAY],
  pauses: [HOUR, 9 * HOUR, DAY].map((ms) => ms / SECOND),
  reaches: [HOUR, 2 * DAY, 14 * DAY],
  rates: ["rate(720 minutes)", "rate(1440 minutes)"],
  longDelays: [600, 7 * 86_400],
  retentions: [86_400, 7 * 86_400],
};

/** ms. In a short span the same users come at once, and fewer minutes pass in which nothing happens. */
const SPANS = [10 * MINUTE, 20 * MINUTE, 30 * MINUTE];
const SHARDS = [1, 2];

/** One history in a hundred is of weeks, or all that are asked to be. */
export function stretchOf(seed: number, weeks: boolean): Stretch {
  const draws = drawsOf(seed, "stretch");
  if (weeks || draws.chance(0.01)) return WEEKS;
  return { ...USUAL, span: draws.pick(SPANS), shards: draws.pick(SHARDS) };
}

/** One of what is usual, or of what a long history has beside it. */
export function pickFrom<T>(draws: Draws, usual: readonly T[], more: readonly T[]): T {
  return more.length > 0 && draws.chance(0.5) ? draws.pick(more) : draws.pick(usual);
}
