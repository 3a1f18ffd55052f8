import { type WallClock, wallClock } from "./wall-clock.ts";

const MINUTE = 60_000;
const DAY_MINUTES = 1440;
const PATTERN = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d) (\S+)$/;
/** Of the minutes that were asked for lately; jobs that are handed over together ask for the same few. */
const MOST_KNOWN = 1440;

/** A part of each day, by the clocks of a time zone: from minute `opens` of the day to before minute `closes`. */
type Window = { readonly opens: number; readonly closes: number; readonly clock: WallClock };

/** @throws RangeError that says what a window is. */
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

/** Why a text is no window; `undefined`: it is one. */
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
 * `time` itself where `window` is open then, or there is none; else when it opens next: ms since the epoch. It is open
 * whenever the clocks show a time in it, so that one put forward into it opens it late, and one put back opens it again.
 *
 * @throws RangeError for what is no window.
 */
export function nextOpening(window: string | undefined, time: number): number {
  if (window === undefined) return time;
  const { window: parsed, openings } = known.get(window) ?? learn(window);
  const minute = time - (time % MINUTE);
  let opening = openings.get(minute);
  if (opening === undefined) {
    opening = openingFrom(parsed, minute);
    if (openings.size >= MOST_KNOWN) openings.clear();
    openings.set(minute, opening);
  }
  return Math.max(opening, time);
}

function learn(text: string): Known {
  const learned = { window: parseWindow(text), openings: new Map<number, number>() };
  known.set(text, learned);
  return learned;
}

/** The first minute from `minute` on in which the window is open. */
function openingFrom(window: Window, minute: number): number {
  for (let from = minute; ; ) {
    const wait = minutesToOpening(window, from);
    const opening = from + wait * MINUTE;
    const change = changeBetween(window.clock, from, opening);
    if (change === undefined) return opening;
    from = change;
  }
}

/** How long the clock runs from `minute` until it shows a time in the window, if nobody changes it. */
function minutesToOpening({ opens, closes, clock }: Window, minute: number): number {
  const sinceOpening = (clock.at(minute) / MINUTE - opens + DAY_MINUTES) % DAY_MINUTES;
  const isOpen = sinceOpening < (closes - opens + DAY_MINUTES) % DAY_MINUTES;
  return isOpen ? 0 : DAY_MINUTES - sinceOpening;
}

/** The first minute after `from`, up to `to`, at which the clock has been changed; `undefined`: it is not. */
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
