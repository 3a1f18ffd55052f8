/** Times are ms since the epoch. */
export type Clock = {
  readonly now: () => number;
  /** Calls `call` once at the given time, or soon if that time is past. The returned function cancels the call. */
  readonly callAt: (time: number, call: () => void) => () => void;
};

/** A timer does not count the machine's sleep, and waits at most 2^31-1 ms. So the clock is checked at least this often. */
const CHECK_EVERY_MS = 60_000;

export const systemClock: Clock = {
  now: Date.now,
  callAt: (time, call) => {
    let timer: NodeJS.Timeout;
    const check = () => {
      const left = time - Date.now();
      if (left <= 0) call();
      else timer = setTimeout(check, Math.min(left, CHECK_EVERY_MS));
    };
    timer = setTimeout(check, Math.min(Math.max(0, time - Date.now()), CHECK_EVERY_MS));
    return () => clearTimeout(timer);
  },
};
