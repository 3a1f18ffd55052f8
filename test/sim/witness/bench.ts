/** A promise that was broken, and how. `P1` to `P6` are the README's promises. The others are rules on which those rest. */
export type Violation = { promise: string; id: string; text: string; time: number };

/** What each judge of the witness needs. `skew`: ms that a clock may be off. `violate`: told of each broken promise. */
export type Court = {
  clock: () => number;
  skew: number;
  violate: (promise: string, id: string, text: string) => void;
};

export type Bench = Omit<Court, "violate"> & { broken: (id: string, text: string) => void };

export type Told = {
  id: string;
  topic: string;
  state: string;
  dueAt: string;
  revision: number;
  body?: unknown;
  outcome?: string;
};

/** What a user asked for: the body, if the request had one, and a due time from `from` to `to`, by any clock that may be off. */
export type Asked = {
  body?: unknown;
  from?: number;
  to?: number;
  /** The time of the clock that the request named, if it had surely passed, and the random part of a `spread`: ms. */
  past?: { time: number; spread: number };
  /** `maxDelay`: ms after the first request by which the job may be postponed at most. The request came from `from` to `to`. */
  postponing?: { maxDelay: number; from: number; to: number };
};

export type Run = { id: string; topic: string; attempt: number; dueAt: number; body: string };
