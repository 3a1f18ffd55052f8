import { DAY } from "./constants.ts";

/**
 * A chain is a job that no handler has filed, and all jobs that the handlers of its jobs file. Jobs that a handler of the first job files have
 * generation 1. A home, a message and the header `Minutehand-Chain` have `<id of the first job>.<generation>`. The first job has no such text.
 */
export type Chain = { readonly first: string; readonly generation: number };

export const CHAIN_PATTERN = /^([0-7][0-9A-HJKMNP-TV-Z]{25})\.([1-9][0-9]{0,14})$/;

/** Answers `undefined` for any other text. */
export function parseChain(text: string | undefined): Chain | undefined {
  const [, first, generation] = CHAIN_PATTERN.exec(text ?? "") ?? [];
  return first === undefined ? undefined : { first, generation: Number(generation) };
}

/** Answers the text for the jobs that a handler of this job files. */
export function nextInChain({ id, chain }: { readonly id: string; readonly chain?: string }): string {
  const { first, generation } = parseChain(chain) ?? { first: id, generation: 0 };
  return `${first}.${generation + 1}`;
}

/** How many runs the handler of a job has asked for on one day. `day`: days since the epoch. */
export type AskedRuns = { readonly day: number; readonly runs: number };

export function withOneMoreRun(asked: AskedRuns | undefined, now: number): AskedRuns {
  const day = Math.floor(now / DAY);
  return { day, runs: asked?.day === day ? asked.runs + 1 : 1 };
}
