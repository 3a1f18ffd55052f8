import { parentPort } from "node:worker_threads";
import { simulate } from "./simulate.ts";

// A thread of `threads.ts`: it plays each seed that it is told, and answers the history.

// Simulated services refuse calls all the time, and nobody reads where.
Error.stackTraceLimit = 0;
parentPort?.on("message", async ({ seed, weeks }: { seed: number; weeks: boolean }) =>
  parentPort?.postMessage(await simulate(seed, { weeks })),
);
