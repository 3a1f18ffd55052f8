import type { Policy } from "../../../src/settings/policy.ts";

const MINUTE = 60_000;
const MINUTES_A_WEEK = 7 * 24 * 60;

/** The local time of day in a time zone, such as `09:30`. `time`: ms since the epoch. */
export function wallClockOf(zone: string): (time: number) => string {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (time) => format.format(time);
}

export function windowsOf(topics: Policy["topics"]) {
  const doors = new Map<string, (time: number) => boolean>();
  for (const [topic, { window }] of Object.entries(topics))
    if (window !== undefined) doors.set(topic, doorOf(window));
  const isOpen = (topic: string, time: number): boolean => doors.get(topic)?.(time) ?? true;
  const opensAt = (topic: string, time: number): number => {
    if (time === Number.POSITIVE_INFINITY || isOpen(topic, time)) return time;
    const minute = time - (time % MINUTE);
    for (let i = 1; i < MINUTES_A_WEEK; i++)
      if (isOpen(topic, minute + i * MINUTE)) return minute + i * MINUTE;
    throw new Error(`the window of ${topic} does not open within a week of ${time}`);
  };
  return {
    wasOpen: (topic: string, from: number, to: number): boolean => opensAt(topic, from) <= to,
    opensAt,
    /** When, from `time` on, the window has been open for `ms`. */
    openFor(topic: string, time: number, ms: number): number {
      let at = opensAt(topic, time);
      for (let left = ms; left > 0; ) {
        const step = Math.min(left, MINUTE - (at % MINUTE));
        left -= step;
        at = opensAt(topic, at + step);
      }
      return at;
    },
  };
}

function doorOf(window: string): (time: number) => boolean {
  const [span = "", zone = ""] = window.split(" ");
  const [opens = "", shuts = ""] = span.split("-");
  const clock = wallClockOf(zone);
  const seen = new Map<number, boolean>();
  return (time) => {
    const minute = time - (time % MINUTE);
    const known = seen.get(minute);
    if (known !== undefined) return known;
    const now = clock(minute);
    const isOpen = opens < shuts ? opens <= now && now < shuts : opens <= now || now < shuts;
    seen.set(minute, isOpen);
    return isOpen;
  };
}
