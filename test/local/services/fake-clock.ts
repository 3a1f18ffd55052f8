import type { Clock } from "../../../local/services/clock.ts";

/** A clock that stands still. `advanceTo` sets the time and makes the calls that are due, in their order. */
export function fakeClock(start: number): Clock & { readonly advanceTo: (time: number) => Promise<void> } {
  let now = start;
  const calls = new Set<{ time: number; call: () => void }>();
  return {
    now: () => now,
    callAt: (time, call) => {
      const entry = { time, call };
      calls.add(entry);
      return () => calls.delete(entry);
    },
    advanceTo: async (time) => {
      for (;;) {
        // Work that an earlier call started may schedule another call.
        await new Promise((resolve) => setImmediate(resolve));
        const [next] = [...calls].filter((entry) => entry.time <= time).sort((a, b) => a.time - b.time);
        if (!next) break;
        calls.delete(next);
        now = Math.max(now, next.time);
        next.call();
      }
      now = time;
    },
  };
}
