import { nearestZones, zoneNames } from "../general/zone-names.ts";

const DAY = 86_400_000;

/** A wall time is a time that this clock shows, as ms since the epoch as if it were UTC. */
export type WallClock = {
  at(instant: number): number;
  /** The first instant at which the clock shows `wall`. `undefined` if the clock skips that time. */
  instantOf(wall: number): number | undefined;
  /** The wall time at which the clock goes on after it has skipped `wall`. */
  afterGap(wall: number): number;
};

/** Throws a RangeError for a name that the IANA Time Zone Database lacks, such as abbreviations, offsets and names in another case. */
export function wallClock(timezone: string): WallClock {
  const format = formatOf(timezone);
  const at = (instant: number): number => {
    const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, +value]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
  const offset = (instant: number): number => at(instant) - wholeSecond(instant);
  return {
    at,
    instantOf(wall) {
      // No clock is more than 14 hours from UTC, so these are the offsets before and after a change near `wall`.
      const instants = [offset(wall - DAY), offset(wall + DAY)].map((ahead) => wall - ahead);
      return instants.sort((a, b) => a - b).find((instant) => at(instant) === wall);
    },
    afterGap(wall) {
      const [before, after] = [offset(wall - DAY), offset(wall + DAY)];
      // The instants of `wall` by the offset after the change, and by the offset before the change. The clock is put forward
      // between them.
      let [low, high] = [wall - after, wall - before];
      while (high - low > 1000) {
        const middle = low + Math.floor((high - low) / 2000) * 1000;
        if (at(middle) < wall) low = middle;
        else high = middle;
      }
      return at(high);
    },
  };
}

/** A format takes a millisecond to make. There are some hundred timezones. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timezone: string): Intl.DateTimeFormat {
  const format = formats.get(timezone) ?? newFormat(timezone);
  formats.set(timezone, format);
  return format;
}

function newFormat(timezone: string): Intl.DateTimeFormat {
  if (!zoneNames().has(timezone)) {
    const near = nearestZones(timezone);
    throw new RangeError(
      `timezone must be an IANA name such as Europe/Berlin or UTC, got ${JSON.stringify(timezone)}` +
        (near.length > 0 ? `; did you mean ${near.join(" or ")}?` : ""),
    );
  }
  return new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
}

const wholeSecond = (instant: number): number => Math.floor(instant / 1000) * 1000;
