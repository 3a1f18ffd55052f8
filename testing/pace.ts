import type { Run } from "./deliver.ts";

/** How many more runs than messages one instant may have. More come only from handlers that file jobs without a delay. */
const MOST_MORE = 1000;
/** How many more runs than there were messages at first one instant may have, if each run files several jobs. */
const MOST_FILED = 10_000;
const STEPS_A_TURN = 100;

// Keep the real function, because a test may replace the global one.
const { setImmediate } = globalThis;

/**
 * Creates a function to await after each step of a queue's time. It throws if runs go on at one instant without end. It also lets the
 * event loop turn now and then, for example for the test's own timeout. `clock`: ms since the epoch. `waiting`: how many messages there
 * are.
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
    // A step without a run, such as a tick, may have sent jobs that a pause had held, so begin to count again.
    const isNew = clock() !== instant || runs.length === seen;
    if (isNew) [instant, first] = [clock(), now];
    // A run that files one job may do so for ever. A run that files several distributes work, so allow more runs.
    if (isNew || now - before > 1) end = Math.min(now + MOST_MORE, first + MOST_FILED);
    [before, seen] = [now, runs.length];
    if (seen > end) {
      const which = `${end - first} runs more than were due at ${new Date(instant).toISOString()}`;
      const last = `the last of topic ${runs.at(-1)?.topic}`;
      throw new Error(`${which}, ${last}: no time passes while handlers enqueue or retryIn without a delay`);
    }
    steps += 1;
    if (steps % STEPS_A_TURN === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  };
}
