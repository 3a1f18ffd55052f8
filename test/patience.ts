/**
 * How long a test or a hook may take, in ms, before it counts as hung. Only a hang ends here: no result may depend on this limit, so it
 * is far more than a test needs on a slow machine.
 */
export const HANG_MS = 20 * 60_000;

/** How long a test waits for one condition, in ms, before it gives up. Shorter than `HANG_MS`, so that the condition is reported. */
export const PATIENCE_MS = 10 * 60_000;
