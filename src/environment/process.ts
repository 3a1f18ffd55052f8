import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import { nextInChain } from "../core/chain.ts";
import { LONGEST_TIMER } from "../core/constants.ts";
import type { RandomBytes } from "../core/job-id.ts";
import type { MessageJob } from "../core/message.ts";
import type { Timers } from "../protocol/ports.ts";

/** The clock, the randomness and the timers of this process. All other code gets them as arguments. */

/** ms since the epoch. */
export const clock = (): number => Date.now();

const MACHINE_CLOCK = Symbol.for("minutehand.machine-clock");

/**
 * The machine's time, by which a receiver of webhooks judges the age of a call. It differs from `clock` only in a local stack whose clock was moved:
 * `local/processes/shifted-date.ts` keeps it under the symbol.
 */
export const machineClock = (): number => {
  const kept = Reflect.get(globalThis, MACHINE_CLOCK) as (() => number) | undefined;
  return (kept ?? Date.now)();
};

export const random: RandomBytes = (count) => randomBytes(count);

/** Node would fire a timer longer than `LONGEST_TIMER` at once. */
export const TIMERS: Timers = {
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_TIMER))),
  after(ms, act) {
    const timer = setTimeout(act, Math.min(ms, LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
};

type Running = Pick<MessageJob, "id" | "chain">;
/** The job whose handler runs. */
const running = new AsyncLocalStorage<Running>();

/** Runs a job's handler, so that the jobs that it files belong to the job's chain. */
export function runInChain<T>(job: Running, handler: () => T): T {
  return running.run(job, handler);
}

/** Answers the chain of jobs that are filed here. `undefined`: no handler runs. */
export function chainHere(): string | undefined {
  const job = running.getStore();
  return job && nextInChain(job);
}
