import { parentPort } from "node:worker_threads";
import type { Play } from "./threads.ts";

// A thread of `threads.ts`. It gets seeds, plays each, and answers the history.

// Simulated services throw many errors, and no one reads their stacks.
Error.stackTraceLimit = 0;
let takeReached: (() => Promise<string[]>) | undefined;
parentPort?.on("message", async ({ seed, weeks, reached }: Play) => {
  if (reached) takeReached ??= await (await import("./reached.ts")).watchReached();
  // Loaded after the watch has begun, because V8 counts only code that is compiled later.
  const { simulate } = await import("./simulate.ts");
  const history = await simulate(seed, { weeks });
  parentPort?.postMessage({ ...history, ...(takeReached && { reached: await takeReached() }) });
});
