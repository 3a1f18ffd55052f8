import { between, betweenByMagnitude, type Random } from "./random.ts";
import type { Role } from "./roles.ts";

export const FAMILIES = ["kills", "freezes", "network", "ticks"] as const;
export type Family = (typeof FAMILIES)[number];

/** Whose process is hurt. `stack`: the runner, and with it all that it has started. `function`: any of them. */
export type Victim = Exclude<Role, "guard"> | "function" | "puller" | "stack";
export type Service = "api" | "dynamodb" | "sqs";

export type PlannedFault = {
  /** ms from the beginning. */
  readonly at: number;
  /** Which of the processes there are by then: 0 up to 1. */
  readonly which: number;
  /** How long it lasts, or how long the stack stays down. */
  readonly ms: number;
} & (
  | { readonly fault: "kill" | "freeze"; readonly victim: Victim }
  | { readonly fault: "cut" | "lose answers" | "swallow" | "delay"; readonly service: Service }
);

/** What becomes of one minute's tick. */
export type TickPlan = {
  readonly times: 0 | 1 | 2;
  /** What is done to the tick's process so many ms after. */
  readonly then?: { readonly fault: "kill" | "freeze"; readonly afterMs: number; readonly ms: number };
};

const SECOND = 1000;
/** How often on average, in seconds. */
const KILLS: Readonly<Partial<Record<Victim, number>>> = {
  consumer: 4,
  puller: 6,
  api: 8,
  receive: 12,
  dynamodb: 25,
  sqs: 25,
  stack: 75,
};
const FREEZES: Readonly<Partial<Record<Victim, number>>> = {
  function: 10,
  puller: 20,
  dynamodb: 150,
  sqs: 150,
  stack: 150,
};
const NETWORK = { cut: 12, "lose answers": 15, swallow: 25, delay: 20 } as const;
const LONGEST_STORM_MS = 8 * SECOND;
const LONGEST_DOWN_MS = 5 * SECOND;

/** Of the longest freeze: a fifth of the time, a minute at most, so that short runs heal soon. */
export function longestFreeze(totalMs: number): number {
  return Math.min(60 * SECOND, totalMs / 5);
}

/**
 * What is done to the stack in `totalMs`: each kind once at least, and spread over the time. The last lie before its
 * end, but may last longer.
 */
export function planFaults(random: Random, totalMs: number, families: ReadonlySet<Family>): PlannedFault[] {
  const faults: PlannedFault[] = [];
  const spread = (everySeconds: number, make: (when: { at: number; which: number }) => PlannedFault) => {
    const count = Math.max(1, Math.round(totalMs / (everySeconds * SECOND)));
    for (let i = 0; i < count; i++)
      faults.push(make({ at: ((i + random()) / count) * totalMs, which: random() }));
  };
  if (families.has("kills"))
    for (const [victim, every] of Object.entries(KILLS) as [Victim, number][])
      spread(every, (when) => ({ ...when, fault: "kill", victim, ms: between(random, 0, LONGEST_DOWN_MS) }));
  if (families.has("freezes"))
    for (const [victim, every] of Object.entries(FREEZES) as [Victim, number][]) {
      const ms = () => betweenByMagnitude(random, SECOND, longestFreeze(totalMs));
      spread(every, (when) => ({ ...when, fault: "freeze", victim, ms: ms() }));
    }
  if (families.has("network"))
    for (const [fault, every] of Object.entries(NETWORK) as [keyof typeof NETWORK, number][])
      for (const service of ["api", "dynamodb", "sqs"] as const)
        spread(every, (when) => ({
          ...when,
          fault,
          service,
          ms: betweenByMagnitude(random, SECOND, LONGEST_STORM_MS),
        }));
  return faults.sort((a, b) => a.at - b.at);
}

/**
 * Endlessly, what becomes of each tick: of three in a row one is doubled and its process killed, one left out, and one
 * may be frozen.
 */
export function* planTicks(
  random: Random,
  totalMs: number,
  families: ReadonlySet<Family>,
): Generator<TickPlan> {
  for (;;) {
    for (const times of families.has("ticks") ? shuffled(random, [0, 1, 2] as const) : ([1] as const)) {
      const fault = times === 2 ? "kill" : "freeze";
      const hurt = times === 2 || (times === 1 && random() < 0.5);
      const then = {
        fault,
        afterMs: between(random, 0, 500),
        ms: betweenByMagnitude(random, SECOND, longestFreeze(totalMs)),
      } as const;
      yield hurt && families.has(fault === "kill" ? "kills" : "freezes") ? { times, then } : { times };
    }
  }
}

function shuffled<T>(random: Random, values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ value }) => value);
}
