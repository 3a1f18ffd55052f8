import { type ParsedResult, parse } from "chrono-node/en";
import { wallClock } from "../../src/cron/wall-clock.ts";
import { INSTANT_PATTERN, instantRule, parseDuration, parseInstant } from "../../src/general/times.ts";
import { instantOf, MINUTE, SECOND, startOfDay, type Zone } from "./times.ts";

/** A time that was read from words, ms since the epoch, or why the words name no time. */
export type ReadTime = { readonly at: number } | { readonly error: string };

/** Words that count from now, such as "in 3 days", or name a part of a day, do not name a day. */
const NO_DAY =
  /\b(in|ago|from now|after|before|now|noon|midday|midnight|morning|afternoon|evening|\w*night)\b/i;

const EXAMPLES = '"in 30 minutes", "tomorrow 9:00", "2027-03-01T09:00:00Z" or a duration such as "90s"';

/**
 * A time in English, ISO 8601, or a duration from now as the API takes it. A time of day without a date is the next one after `now`. A time
 * without a zone is in `zone`.
 * @example readTime("in 30 minutes", Date.now(), "local");
 */
export function readTime(text: string, now: number, zone: Zone): ReadTime {
  const read = readWords(text, now, zone);
  return "error" in read ? read : { at: read.at };
}

/** Which end of a range a time is. */
export type Edge = "from" | "until";

/**
 * Reads an end of a range. Words that name a day and no time of day, such as `3 December`, mean the whole day in `zone`: a range from it begins
 * with the day, and a range until it ends with the day.
 */
export function readEdge(text: string, now: number, zone: Zone, edge: Edge): ReadTime {
  const read = readWords(text, now, zone);
  if ("error" in read || !read.isDay) return read;
  return { at: startOfDay(read.at, zone, edge === "from" ? 0 : 1) };
}

type ReadWords = { readonly at: number; readonly isDay: boolean } | { readonly error: string };

function readWords(text: string, now: number, zone: Zone): ReadWords {
  const words = text.trim();
  if (words === "") return { error: `the time must be given, such as ${EXAMPLES}` };
  const duration = parseDuration(words);
  if (duration !== undefined) return { at: now + duration, isDay: false };
  const instant = parseInstant(words);
  if (instant !== undefined) return { at: instant, isDay: false };
  // A day that does not exist. chrono-node would read the 30th of February as the 2nd of March.
  if (INSTANT_PATTERN.test(words)) return { error: `the time ${instantRule(words)}, got "${words}"` };
  const ahead = wallClock(zone).at(now) - Math.floor(now / SECOND) * SECOND;
  const reference = { instant: new Date(now), timezone: ahead / MINUTE };
  const [found] = parse(words, reference, { forwardDate: true });
  // Words that are left over may change the meaning, as in "not tomorrow".
  if (found === undefined || found.text.length < words.replace(/^at /i, "").length)
    return { error: `the time must be such as ${EXAMPLES}, got "${words}"` };
  // A time that counts from now, or that names its own zone, is an instant. All others are what the zone's clocks show.
  const at = found.start.isCertain("timezoneOffset")
    ? found.date().getTime()
    : instantOf(wallOf(found.start), zone);
  return { at, isDay: !found.start.isCertain("hour") && !NO_DAY.test(words) };
}

function wallOf(read: ParsedResult["start"]): number {
  const [year, month, day, ...time] = (
    ["year", "month", "day", "hour", "minute", "second", "millisecond"] as const
  ).map((part) => read.get(part) ?? 0);
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, ...time);
}

/**
 * Words that count from now, such as `in 30 minutes`, give a `delay` in seconds, so that the same call means the same later. All other
 * words give a `dueAt`. `undefined`: they name no time.
 */
export function readJobTime(
  text: string,
  now: number,
  zone: Zone,
): { readonly delay: number } | { readonly dueAt: string } | undefined {
  const [time, later] = [now, now + LATER].map((from) => readTime(text, from, zone));
  if (time === undefined || later === undefined || !("at" in time) || !("at" in later)) return undefined;
  // Read at another time, these words name a time that is as far away.
  if (later.at - time.at === LATER) return { delay: Math.max(time.at - now, 0) / 1000 };
  return { dueAt: new Date(time.at).toISOString() };
}

/** ms. A time on the clock, such as `tomorrow 9:00`, never moves by exactly this span when it is read this much later. */
const LATER = 61_001;
