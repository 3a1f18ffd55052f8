import type { Run } from "./deliver.ts";
import { turnEventLoop } from "./real-time.ts";

/** At one instant each waiting message may run, and this many further runs: only handlers that enqueue or retry at once cause more. */
const MOST_MORE = 1000;
/** The most further runs of one instant if each run files several jobs. */
const MOST_FILED = 10_000;
const STEPS_A_TURN = 100;

/**
 * Await the result after each step. It throws if runs go on at one instant without end, and lets the event loop turn now and then, for
 * example for the test's own timeout. `clock`: ms since the epoch. `waiting`: how many messages wait.
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
    // A step without a run, such as a tick, may have sent jobs that a pause had held. So begin to count again.
    const isNew = clock() !== instant || runs.length === seen;
    if (isNew) [instant, first] = [clock(), now];
    // Runs that file one job each may go on for ever. A run that files several jobs distributes work, so allow more runs.
    if (isNew || now - before > 1) end = Math.min(now + MOST_MORE, first + MOST_FILED);
    [before, seen] = [now, runs.length];
    if (seen > end) {
      const which = `${end - first} more runs took place than were due at ${new Date(instant).toISOString()}`;
      const last = `the last was of topic ${runs.at(-1)?.topic}`;
      throw new Error(
        `${which}, and ${last}: no time passes while a handler calls enqueue or retryIn without a delay`,
      );
    }
    steps += 1;
    if (steps % STEPS_A_TURN === 0) await turnEventLoop();
  };
}
