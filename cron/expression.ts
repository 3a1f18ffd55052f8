import { Cron } from "croner";
import { cronerPattern } from "./fields.ts";
import { type WallClock, wallClock } from "./wall-clock.ts";

/** When something recurs. */
export type Recurrence = {
  /** The first occurrence strictly after an instant (ms since the epoch); `undefined`: never again. */
  next(after: number): number | undefined;
};

/** Instants are ms since the epoch. */
export type RecurrenceOptions = {
  /** IANA name; default `UTC`. */
  timezone?: string;
  /** The earliest occurrence there may be. `at` knows neither start nor end. */
  start?: number;
  /** The latest occurrence there may be. */
  end?: number;
  /** Where `rate` counts from, and its first occurrence: the start, else the creation. */
  anchor?: number;
};

const UNITS: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
/** EventBridge's years end here, on the clock of the expression's time zone. */
const LAST = Date.UTC(2200, 0, 1) - 1;

/**
 * EventBridge Scheduler's `cron(minutes hours day-of-month month day-of-week year)`, `rate(n unit)` and
 * `at(yyyy-mm-ddThh:mm:ss)`. A local time that the clocks are put forward over has no occurrence, and one that
 * they show twice has one, at the first ("Schedule types in EventBridge Scheduler": Daylight savings time).
 * @throws RangeError that names rule and value.
 */
export function parseExpression(text: string, options: RecurrenceOptions = {}): Recurrence {
  const clock = wallClock(options.timezone ?? "UTC");
  const [, kind, inner = ""] = /^(cron|rate|at)\((.*)\)$/.exec(text) ?? [];
  if (kind === "at") return once(at(inner, clock));
  if (kind === "rate") return within(rate(inner, options.anchor ?? options.start ?? 0), options);
  if (kind === "cron") return within(cron(inner, clock), options);
  throw new RangeError(
    `expression must be cron(…), rate(…) or at(yyyy-mm-ddThh:mm:ss), got ${JSON.stringify(text)}`,
  );
}

function within(recurrence: Recurrence, { start = 0, end = Infinity }: RecurrenceOptions): Recurrence {
  return {
    next(after) {
      const next = recurrence.next(Math.max(after, start - 1));
      return next !== undefined && next <= end ? next : undefined;
    },
  };
}

const once = (instant: number | undefined): Recurrence => ({
  next: (after) => (instant !== undefined && instant > after ? instant : undefined),
});

function at(text: string, clock: WallClock): number | undefined {
  const wall = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  // Date.parse takes the 30th of February for the 2nd of March.
  if (Number.isNaN(wall) || wall > LAST || !new Date(wall).toISOString().startsWith(text)) {
    throw new RangeError(
      `expression must have a date and time, up to 2199, in at(yyyy-mm-ddThh:mm:ss), got "${text}"`,
    );
  }
  return clock.instantOf(wall);
}

/** Days are 24 hours, whatever the clocks do. */
function rate(text: string, anchor: number): Recurrence {
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
 * croner counts on a clock that is never changed, and each time it finds is looked up on the real one: in a time
 * zone of its own it lets a job of a skipped time run after the gap, and repeats others in a doubled hour.
 */
function cron(text: string, clock: WallClock): Recurrence {
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
        // Minute by minute through the gaps of 174 years it would take seconds.
        wall = walls.nextRun(instant === undefined ? lastOfGap(wall, clock) : wall);
      }
      return undefined;
    },
  };
}

function lastOfGap(wall: Date, clock: WallClock): Date {
  return new Date(Math.max(clock.afterGap(wall.getTime()) - 1, wall.getTime()));
}
