import { between, betweenByMagnitude, type Random } from "./random.ts";
import type { Role } from "./roles.ts";

export const FAMILIES = ["kills", "freezes", "network", "ticks"] as const;
export type Family = (typeof FAMILIES)[number];

/** Which process a fault hits. `stack`: the runner; if it is killed, all processes that it started end. `function`: any function. */
export type Victim = Exclude<Role, "guard"> | "function" | "puller" | "stack";
export type Service = "api" | "dynamodb" | "sqs";

export type PlannedFault = {
  /** When it happens: ms from the beginning. */
  readonly at: number;
  /** Selects one of the processes that the victim has at that time, from 0 (the first one) to just below 1 (the last one). */
  readonly which: number;
  /** For how many ms it lasts, or the killed stack stays down. */
  readonly ms: number;
} & (
  | { readonly fault: "kill" | "freeze"; readonly victim: Victim }
  | { readonly fault: "cut" | "lose answers" | "swallow" | "delay"; readonly service: Service }
);

export type TickPlan = {
  readonly times: 0 | 1 | 2;
  /** A fault of the tick's process, `afterMs` after its start. */
  readonly then?: { readonly fault: "kill" | "freeze"; readonly afterMs: number; readonly ms: number };
};

const SECOND = 1000;
/** The average time between two faults of a kind, in seconds. */
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

/** How long a freeze may last, in ms: a fifth of the run, and a minute at most, so that a short run heals soon. */
export function longestFreeze(totalMs: number): number {
  return Math.min(60 * SECOND, totalMs / 5);
}

/** Plans faults in the order of their times. Each kind happens at least once. Faults begin before the end of the run, but the last may end later. */
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

/** Yields ticks without an end. Of three in a row, one comes twice and is killed, one is left out, and one comes once and may be frozen. */
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
