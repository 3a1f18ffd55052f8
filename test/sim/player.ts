import { parentPort } from "node:worker_threads";
import { simulate } from "./simulate.ts";

// A thread of `threads.ts`. It gets seeds, plays each, and answers the history.

// Simulated services throw many errors, and no one reads their stacks.
Error.stackTraceLimit = 0;
parentPort?.on("message", async ({ seed, weeks }: { seed: number; weeks: boolean }) =>
  parentPort?.postMessage(await simulate(seed, { weeks })),
);
