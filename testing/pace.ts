import type { Run } from "./deliver.ts";

/** So many runs more than there were messages only handlers bring about that leave no time between them. */
const MOST_MORE = 1000;
const STEPS_A_TURN = 100;

// A test may replace the global one.
const { setImmediate } = globalThis;

/**
 * To be awaited after each step of a queue's time: throws where runs go on at one instant, and lets others have a turn
 * now and then, such as the test's own timeout. `clock`: ms since the epoch; `waiting`: how many messages there are.
 */
export function paceOf(
  clock: () => number,
  runs: readonly Run[],
  waiting: () => number,
): () => Promise<void> {
  const most = (): number => runs.length + waiting() + MOST_MORE;
  let [instant, end, seen, steps] = [clock(), most(), runs.length, 0];
  return async () => {
    // A step without a run is a tick, say, which may have sent what a pause had held.
    if (clock() !== instant || runs.length === seen) [instant, end] = [clock(), most()];
    seen = runs.length;
    if (seen > end) {
      const which = `${MOST_MORE} runs more than were due at ${new Date(instant).toISOString()}`;
      const last = `the last of topic ${runs.at(-1)?.topic}`;
      throw new Error(`${which}, ${last}: no time passes where handlers enqueue or retryIn without a delay`);
    }
    steps += 1;
    if (steps % STEPS_A_TURN === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  };
}
