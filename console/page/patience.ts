import { durationText } from "./times.ts";

/** After this time a counting waits for the user, ms: a million jobs cost time, and on AWS money. */
const COUNTING_MS = 30_000;

/** `goOn`: goes on with the counting. `undefined`: it does not wait. */
export type Waiting = {
  readonly goOn: (() => void) | undefined;
  readonly isReading: boolean;
  readonly status?: string;
};

/**
 * Answers a function that lets a counting wait for the user if it takes long, and twice as long after each wait. `share`: how much is counted.
 * `clock`: ms, from any beginning.
 */
export function createPatience(
  share: () => string,
  tell: (waiting: Waiting) => void,
  clock: () => number,
): () => Promise<void> {
  let patience = COUNTING_MS;
  let end = clock() + patience;
  let waiting = Promise.resolve();
  return async () => {
    if (clock() >= end) {
      end = Infinity;
      const rest = "The other bars are too low or missing.";
      const status = `${share()} of this time is counted, after ${durationText(patience)}. ${rest}`;
      waiting = new Promise((resolve) => {
        const goOn = () => {
          patience *= 2;
          end = clock() + patience;
          tell({ goOn: undefined, isReading: true });
          resolve();
        };
        tell({ goOn, status, isReading: false });
      });
    }
    await waiting;
  };
}
