/** Writes times and durations for people. All times are ms since the epoch. */

import { wallClock } from "../../src/cron/wall-clock.ts";
import { zoneNames } from "../../src/general/zone-names.ts";

/** An IANA name such as `Europe/Berlin` or `UTC`. */
export type Zone = string;

/** All zones that a schedule may have. A browser's own list lacks new names, such as `Asia/Kolkata`. */
export const ZONES: readonly Zone[] = [...new Set(["UTC", ...[...zoneNames()].sort()])];

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export function isoAt(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * `in 4 h 42 min`, `12 s ago`, `now`. Rounds towards now, so no job "in 1 min" is due earlier. One unit below an hour: a text that changes
 * each second is hard to read, and screen readers would repeat it.
 */
export function relativeText(at: number, now: number): string {
  const away = Math.abs(at - now);
  const unit = away >= DAY ? HOUR : away >= MINUTE ? MINUTE : SECOND;
  const text = durationText(away - (away % unit));
  if (away < SECOND) return "now";
  return at > now ? `in ${text}` : `${text} ago`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  const found = formats.get(key);
  if (found) return found;
  const made = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone });
  formats.set(key, made);
  return made;
}

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
const DATE = { day: "numeric", month: "short" } as const;

/** The zone's short name at a time, such as `GMT+2` or `UTC`. */
export function zoneName(at: number, zone: Zone): string {
  const parts = formatOf(zone, { timeZoneName: "short" }).formatToParts(at);
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? zone;
}

/** `14:03:05 UTC` on the day of `now`, else `27 Nov, 14:03:05 UTC`, with the year if it is another year. */
export function timeText(at: number, now: number, zone: Zone): string {
  const date = dateText(at, now, zone);
  return [...(date === "" ? [] : [`${date},`]), formatOf(zone, CLOCK).format(at), zoneName(at, zone)].join(
    " ",
  );
}

/** `14:03:05.123` */
export function clockText(at: number, zone: Zone): string {
  return formatOf(zone, { ...CLOCK, fractionalSecondDigits: 3 }).format(at);
}

/** `27 Nov`, with the year if it is another year; empty on the day of `now`. */
function dateText(at: number, now: number, zone: Zone): string {
  const day = formatOf(zone, { ...DATE, year: "numeric" });
  if (day.format(at) === day.format(now)) return "";
  const year = formatOf(zone, { year: "numeric" });
  return year.format(at) === year.format(now) ? formatOf(zone, DATE).format(at) : day.format(at);
}

/** A span of time, such as `13:00–13:15 UTC`, with its date if it is not on the day of `now`, and with seconds if it is below a minute. */
export function spanText(from: number, to: number, now: number, zone: Zone): string {
  const { second, ...minutes } = CLOCK;
  const options = {
    ...(dateText(from, now, zone) === "" && dateText(to, now, zone) === "" ? {} : DATE),
    ...(to - from < MINUTE ? CLOCK : minutes),
  };
  return `${formatOf(zone, options).formatRange(from, to)} ${zoneName(from, zone)}`;
}

/** A duration in its two largest units, such as `1 h 30 min`, `4.2 s` or `120 ms`. */
export function durationText(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${Number((ms / SECOND).toFixed(1))} s`;
  const whole = Math.round(ms / SECOND) * SECOND;
  const parts = (
    [
      [DAY, "d"],
      [HOUR, "h"],
      [MINUTE, "min"],
      [SECOND, "s"],
    ] as const
  ).map(([length, unit], index, all) => {
    const larger = all[index - 1]?.[0] ?? Number.POSITIVE_INFINITY;
    return [Math.floor((whole % larger) / length), unit] as const;
  });
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** The beginning of the day that is `days` days after the day of `now`. */
export function startOfDay(now: number, zone: Zone, days: number): number {
  const today = Math.floor(wallClock(zone).at(now) / DAY) * DAY;
  return instantOf(today + days * DAY, zone);
}

/** When the clocks of a zone show `wall`, a time as if it were UTC. A time that they skip is the first one after the gap. */
export function instantOf(wall: number, zone: Zone): number {
  const clocks = wallClock(zone);
  // The clocks show the end of a gap, so the second search finds it.
  return clocks.instantOf(wall) ?? clocks.instantOf(clocks.afterGap(wall)) ?? wall;
}

/** Whether the clocks of a zone show a time once more an hour later, because they are put back meanwhile. */
export function comesTwice(at: number, zone: Zone): boolean {
  const clocks = wallClock(zone);
  return clocks.at(at) === clocks.at(at + HOUR);
}

/** The day of a time as a date field has it: `2030-12-03`. */
export function dayInputText(at: number, zone: Zone): string {
  const parts = formatOf(zone, { year: "numeric", month: "2-digit", day: "2-digit" }).formatToParts(at);
  const of = (wanted: string) => parts.find(({ type }) => type === wanted)?.value ?? "";
  return `${of("year")}-${of("month")}-${of("day")}`;
}

export function dayText(at: number, zone: Zone): string {
  return formatOf(zone, { weekday: "short", ...DATE }).format(at);
}
