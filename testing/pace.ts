import type { Run } from "./deliver.ts";

/** So many runs more than there were messages only handlers bring about that leave no time between them. */
const MOST_MORE = 1000;
/** So many more than there were at first, however many jobs each run files. */
const MOST_FILED = 10_000;
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
  const known = (): number => runs.length + waiting();
  let [instant, first, before, seen, steps] = [clock(), known(), known(), runs.length, 0];
  let end = first + MOST_MORE;
  return async () => {
    const now = known();
    // A step without a run is a tick, say, which may have sent what a pause had held.
    const isNew = clock() !== instant || runs.length === seen;
    if (isNew) [instant, first] = [clock(), now];
    // A run that files one job may do so for ever, one that files several hands out work.
    if (isNew || now - before > 1) end = Math.min(now + MOST_MORE, first + MOST_FILED);
    [before, seen] = [now, runs.length];
    if (seen > end) {
      const which = `${end - first} runs more than were due at ${new Date(instant).toISOString()}`;
      const last = `the last of topic ${runs.at(-1)?.topic}`;
      throw new Error(`${which}, ${last}: no time passes where handlers enqueue or retryIn without a delay`);
    }
    steps += 1;
    if (steps % STEPS_A_TURN === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  };
}
