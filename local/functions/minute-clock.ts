import { type Clock, systemClock } from "../services/clock.ts";

const MINUTE_MS = 60_000;

export type MinuteClock = {
  /** Calls `onMinute` if a minute has begun since the last call. For a clock that was moved. */
  readonly check: () => void;
  readonly stop: () => void;
};

/** Calls `onMinute` at the start of each minute of the clock, with that time in ms since the epoch. */
export function startMinuteClock(
  onMinute: (minute: number) => void,
  { now: read }: Pick<Clock, "now"> = systemClock,
): MinuteClock {
  let last = minuteOf(read());
  let timer: NodeJS.Timeout | undefined;
  check();

  function check(): void {
    clearTimeout(timer);
    const now = read();
    // No wait is longer than a minute, so the timer notices within a minute that the clock was set back.
    timer = setTimeout(check, minuteOf(now) + MINUTE_MS - now);
    // A timer may fire a moment early, in the old minute. After a sleep of the machine, call `onMinute` only for the latest minute.
    if (minuteOf(now) === last) return;
    last = minuteOf(now);
    onMinute(last);
  }

  return { check, stop: () => clearTimeout(timer) };
}

function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}
