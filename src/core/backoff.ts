/**
 * How long a topic's failed jobs wait: either `waits`, the last of which repeats, or exponential backoff,
 * `min(initial × factor^(failures − 1), max)`. `jitter` (0 to 1) is the share of the wait that is drawn at random. Waits are seconds.
 */
export type Backoff =
  | { readonly waits: readonly number[] }
  | {
      readonly initial: number;
      readonly factor: number;
      readonly max: number;
      readonly jitter: number;
    };

const MINUTE_S = 60;
const HOUR_S = 3600;

/** Waits of about a day in all, as payment providers retry their webhooks. */
export const DEFAULT_BACKOFF: Backoff = {
  waits: [
    15,
    3 * MINUTE_S,
    10 * MINUTE_S,
    30 * MINUTE_S,
    30 * MINUTE_S,
    HOUR_S,
    2 * HOUR_S,
    6 * HOUR_S,
    15 * HOUR_S,
  ],
};

const EXPONENTIAL = { initial: 15, factor: 2, longest: HOUR_S, jitter: 0.5 };

/** Completes exponential backoff with the defaults. A first wait that is longer than an hour is the longest wait too. */
export function exponentialBackoff({
  initial = EXPONENTIAL.initial,
  factor = EXPONENTIAL.factor,
  max = Math.max(initial, EXPONENTIAL.longest),
  jitter = EXPONENTIAL.jitter,
}: {
  readonly initial?: number | undefined;
  readonly factor?: number | undefined;
  readonly max?: number | undefined;
  readonly jitter?: number | undefined;
}): Backoff {
  return { initial, factor, max, jitter };
}

/** Milliseconds to wait after failed attempt `attempt` (1 is the first). `random` is in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random: number): number {
  if ("waits" in backoff) {
    const wait = backoff.waits[Math.min(attempt, backoff.waits.length) - 1] ?? 0;
    return Math.round(wait * 1000);
  }
  const { initial, factor, max, jitter } = backoff;
  const full = Math.min(initial * factor ** (attempt - 1), max);
  return Math.round(full * (1 - jitter * random) * 1000);
}

/** The bounds of the longest random time of a crash, ms. */
const CRASH_SPREAD = { least: 5_000, most: 60_000 };

/** The longest random time added to the `wait` of a crashed job: ms. Jobs that crashed together must not share a message again. */
export function crashSpread(wait: number): number {
  return Math.min(Math.max(wait / 2, CRASH_SPREAD.least), CRASH_SPREAD.most);
}
