/** Where the services' time comes from. Times are ms since the epoch. */
export type Clock = {
  readonly now: () => number;
  /** Calls once when the time has come, at once if it is past. The answer takes that back. */
  readonly callAt: (time: number, call: () => void) => () => void;
};

/** Timers do not count a machine's sleep, and take at most 2^31-1 ms: so the clock is looked at this often. */
const LOOK_EVERY_MS = 60_000;

export const systemClock: Clock = {
  now: Date.now,
  callAt: (time, call) => {
    let timer: NodeJS.Timeout;
    const look = () => {
      const left = time - Date.now();
      if (left <= 0) call();
      else timer = setTimeout(look, Math.min(left, LOOK_EVERY_MS));
    };
    timer = setTimeout(look, Math.min(Math.max(0, time - Date.now()), LOOK_EVERY_MS));
    return () => clearTimeout(timer);
  },
};
