/** The times of a topic whose jobs another function runs. The deployment and the calling function compute with the same ones. All are ms. */

/** Lambda initialises a function for up to 10 s before its timeout begins ("Lambda execution environment lifecycle"). The rest is the network's. */
const BEFORE_THE_TIMEOUT = 15_000;
/** How long a run waits, each time at most, for a target that is throttled. The run keeps its slot: only as many jobs wait as could run at once. */
export const THROTTLED_WAITS: readonly number[] = [1000, 2000, 4000, 8000];

/** How long one invocation of a target with this timeout may take. */
export function longestCall(timeout: number): number {
  return timeout + BEFORE_THE_TIMEOUT;
}

/** How long one run of a job may take. */
export function longestTargetRun(timeout: number): number {
  return longestCall(timeout) + THROTTLED_WAITS.reduce((sum, wait) => sum + wait, 0);
}
