import { type WallClock, wallClock } from "./wall-clock.ts";

const MINUTE = 60_000;
const DAY_MINUTES = 24 * 60;
const PATTERN = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d) (\S+)$/;
/** The most minutes for which a window's next opening is cached. Jobs that are handed over together ask for the same few. */
const MOST_KNOWN = DAY_MINUTES;

/** A part of each day in a time zone: from minute `opens` of the day up to, but without, minute `closes`. */
type Window = { readonly opens: number; readonly closes: number; readonly clock: WallClock };

/** Such as `09:00-18:00 Asia/Shanghai`. Throws a RangeError that names the rule and the value. */
export function parseWindow(text: string): Window {
  const [, openHour, openMinute, closeHour, closeMinute, timezone = ""] = PATTERN.exec(text) ?? [];
  const opens = Number(openHour) * 60 + Number(openMinute);
  const closes = Number(closeHour) * 60 + Number(closeMinute);
  if (timezone === "" || opens === closes) {
    const rule =
      'a window must be two different times of day and a zone, such as "09:00-18:00 Asia/Shanghai"';
    throw new RangeError(`${rule}, got ${JSON.stringify(text)}`);
  }
  return { opens, closes, clock: wallClock(timezone) };
}

/** Says why a text is no window. `undefined` if the text is a window. */
export function windowFault(text: string): string | undefined {
  try {
    parseWindow(text);
    return undefined;
  } catch (error) {
    return (error as RangeError).message;
  }
}

type Known = { readonly window: Window; readonly openings: Map<number, number> };
const known = new Map<string, Known>();

/**
 * `time` itself (ms since the epoch) if the window is open then or there is none, else the next opening. A window is open whenever the
 * clocks show a time in it: late on a day when they skip its opening, and twice if they go back over it.
 * @throws RangeError if `window` is no window.
 */
export function nextOpening(window: string | undefined, time: number): number {
  if (window === undefined) return time;
  const { window: parsed, openings } = known.get(window) ?? parseAndCache(window);
  const minute = time - (time % MINUTE);
  let opening = openings.get(minute);
  if (opening === undefined) {
    opening = openingFrom(parsed, minute);
    if (openings.size >= MOST_KNOWN) openings.clear();
    openings.set(minute, opening);
  }
  return Math.max(opening, time);
}

function parseAndCache(text: string): Known {
  const parsed = { window: parseWindow(text), openings: new Map<number, number>() };
  known.set(text, parsed);
  return parsed;
}

function openingFrom(window: Window, minute: number): number {
  for (let from = minute; ; ) {
    const wait = minutesToOpening(window, from);
    const opening = from + wait * MINUTE;
    const change = changeBetween(window.clock, from, opening);
    if (change === undefined) return opening;
    from = change;
  }
}

/** Answers how many minutes after `minute` the clock shows a time in the window, if the clock is not changed meanwhile. */
function minutesToOpening({ opens, closes, clock }: Window, minute: number): number {
  const sinceOpening = (clock.at(minute) / MINUTE - opens + DAY_MINUTES) % DAY_MINUTES;
  const isOpen = sinceOpening < (closes - opens + DAY_MINUTES) % DAY_MINUTES;
  return isOpen ? 0 : DAY_MINUTES - sinceOpening;
}

/** Answers when the clock is changed, after `from` and up to `to`. `undefined` if the clock is not changed. */
function changeBetween(clock: WallClock, from: number, to: number): number | undefined {
  const ahead = (minute: number): number => clock.at(minute) - minute;
  const before = ahead(from);
  if (ahead(to) === before) return undefined;
  let [low, high] = [from, to];
  while (high - low > MINUTE) {
    const middle = low + Math.floor((high - low) / MINUTE / 2) * MINUTE;
    if (ahead(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}
