import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { History } from "./history.ts";

export type Play = { seed: number; weeks: boolean; reached: boolean };

/** Plays `seeds` histories, in one thread for each processor. `each` is called for each history when it ends, in any order. */
export async function playInThreads(
  { from, seeds, ...how }: Omit<Play, "seed"> & { from: number; seeds: number },
  each: (history: History) => void,
): Promise<void> {
  const before = from + seeds;
  let next = from;
  const play = (worker: Worker): Promise<void> =>
    new Promise((resolve, reject) => {
      const go = (): void => {
        if (next < before) worker.postMessage({ seed: next++, ...how });
        else resolve();
      };
      worker.on("error", reject);
      worker.on("message", (history: History) => {
        each(history);
        go();
      });
      go();
    });
  const threads = Math.min(availableParallelism(), seeds);
  const workers = Array.from(
    { length: threads },
    () =>
      new Worker(new URL("player.ts", import.meta.url), {
        resourceLimits: { maxYoungGenerationSizeMb: 128 },
      }),
  );
  try {
    await Promise.all(workers.map(play));
  } finally {
    for (const worker of workers) await worker.terminate();
  }
}
