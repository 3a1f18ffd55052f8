import { Cron } from "croner";
import { cronerPattern } from "./fields.ts";
import { type WallClock, wallClock } from "./wall-clock.ts";

export type Recurrence = {
  /** The first occurrence after an instant, both in ms since the epoch. `undefined` if there is none. */
  next(after: number): number | undefined;
};

/** Instants are ms since the epoch. */
export type RecurrenceOptions = {
  /** The name of an IANA time zone. Default: `UTC`. */
  timezone?: string;
  /** No occurrence is earlier. `at(…)` has neither start nor end. */
  start?: number;
  /** No occurrence is later. */
  end?: number;
  /** The first occurrence, from which `rate(…)` counts: the schedule's start or creation. Default: `start`, or else 0. */
  anchor?: number;
};

const UNITS: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
/** The last moment of EventBridge's years, on the clock of the expression's time zone. */
const LAST = Date.UTC(2200, 0, 1) - 1;

/**
 * EventBridge Scheduler's `cron(minutes hours day-of-month month day-of-week year)`, `rate(n unit)` and `at(yyyy-mm-ddThh:mm:ss)`. A local
 * time that the clocks skip has no occurrence, and one that they show twice has one, at the first time ("Schedule types in EventBridge
 * Scheduler": Daylight savings time).
 * @throws RangeError that names the rule and the value.
 */
export function parseExpression(text: string, options: RecurrenceOptions = {}): Recurrence {
  const clock = wallClock(options.timezone ?? "UTC");
  const [, kind, inner = ""] = /^(cron|rate|at)\((.*)\)$/.exec(text) ?? [];
  if (kind === "at") return onlyAt(parseAt(inner, clock));
  if (kind === "rate") return bounded(parseRate(inner, options.anchor ?? options.start ?? 0), options);
  if (kind === "cron") return bounded(parseCron(inner, clock), options);
  throw new RangeError(
    `expression must be cron(…), rate(…) or at(yyyy-mm-ddThh:mm:ss), or the five fields of a crontab, got ${JSON.stringify(text)}`,
  );
}

function bounded(recurrence: Recurrence, { start = 0, end = Infinity }: RecurrenceOptions): Recurrence {
  return {
    next(after) {
      const next = recurrence.next(Math.max(after, start - 1));
      return next !== undefined && next <= end ? next : undefined;
    },
  };
}

const onlyAt = (instant: number | undefined): Recurrence => ({
  next: (after) => (instant !== undefined && instant > after ? instant : undefined),
});

function parseAt(text: string, clock: WallClock): number | undefined {
  const wall = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  // Date.parse takes the 30th of February for the 2nd of March.
  if (Number.isNaN(wall) || wall > LAST || !new Date(wall).toISOString().startsWith(text)) {
    throw new RangeError(
      `expression must have a date and time, up to 2199, in at(yyyy-mm-ddThh:mm:ss) without an offset: the schedule's timezone counts, got "${text}"`,
    );
  }
  return clock.instantOf(wall);
}

/** Parses the inside of `rate(…)`. A day of a rate is always 24 hours, also when the clocks change. */
function parseRate(text: string, anchor: number): Recurrence {
  const [, count, unit = ""] = /^([1-9]\d{0,8}) (minute|hour|day)s?$/.exec(text) ?? [];
  if (count === undefined) {
    throw new RangeError(
      "expression must have a whole number of 1 to 999999999 and minutes, hours or days in rate(n unit), " +
        `got "${text}"`,
    );
  }
  const period = Number(count) * (UNITS[unit] ?? Number.NaN);
  return {
    next(after) {
      const next = after < anchor ? anchor : anchor + (Math.floor((after - anchor) / period) + 1) * period;
      return next <= LAST ? next : undefined;
    },
  };
}

/**
 * croner computes in UTC, and each time is then looked up in the expression's zone. In that zone itself, croner would move a skipped time
 * behind the gap, and repeat times of a doubled hour. Scheduler does neither.
 */
function parseCron(text: string, clock: WallClock): Recurrence {
  const walls = new Cron(cronerPattern(text), {
    timezone: "UTC",
    mode: "7-part",
    alternativeWeekdays: true,
    sloppyRanges: true,
    paused: true,
  });
  return {
    next(after) {
      let wall = walls.nextRun(new Date(clock.at(after)));
      while (wall !== null) {
        const instant = clock.instantOf(wall.getTime());
        if (instant !== undefined && instant > after) return instant;
        // Skips the rest of a gap at once: by minutes, an expression that falls only into gaps would be searched for seconds, up to 2199.
        wall = walls.nextRun(instant === undefined ? lastOfGap(wall, clock) : wall);
      }
      return undefined;
    },
  };
}

function lastOfGap(wall: Date, clock: WallClock): Date {
  return new Date(Math.max(clock.afterGap(wall.getTime()) - 1, wall.getTime()));
}
