const MINUTE_MS = 60_000;

/** Calls `onMinute` at the start of each minute of the wall clock, with that time in ms since the epoch. */
export function startMinuteClock(onMinute: (minute: number) => void): { stop: () => void } {
  let last = minuteOf(Date.now());
  let timer: NodeJS.Timeout;
  check();

  function check(): void {
    const now = Date.now();
    // No wait is longer than a minute, so the timer notices within a minute that the clock was set back.
    timer = setTimeout(check, minuteOf(now) + MINUTE_MS - now);
    // A timer may fire a moment early, in the old minute. After a sleep of the machine, call `onMinute` only for the latest minute.
    if (minuteOf(now) === last) return;
    last = minuteOf(now);
    onMinute(last);
  }

  return { stop: () => clearTimeout(timer) };
}

function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}
