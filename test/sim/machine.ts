import type { RandomBytes } from "../../src/core/job-id.ts";
import type { Timers } from "../../src/protocol/ports.ts";
import { type Draws, drawsOf } from "./draws.ts";
import type { Timeline } from "./timeline.ts";

/** A process. It has a clock of its own, can freeze, and can die without any clean-up. */
export type Machine = {
  readonly name: string;
  /** ms since the epoch, by this machine's clock, which may be wrong. */
  readonly clock: () => number;
  readonly random: RandomBytes;
  readonly timers: Timers;
  /** How many invocations, one after another, led to its present work, its own included: Lambda's lineage. */
  chain: number;
  nextCall(): number;
  alive(): boolean;
  /** Runs `act` inside the machine: at once, when it is no longer frozen, or never if it is dead. */
  deliver(act: () => void): void;
  freeze(ms: number): void;
  kill(): void;
  onDeath(act: () => void): void;
};

const HASTY = 1 / 16;

export function startMachine(name: string, seed: number, skew: number, timeline: Timeline): Machine {
  const draws = drawsOf(seed, name);
  const mourners: (() => void)[] = [];
  let alive = true;
  let frozenUntil = 0;
  let calls = 0;

  const machine: Machine = {
    name,
    clock: () => timeline.now() + skew,
    random: (count) => Uint8Array.from({ length: count }, () => Math.floor(draws.next() * 256)),
    timers: timersOf(timeline, drawsOf(seed, `${name}'s timers`), (act) => machine.deliver(act)),
    chain: 0,
    nextCall: () => calls++,
    alive: () => alive,
    deliver(act) {
      if (!alive) return;
      if (timeline.now() < frozenUntil) timeline.at(frozenUntil, () => machine.deliver(act));
      else act();
    },
    freeze(ms) {
      frozenUntil = Math.max(frozenUntil, timeline.now() + Math.round(ms));
    },
    kill() {
      if (!alive) return;
      alive = false;
      for (const mourn of mourners) mourn();
    },
    onDeath: (act) => mourners.push(act),
  };
  return machine;
}

function timersOf(timeline: Timeline, haste: Draws, deliver: Machine["deliver"]): Timers {
  // As with `setTimeout`, a timer may fire a millisecond before the clock says so.
  const firesAt = (ms: number): number => timeline.now() + (haste.chance(HASTY) ? ms - 1 : ms);
  return {
    wait: (ms) => new Promise((resolve) => timeline.at(firesAt(ms), () => deliver(resolve))),
    after(ms, act) {
      let cancelled = false;
      timeline.at(firesAt(ms), () => deliver(() => cancelled || act()));
      return () => {
        cancelled = true;
      };
    },
  };
}
