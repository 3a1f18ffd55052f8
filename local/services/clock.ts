/** Times are ms since the epoch. */
export type Clock = {
  readonly now: () => number;
  /** Calls `call` once at the given time, or soon if that time is past. The returned function cancels the call. */
  readonly callAt: (time: number, call: () => void) => () => void;
};

/** A clock that can be ahead of the machine's. It is never set back. */
export type MovingClock = Clock & {
  /** How many ms it is ahead of the machine's clock. */
  readonly ahead: () => number;
  /** Makes no call yet, so that the processes of the stack can follow first. */
  readonly setAhead: (ahead: number) => void;
  /** Makes the calls that are due, in the order of their times. */
  readonly makeDueCalls: () => void;
  /** When the next call is due. `Infinity`: no call is planned. */
  readonly nextCall: () => number;
};

/** A timer does not count the machine's sleep, and waits at most 2^31-1 ms. So the clock is checked at least this often. */
const CHECK_EVERY_MS = 60_000;

type Planned = { readonly time: number; readonly check: () => void };

export function createClock(aheadAtFirst = 0): MovingClock {
  let ahead = aheadAtFirst;
  const calls = new Set<Planned>();
  const now = () => Date.now() + ahead;
  const inOrder = () => [...calls].sort((a, b) => a.time - b.time);
  return {
    now,
    callAt: (time, call) => {
      let timer: NodeJS.Timeout;
      const check = () => {
        clearTimeout(timer);
        const left = time - now();
        if (left > 0) timer = setTimeout(check, Math.min(left, CHECK_EVERY_MS));
        else if (calls.delete(planned)) call();
      };
      const planned = { time, check };
      calls.add(planned);
      timer = setTimeout(check, Math.min(Math.max(0, time - now()), CHECK_EVERY_MS));
      return () => {
        clearTimeout(timer);
        calls.delete(planned);
      };
    },
    ahead: () => ahead,
    setAhead: (more) => {
      ahead = Math.max(ahead, more);
    },
    makeDueCalls: () => {
      for (const { time, check } of inOrder()) if (time <= now()) check();
    },
    nextCall: () => inOrder()[0]?.time ?? Infinity,
  };
}

/** The machine's clock. */
export const systemClock: Clock = createClock();
